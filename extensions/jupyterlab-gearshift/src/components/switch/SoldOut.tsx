/** Switch that could not begin: which machine is sold out, with figures, and what is free now. */

import * as React from 'react';

import { asApiError, type ApiError } from '../../api/errors.js';
import type { CatalogMachine } from '../../api/answers.js';
import { place } from '../../models/format.js';
import { Commands } from '../../tokens.js';
import { useClosedOffline, useFormat, useGearshift, usePart, useRun, useStore } from '../context.js';
import { Button, Note, Refused } from '../parts.js';
import { DialogBody, useFirstFocus } from '../dialog.js';
import { useMachineTitle } from '../panel/Machine.js';
import { isOpen } from './Choose.js';
import { WaitFor, useWait, type WaitChoice } from './WaitFor.js';

const SHOWN = 3;

export function SoldOut(props: {
  machine: string;
  error: ApiError;
  close: () => void;
  plan: (machine: string) => void;
}): React.ReactElement {
  const { store, words } = useGearshift();
  const first = useFirstFocus<HTMLButtonElement>();
  const title = useMachineTitle();
  React.useEffect(() => void store.load('catalog'), [store]);
  const here = useStore(state => state.machine.value?.spec.machine);
  const used = useStore(state => state.metrics.value?.memory_bytes ?? null);
  const others = (usePart('catalog').value?.machines ?? [])
    .filter(one => one.id !== props.machine && isOpen(one, used === null ? null : { ok: used <= one.memory_bytes }))
    .slice(0, SHOWN);
  const name = title(props.machine);
  const closed = useClosedOffline();
  const wait = useWait(props.machine);
  const [refused, join] = useJoin(props.machine, wait, props.close);
  const { free, total, position } = props.error.facts as { free?: number; total?: number; position?: number };
  return (
    <DialogBody
      title={words.t('{machine} is sold out', { machine: name })}
      close={props.close}
      buttons={
        <>
          <Button ref={first} look="plain" size="large" onClick={props.close}>
            {words.t('Stay on {machine}', { machine: title(here) })}
          </Button>
          <Button look="primary" size="large" closed={closed ?? wait.problem} onClick={join}>
            {wait.itself ? words.t('Join waitlist…') : words.t('Join waitlist')}
          </Button>
        </>
      }
    >
      <div style={{ marginBottom: 14 }}>
        <Note
          tone="warn"
          icon="none"
          role="alert"
          more={words.t('You are still on {machine}; nothing changed and nothing was charged.', { machine: title(here) })}
        >
          {words.t('{machine} is sold out: {free} of {total} free. You would be {nth}.', {
            machine: name,
            free: free ?? 0,
            total: total ?? '–',
            nth: place(position ?? 1, words.language)
          })}
        </Note>
      </div>
      {others.length > 0 && <Alternatives machines={others} plan={props.plan} />}
      {refused && <Refused error={refused} />}
      <WaitFor machine={name} wait={wait} />
    </DialogBody>
  );
}

/** Join to be asked, or open the dialog of consent; what was refused is shown here. */
function useJoin(machine: string, wait: WaitChoice, close: () => void): [ApiError | null, () => void] {
  const { client, store } = useGearshift();
  const run = useRun();
  const [refused, setRefused] = React.useState<ApiError | null>(null);
  const joined = (): void => {
    void store.load('waits');
    close();
  };
  const join = (): void => {
    if (wait.itself) {
      close();
      run(Commands.agreeWait, { machine, cap_nano: wait.capNano, until: wait.until });
    } else {
      client.joinWaitlist(machine).then(joined, reason => setRefused(asApiError(reason)));
    }
  };
  return [refused, join];
}

function Alternatives({ machines, plan }: { machines: CatalogMachine[]; plan: (machine: string) => void }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  return (
    <>
      <h3 className="gs-h2">{words.t('Free now and large enough')}</h3>
      <div className="gs-card cut">
        <table className="gs-table dense">
          <tbody>
            {machines.map(machine => (
              <tr key={machine.id}>
                <th scope="row">
                  {words.pick(machine.title)} {machine.simulated && <span className="gs-tag">{words.t('simulated')}</span>}
                  <div className="sub">{words.t('{free} of {total} free', { free: machine.free, total: machine.total })}</div>
                </th>
                <td className="sub">{words.pick(machine.good_for)}</td>
                <td className="gs-r">{format.perHour(machine.price_per_hour_nano)}</td>
                <td className="gs-r">
                  <Button
                    size="small"
                    aria-label={words.t('Show plan for {machine}', { machine: words.pick(machine.title) })}
                    onClick={() => plan(machine.id)}
                  >
                    {words.t('Show plan')}
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
