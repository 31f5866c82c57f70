/** The switches of this workspace and its starts that brought kernels back, each with its report; and what is kept. */

import * as React from 'react';

import type { Operation } from '../../api/records.js';
import { cameFrom, isSwitch, machineOf, restoredBy, tookSeconds } from '../../models/operations.js';
import type { Store } from '../../models/store.js';
import { ConfirmDialog } from '../confirm/ConfirmDialog.js';
import { useFormat, useGearshift, usePart } from '../context.js';
import { DialogBody, useFirstFocus, type DialogProps } from '../dialog.js';
import { Button, StateWord } from '../parts.js';
import { useMachineTitle } from '../panel/Machine.js';
import { useNames } from './names.js';
import { Kept, type Asked } from './Kept.js';
import { Notices } from './Notices.js';
import { Report } from './Report.js';
import { StartReport } from './StartReport.js';

/** `operation` is the one whose report shows first. */
export function History({ close, operation }: DialogProps & { operation?: string }): React.ReactElement {
  const { store, words } = useGearshift();
  const first = useFirstFocus<HTMLButtonElement>();
  const [chosen, choose] = React.useState<Operation | null>(
    () => store.state.operations.value?.find(op => op.id === operation) ?? null
  );
  const [asked, ask] = React.useState<Asked | null>(null);
  const operations = usePart('operations').value ?? [];
  const ended = operations.filter(isTold);
  if (asked) {
    return <ConfirmDialog {...asked} close={() => ask(null)} done={answer => told(store, answer)} />;
  }
  if (chosen) {
    return <One op={chosen} operations={operations} close={() => choose(null)} />;
  }
  return (
    <DialogBody
      title={words.t('History')}
      close={close}
      buttons={
        <Button ref={first} look="primary" size="large" onClick={close}>
          {words.t('Done')}
        </Button>
      }
    >
      {ended.length > 0 && (
        <div className="gs-card cut">
          <table className="gs-table dense" aria-label={words.t('History')}>
            <tbody>
              {ended.map(op => (
                <Line key={op.id} op={op} operations={operations} open={() => choose(op)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Kept ask={ask} />
      <Notices />
    </DialogBody>
  );
}

/** It has ended, and has a report. */
function isTold(op: Operation): boolean {
  return op.state !== 'running' && (isSwitch(op) || restoredBy(op) !== null);
}

/** A restore is an operation; what was deleted is not. */
function told(store: Store, answer: unknown): void {
  if (Array.isArray((answer as Partial<Operation>).steps)) {
    store.operation(answer as Operation);
  }
}

function Line(props: { op: Operation; operations: Operation[]; open: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const { op } = props;
  const restored = restoredBy(op);
  return (
    <tr>
      <td className="sub">{format.moment(op.created_at)}</td>
      <th scope="row">
        {restored ? title(machineOf(op)) : `${title(cameFrom(op, props.operations))} → ${title(machineOf(op))}`}
      </th>
      <td>{restored ? <Brought ok={restored.ok === true} /> : <Switched done={op.state === 'done'} />}</td>
      <td className="gs-r">{format.duration(tookSeconds(op, Date.now()), true)}</td>
      <td className="gs-r">
        <Button size="small" onClick={props.open}>
          {words.t('Report')}
        </Button>
      </td>
    </tr>
  );
}

function Switched({ done }: { done: boolean }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <StateWord tone={done ? 'good' : 'bad'} icon={done ? 'ok' : 'fail'}>
      {done ? words.t('Switched') : words.t('Not switched')}
    </StateWord>
  );
}

function Brought({ ok }: { ok: boolean }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <StateWord tone={ok ? 'good' : 'warn'} icon={ok ? 'ok' : 'warn'}>
      {ok ? words.t('Started as it was') : words.t('Started, not all came back')}
    </StateWord>
  );
}

function One({ op, operations, close }: { op: Operation; operations: Operation[]; close: () => void }): React.ReactElement {
  const names = useNames(op, null);
  const started = restoredBy(op) !== null;
  const from = cameFrom(op, operations);
  return started ? (
    <StartReport op={op} close={close} />
  ) : (
    <Report op={op} names={{ to: names.to, from: names.from }} back={from} close={close} again={close} choose={close} />
  );
}
