/** A confirmation: the figures of a plan and one press. Nothing skips it. */

import * as React from 'react';

import type { Plan } from '../../api/answers.js';
import { asApiError } from '../../api/errors.js';
import { useFormat, useGearshift, useNow, useStore } from '../context.js';
import { CancelButton, ConfirmButton, DialogBody, useFirstFocus, type DialogProps } from '../dialog.js';
import { Note, Refused, Waiting } from '../parts.js';
import { isLive } from '../panel/Jobs.js';
import { useMachineTitle } from '../panel/Machine.js';
import { describe, type Description } from './describe.js';

interface ConfirmProps extends DialogProps {
  /** What is asked for; the server answers with the plan that is shown. */
  body: Record<string, unknown>;
  /** A plan that was made already, by a magic. */
  plan?: Plan;
  heading: string;
  done: (answer: unknown) => void;
}

export function ConfirmDialog(props: ConfirmProps): React.ReactElement {
  const { words } = useGearshift();
  const { plan, error, since, note, read, confirm, busy } = useConfirm(props);
  if (!plan) {
    return (
      <DialogBody title={props.heading} close={props.close} buttons={<CancelButton onClick={props.close} />}>
        {error ? <Refused error={error} retry={read} /> : <Waiting since={since} what={words.t('Reading the figures…')} retry={read} />}
      </DialogBody>
    );
  }
  return <Shown plan={plan} note={note} busy={busy} close={props.close} confirm={confirm} renew={read} />;
}

function useConfirm({ body, plan: given, close, done }: ConfirmProps): {
  plan: Plan | null;
  error: ReturnType<typeof asApiError> | null;
  since: number;
  note: string | null;
  busy: boolean;
  read: () => void;
  confirm: () => void;
} {
  const { client, words } = useGearshift();
  const [plan, setPlan] = React.useState<Plan | null>(given ?? null);
  const [error, setError] = React.useState<ReturnType<typeof asApiError> | null>(null);
  const [note, setNote] = React.useState<string | null>(null);
  const [busy, setBusy] = React.useState(false);
  const since = React.useRef(Date.now());
  const read = React.useCallback(() => {
    setError(null);
    client.plan<Record<string, unknown>>(body).then(setPlan, reason => {
      setPlan(null);
      setError(asApiError(reason));
    });
  }, [client, body]);
  React.useEffect(() => {
    if (!given) {
      read();
    }
  }, [given, read]);
  const confirm = (): void => {
    if (!plan) {
      return;
    }
    setBusy(true);
    client
      .confirm(plan.id)
      .then(answer => {
        done(answer);
        close();
      })
      .catch(reason => {
        const refused = asApiError(reason);
        setBusy(false);
        setNote(refused.sentence(words.language));
        if (refused.code.startsWith('plan_')) {
          read();
        }
      });
  };
  return { plan, error, since: since.current, note, busy, read, confirm };
}

function Shown(props: {
  plan: Plan;
  note: string | null;
  busy: boolean;
  close: () => void;
  confirm: () => void;
  renew: () => void;
}): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const live_jobs = useStore(state => state.jobs.value?.filter(isLive).length ?? 0);
  const plan = { ...props.plan, figures: { ...props.plan.figures, live_jobs } };
  const said = describe(plan, words, format, title);
  const [typed, setTyped] = React.useState('');
  const [ticked, setTicked] = React.useState(false);
  const over = Date.parse(props.plan.expires_at) <= useNow();
  const { renew } = props;
  React.useEffect(() => {
    if (over) {
      renew();
    }
  }, [over, renew]);
  const untyped = said.type !== undefined && typed !== said.type ? words.t('Type the disk name to confirm') : null;
  const closed = said.tick !== undefined && !ticked ? words.t('Tick the box first.') : untyped;
  return (
    <DialogBody
      title={said.title}
      close={props.close}
      buttons={
        <>
          {said.type === undefined ? (
            <CancelButton onClick={props.close}>{said.cancel ?? words.t('Cancel')}</CancelButton>
          ) : (
            <PlainCancel onClick={props.close} />
          )}
          <ConfirmButton look={said.look} closed={closed} busy={props.busy} shown={props.plan.id} onConfirm={props.confirm}>
            {said.press}
          </ConfirmButton>
        </>
      }
    >
      <Content said={said} note={props.note} />
      {said.tick !== undefined && (
        <label className="gs-check" style={{ marginTop: 10 }}>
          <input type="checkbox" checked={ticked} onChange={event => setTicked(event.target.checked)} />
          <span>{said.tick}</span>
        </label>
      )}
      {said.type !== undefined && <TypeName typed={typed} setTyped={setTyped} />}
    </DialogBody>
  );
}

function PlainCancel({ onClick }: { onClick: () => void }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <button type="button" className="gs-btn plain large" onClick={onClick}>
      {words.t('Cancel')}
    </button>
  );
}

function Content({ said, note }: { said: Description; note: string | null }): React.ReactElement {
  return (
    <div className="gs-stack" style={{ gap: 10 }}>
      {note && (
        <Note tone="warn" icon="warn" role="alert">
          {note}
        </Note>
      )}
      {said.text && <span>{said.text}</span>}
      <dl className="gs-dl">
        {said.rows.map(([name, value]) => (
          <React.Fragment key={name}>
            <dt>{name}</dt>
            <dd className="gs-num">{value}</dd>
          </React.Fragment>
        ))}
      </dl>
      {said.note && (
        <Note tone={said.look === 'danger' ? 'bad' : undefined} icon={said.look === 'danger' ? 'warn' : 'clock'}>
          {said.note}
        </Note>
      )}
    </div>
  );
}

function TypeName({ typed, setTyped }: { typed: string; setTyped: (name: string) => void }): React.ReactElement {
  const { words } = useGearshift();
  const first = useFirstFocus<HTMLInputElement>();
  return (
    <div style={{ marginTop: 10 }}>
      <label className="gs-label" htmlFor="gs-type-name">
        {words.t('Type the disk name to confirm')}
      </label>
      <div className="gs-field">
        <input id="gs-type-name" ref={first} value={typed} autoComplete="off" onChange={event => setTyped(event.target.value)} />
      </div>
    </div>
  );
}
