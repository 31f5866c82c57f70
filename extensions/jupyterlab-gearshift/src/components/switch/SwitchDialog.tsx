/** The switch dialog: choose, plan, progress, report; which part shows is decided by its flow. */

import * as React from 'react';

import type { ApiError } from '../../api/errors.js';
import { goBack } from '../../models/goback.js';
import { cameFrom, expectedSeconds } from '../../models/operations.js';
import { SwitchFlow } from '../../models/switchflow.js';
import { useGearshift, useSignal, useStore } from '../context.js';
import { CancelButton, DialogBody, type DialogProps } from '../dialog.js';
import { Refused, Waiting } from '../parts.js';
import { Choose } from './Choose.js';
import { useNames } from './names.js';
import { PlanStage } from './PlanStage.js';
import { Progress } from './Progress.js';
import { Report } from './Report.js';
import { SoldOut } from './SoldOut.js';

export interface SwitchArgs {
  /** Go to the plan of this machine at once. */
  machine?: string;
  /** Show this operation. */
  operation?: string;
}

export function SwitchDialog({ close, args }: DialogProps & { args: SwitchArgs }): React.ReactElement {
  const { client, store, words } = useGearshift();
  const [flow] = React.useState(
    () =>
      new SwitchFlow(
        {
          client,
          words,
          began: operation => store.operation(operation)
        },
        args
      )
  );
  const stage = useSignal(flow.changed, () => flow.stage);
  const machine = useSignal(flow.changed, () => flow.machine);
  switch (stage.at) {
    case 'choose':
      return <Choose selected={machine} select={flow.select} close={close} next={() => flow.plan(machine)} wait={flow.plan} />;
    case 'planning':
      return <Planning stage={stage} close={close} retry={() => flow.plan(machine)} />;
    case 'soldout':
      return <SoldOut machine={machine ?? ''} error={stage.error} close={close} plan={flow.plan} />;
    case 'operation':
      return <OperationStage id={stage.id} flow={flow} close={close} />;
    default:
      return <PlanStage stage={stage} flow={flow} close={close} />;
  }
}

function Planning(props: { stage: { since: number; error: ApiError | null }; close: () => void; retry: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const { stage, retry } = props;
  return (
    <DialogBody title={words.t('Switch machine: plan')} close={props.close} buttons={<CancelButton onClick={props.close} />}>
      {stage.error ? (
        <Refused error={stage.error} retry={retry} />
      ) : (
        <Waiting since={stage.since} what={words.t('Reading the variables of your kernels…')} retry={retry} />
      )}
    </DialogBody>
  );
}

function OperationStage({ id, flow, close }: { id: string; flow: SwitchFlow; close: () => void }): React.ReactElement | null {
  const { client, store } = useGearshift();
  const operations = useStore(state => state.operations.value);
  const op = operations?.find(one => one.id === id) ?? null;
  const names = useNames(op, flow.planned);
  const [goingBack, setGoingBack] = React.useState(false);
  React.useEffect(() => {
    if (!op) {
      void client.operation(id).then(found => store.operation(found), () => undefined);
    }
  }, [client, store, op, id]);
  if (!op) {
    return null;
  }
  if (op.state === 'running') {
    const turn = (): void => {
      setGoingBack(true);
      void goBack(client, store, op.id).finally(() => setGoingBack(false));
    };
    const expected = expectedSeconds(op) ?? flow.planned?.seconds ?? null;
    return <Progress op={op} names={names} expected={expected} close={close} goBack={turn} goingBack={goingBack} />;
  }
  const back = flow.planned?.from ?? cameFrom(op, operations ?? []);
  return <Report op={op} names={names} back={back} close={close} again={() => flow.plan(flow.machine)} choose={flow.choose} />;
}
