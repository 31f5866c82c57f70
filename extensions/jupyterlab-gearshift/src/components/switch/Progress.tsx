/** Switch, third part: the steps as they go. Safe to close; going back is possible until the check begins. */

import * as React from 'react';

import type { Operation } from '../../api/records.js';
import { canGoBack, tookSeconds } from '../../models/operations.js';
import { useFormat, useGearshift, useNow } from '../context.js';
import { Button, Note, Bar } from '../parts.js';
import { ConfirmButton, DialogBody, useFirstFocus } from '../dialog.js';
import { Live } from '../Live.js';
import { Steps } from './Steps.js';
import type { Names } from './names.js';

interface ProgressProps {
  op: Operation;
  names: Names;
  expected: number | null;
  close: () => void;
  goBack: () => void;
  goingBack: boolean;
}

export function Progress({ op, names, expected, close, goBack, goingBack }: ProgressProps): React.ReactElement {
  const { words } = useGearshift();
  const first = useFirstFocus<HTMLButtonElement>();
  return (
    <DialogBody
      title={words.t('Switching machine')}
      close={close}
      left={
        canGoBack(op) && (
          <ConfirmButton look="plain" shown={op.id} busy={goingBack} onConfirm={goBack}>
            {goingBack ? words.t('Going back…') : words.t('Go back to {machine}', { machine: names.from })}
          </ConfirmButton>
        )
      }
      buttons={
        <Button ref={first} look="primary" size="large" onClick={close}>
          {words.t('Continue in background')}
        </Button>
      }
    >
      <Elapsed op={op} names={names} expected={expected} />
      <Steps op={op} names={names} />
      <Note
        tone="info"
        icon="info"
        more={words.t('The switch runs on the server. You can edit meanwhile; cells run again when it ends.')}
      >
        {words.t('Safe to close: this dialog, the browser or the laptop.')}
      </Note>
      <Live />
    </DialogBody>
  );
}

function Elapsed({ op, names, expected }: { op: Operation; names: Names; expected: number | null }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const took = tookSeconds(op, useNow());
  const done = op.steps.filter(step => step.state === 'done').length;
  const percent = expected ? Math.min(99, (took / expected) * 100) : (done / op.steps.length) * 100;
  return (
    <>
      <div className="gs-row base" style={{ marginBottom: 8 }}>
        <span className="gs-strong gs-clip">
          {names.from} → {names.to}
        </span>
        <span className="gs-spring" />
        <span className="gs-num gs-muted">
          {expected
            ? words.t('{t} of about {total}', { t: format.duration(took), total: format.duration(expected) })
            : format.duration(took)}
        </span>
      </div>
      <div
        role="progressbar"
        aria-label={words.t('Switching machine')}
        aria-valuemin={0}
        aria-valuemax={op.steps.length}
        aria-valuenow={done}
        aria-valuetext={words.t('{n} of {m} steps done', { n: done, m: op.steps.length })}
      >
        <Bar percent={percent} height="tall" />
      </div>
    </>
  );
}
