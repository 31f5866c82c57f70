/** What a magic proposed, in the cell's output: its figures, and the press that opens the confirmation. */

import * as React from 'react';

import type { Plan } from '../api/answers.js';
import { Icon } from '../icons.js';
import { useClosedOffline, useFormat, useGearshift, useNow } from './context.js';
import { ConfirmDialog } from './confirm/ConfirmDialog.js';
import { describe } from './confirm/describe.js';
import { showGearshiftDialog } from './dialog.js';
import { useMachineTitle } from './panel/Machine.js';
import { Button } from './parts.js';

const NARROW = 430;

export function PlanCard({ plan, done }: { plan: Plan; done: (answer: unknown) => void }): React.ReactElement {
  const gearshift = useGearshift();
  const { words } = gearshift;
  const format = useFormat();
  const title = useMachineTitle();
  const offline = useClosedOffline();
  const over = Date.parse(plan.expires_at) <= useNow();
  const said = describe(plan, words, format, title);
  const open = (): void => {
    // A plan that has run out is made anew from what was asked for; its figures are shown before any press counts.
    const body = { kind: plan.kind, ...plan.body };
    void showGearshiftDialog(gearshift, { title: said.title, width: NARROW }, ({ close }) => (
      <ConfirmDialog close={close} body={body} plan={over ? undefined : plan} heading={said.title} done={done} />
    ));
  };
  return (
    <section className="gs-job" aria-label={said.title}>
      <header>
        <Icon name="jobs" />
        <span className="gs-strong gs-clip">{said.title}</span>
        <span className="gs-spring" />
        <Button look="primary" size="small" closed={offline} onClick={open}>
          {`${said.press}…`}
        </Button>
      </header>
      <div className="body">
        <dl className="gs-dl">
          {said.rows.map(([name, value]) => (
            <React.Fragment key={name}>
              <dt>{name}</dt>
              <dd className="gs-num">{value}</dd>
            </React.Fragment>
          ))}
        </dl>
        <span className="gs-muted gs-small">
          {over
            ? words.t('These figures are old; they are read again when you press.')
            : words.t('Nothing happens before you confirm.')}
        </span>
      </div>
    </section>
  );
}
