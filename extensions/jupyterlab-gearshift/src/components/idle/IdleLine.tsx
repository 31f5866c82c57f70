/** The line under the machine: when it stops by itself, keeping it longer, what a drop would save, and the way to the choice. */

import * as React from 'react';

import type { Idle } from '../../api/answers.js';
import { countsDown, idleSentence } from '../../models/idle.js';
import { Commands } from '../../tokens.js';
import { useFormat, useGearshift, useNow, usePart, useRun } from '../context.js';
import { useMachineTitle } from '../panel/Machine.js';
import { Link } from '../parts.js';

export function IdleLine(): React.ReactElement | null {
  const { words } = useGearshift();
  const run = useRun();
  const idle = usePart('idle').value;
  if (!idle) {
    return null;
  }
  return (
    <div>
      <Sentence idle={idle} />
      {countsDown(idle) && (
        <>
          <Link onClick={() => run(Commands.keep)}>{words.t('Keep 1 h more')}</Link>{' '}
        </>
      )}
      <Link onClick={() => run(Commands.idle)}>{words.t('Change…')}</Link>
      <Offer idle={idle} />
    </div>
  );
}

function Sentence({ idle }: { idle: Idle }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const now = useNow();
  const said = idleSentence(idle, words, { duration: seconds => format.duration(seconds), moment: iso => format.moment(iso), title }, now);
  return <>{said ?? words.t('Does not stop when it is idle.')} </>;
}

/** A machine with a chip that nobody uses. */
function Offer({ idle }: { idle: Idle }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const run = useRun();
  if (!idle.drop_to || !idle.saves_per_hour_nano || idle.busy.length) {
    return null;
  }
  const values = { cpu: title(idle.drop_to), amount: format.money(idle.saves_per_hour_nano) };
  return (
    <div>
      {words.t('Drop to {cpu} and keep every variable: saves {amount}/h.', values)}{' '}
      <Link onClick={() => run(Commands.switchMachine, { machine: idle.drop_to })}>{words.t('Drop…')}</Link>
    </div>
  );
}
