/** The switches of this workspace, newest first, each with its report. */

import * as React from 'react';

import type { Operation } from '../../api/records.js';
import { cameFrom, isSwitch, machineOf, tookSeconds } from '../../models/operations.js';
import { useFormat, useGearshift, usePart } from '../context.js';
import { DialogBody, useFirstFocus, type DialogProps } from '../dialog.js';
import { Button, StateWord } from '../parts.js';
import { useMachineTitle } from '../panel/Machine.js';
import { useNames } from './names.js';
import { Report } from './Report.js';

export function History({ close }: DialogProps): React.ReactElement {
  const { words } = useGearshift();
  const first = useFirstFocus<HTMLButtonElement>();
  const [chosen, choose] = React.useState<Operation | null>(null);
  const operations = usePart('operations').value ?? [];
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
      <div className="gs-card cut">
        <table className="gs-table dense" aria-label={words.t('History')}>
          <tbody>
            {operations
              .filter(op => isSwitch(op) && op.state !== 'running')
              .map(op => (
                <Line key={op.id} op={op} operations={operations} open={() => choose(op)} />
              ))}
          </tbody>
        </table>
      </div>
    </DialogBody>
  );
}

function Line(props: { op: Operation; operations: Operation[]; open: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const { op } = props;
  const done = op.state === 'done';
  return (
    <tr>
      <td className="sub">{format.moment(op.created_at)}</td>
      <th scope="row">
        {title(cameFrom(op, props.operations))} → {title(machineOf(op))}
      </th>
      <td>
        <StateWord tone={done ? 'good' : 'bad'} icon={done ? 'ok' : 'fail'}>
          {done ? words.t('Switched') : words.t('Not switched')}
        </StateWord>
      </td>
      <td className="gs-r">{format.duration(tookSeconds(op, Date.now()), true)}</td>
      <td className="gs-r">
        <Button size="small" onClick={props.open}>
          {words.t('Report')}
        </Button>
      </td>
    </tr>
  );
}

function One({ op, operations, close }: { op: Operation; operations: Operation[]; close: () => void }): React.ReactElement {
  const names = useNames(op, null);
  const from = cameFrom(op, operations);
  return (
    <Report op={op} names={{ to: names.to, from: names.from }} back={from} close={close} again={close} choose={close} />
  );
}
