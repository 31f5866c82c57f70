/** Switch, second part: from and to, four facts, and what becomes of every variable. The press is here. */

import * as React from 'react';

import type { CatalogMachine, KernelPlan, SwitchFigures } from '../../api/answers.js';
import type { Words } from '../../i18n.js';
import { Icon } from '../../icons.js';
import type { BusyWay, Stage, SwitchFlow } from '../../models/switchflow.js';
import { lostOf, rowsOf, type Row } from '../../models/variables.js';
import { useClosed, useFormat, useGearshift, useNow, useSignal } from '../context.js';
import { Button, Note } from '../parts.js';
import { CancelButton, ConfirmButton, DialogBody } from '../dialog.js';
import { useMachine } from '../panel/Machine.js';
import { SnapshotTick } from './SnapshotTick.js';
import { Variables } from './Variables.js';

interface PlanStageProps {
  stage: Extract<Stage, { at: 'plan' }>;
  flow: SwitchFlow;
  close: () => void;
}

export function PlanStage({ stage, flow, close }: PlanStageProps): React.ReactElement {
  const { plan } = stage;
  const { words } = useGearshift();
  const { figures } = plan;
  const to = useMachine(figures.to.machine);
  const from = useMachine(figures.from.machine);
  const rows = React.useMemo(() => rowsOf(figures.kernels), [figures]);
  const lost = React.useMemo(() => lostOf(rows), [rows]);
  const consent = useConsent(lost);
  const leaveOut = useSignal(flow.changed, () => flow.leaveOut);
  const rerun = useSignal(flow.changed, () => flow.rerun);
  const why = useWhyNot(figures, consent.missing);
  const expired = useExpiry(plan.expires_at, flow.renew);
  useRuns(flow, figures.kernels);
  const name = words.pick(to?.title) || figures.to.machine;
  return (
    <DialogBody
      title={words.t('Switch machine: plan')}
      close={close}
      say={<Pledge figures={figures} to={name} from={words.pick(from?.title)} copied={rows.filter(row => row.kind === 'copy').length} />}
      buttons={
        <>
          <Button look="plain" size="large" onClick={flow.choose}>
            {words.t('Back')}
          </Button>
          <CancelButton onClick={close} />
          <ConfirmButton closed={why} busy={stage.busy} shown={plan.id} onConfirm={() => void flow.confirm(plan)}>
            {words.t('Switch to {machine}', { machine: name })}
          </ConfirmButton>
        </>
      }
    >
      {stage.note && (
        <div style={{ marginBottom: 12 }}>
          <Note tone="warn" icon="warn" role="alert">
            {stage.note}
          </Note>
        </div>
      )}
      <Shift from={from} to={to} figures={figures} />
      <Facts figures={figures} />
      {figures.kernels.some(kernel => kernel.busy) && <Busy flow={flow} />}
      <Unread figures={figures} />
      {figures.mode === 'live' ? (
        <Note icon="info">{words.t('Only CPU and memory change: the kernel runs on and nothing is copied.')}</Note>
      ) : (
        <Variables rows={rows} leaveOut={leaveOut} rerun={rerun} toggle={flow.toggle} />
      )}
      <SnapshotTick flow={flow} figures={figures} />
      {lost.length > 0 && <Lost names={lost.map(row => row.name)} {...consent} />}
      <p className="gs-small gs-muted" style={{ margin: '10px 0 0' }}>
        {expired}
      </p>
    </DialogBody>
  );
}

interface Consent {
  /** Something would be lost and nobody has agreed to that. */
  missing: boolean;
  agree: (agreed: boolean) => void;
}

/** A tick is for what was shown with it: when something else would be lost it counts no more. */
function useConsent(lost: readonly Row[]): Consent {
  const losing = lost.map(row => row.key).join(' ');
  const [agreedTo, setAgreedTo] = React.useState('');
  return { missing: agreedTo !== losing, agree: agreed => setAgreedTo(agreed ? losing : '') };
}

/** Why this plan cannot be confirmed; null when it can. */
function useWhyNot(figures: SwitchFigures, unagreed: boolean): string | null {
  const { words } = useGearshift();
  const closed = useClosed();
  const tooSmall = useTooSmall(figures);
  return closed ?? tooSmall ?? (unagreed ? words.t('Tick that you can do without what would be lost.') : null);
}

const LOOK_MS = 2000;

/** A plan holds until a kernel runs again; then it is made anew in place. While one is busy it is looked at, so that its
 *  end is noticed also where no page of ours listens to it. */
function useRuns(flow: SwitchFlow, kernels: readonly KernelPlan[]): void {
  const { client, runs } = useGearshift();
  const busy = kernels.filter(kernel => kernel.busy).map(kernel => kernel.kernel_id).join(' ');
  React.useEffect(() => {
    runs.changed.connect(flow.ran);
    return () => void runs.changed.disconnect(flow.ran);
  }, [runs, flow]);
  React.useEffect(() => {
    const look = async (): Promise<void> => {
      const { kernels } = await client.health();
      if (!kernels.some(kernel => busy.includes(kernel.kernel_id) && kernel.state === 'busy')) {
        flow.ran();
      }
    };
    const timer = busy ? setInterval(() => void look().catch(() => undefined), LOOK_MS) : undefined;
    return () => clearInterval(timer);
  }, [busy, client, flow]);
}

/** Why the kernels do not fit there; null where they do, or where nothing has to fit anew. */
function useTooSmall({ fits }: SwitchFigures): string | null {
  const { words } = useGearshift();
  const format = useFormat();
  if (!fits || fits.ok) {
    return null;
  }
  const lacks = fits.chips && (fits.chips.used_bytes ?? 0) > fits.chips.has_bytes ? fits.chips : fits.memory;
  const [need, have] = [format.bytes(lacks.used_bytes ?? 0), format.bytes(lacks.has_bytes)];
  return words.t('Too small: needs {need}, has {have}', { need, have });
}

/** A plan holds two minutes; then it is made anew in place. */
function useExpiry(expiresAt: string, renew: () => void): string {
  const { words } = useGearshift();
  const format = useFormat();
  const left = (Date.parse(expiresAt) - useNow()) / 1000;
  const over = left <= 0;
  React.useEffect(() => {
    if (over) {
      renew();
    }
  }, [over, renew]);
  return words.t('These figures hold for {t}; then they are read again.', { t: format.duration(Math.max(0, left)) });
}

function Pledge(props: { figures: SwitchFigures; to: string; from: string; copied: number }): React.ReactElement | null {
  const { words } = useGearshift();
  const { figures, to, from, copied } = props;
  if (figures.mode !== 'restart') {
    return null;
  }
  return figures.rollback === 'frozen' ? (
    <>
      {words.t(
        'Nothing stops until {new} is reserved. {old} is only paused until {new} has passed its check: if any step fails you go on there as if nothing had happened.',
        { new: to, old: from }
      )}
    </>
  ) : (
    <>
      {words.t(
        'Nothing stops until {new} is reserved. If any step fails you are back on {old} with the {n} variables that were saved.',
        { new: to, old: from, n: copied }
      )}
    </>
  );
}

function Shift(props: { from: CatalogMachine | null; to: CatalogMachine | null; figures: SwitchFigures }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { from, to, figures } = props;
  const change = figures.price_after_nano - figures.price_before_nano;
  return (
    <div className="gs-shift">
      <Side label={words.t('Now')} machine={from} price={format.perHour(figures.price_before_nano)} />
      <Icon name="right" size={20} />
      <Side
        className="to"
        label={words.t('After the switch')}
        machine={to}
        price={
          <>
            {format.perHour(figures.price_after_nano)}{' '}
            <span className="gs-muted">({format.money(change, { signed: true })})</span>
          </>
        }
      />
    </div>
  );
}

function Side(props: { className?: string; label: string; machine: CatalogMachine | null; price: React.ReactNode }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { machine } = props;
  return (
    <div className={props.className}>
      <div className="gs-small gs-muted">{props.label}</div>
      <div className="gs-row base">
        <span className="gs-strong gs-clip">{words.pick(machine?.title)}</span>
        {machine?.simulated && <span className="gs-tag">{words.t('simulated')}</span>}
        <span className="gs-spring" />
        <span className="gs-num">{props.price}</span>
      </div>
      {machine && (
        <div className="gs-small gs-muted">
          {machine.cores_milli / 1000} vCPU · {format.bytes(machine.memory_bytes)}
        </div>
      )}
    </div>
  );
}

function Facts({ figures }: { figures: SwitchFigures }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { availability } = figures;
  return (
    <div className="gs-card gs-facts" style={{ margin: '12px 0' }}>
      <Fact label={words.t('Takes')} note={learnedFrom(words, figures)}>
        {words.t('about {t}', { t: format.duration(figures.seconds) })}
      </Fact>
      <Fact label={words.t('Price')} note={words.t('per second, from the moment of the switch')}>
        {format.money(figures.price_before_nano)} → {format.perHour(figures.price_after_nano)}
      </Fact>
      <Fact label={words.t('Availability')} note={words.t('reserved before anything stops')}>
        {words.t('{free} of {total} free', { ...availability })}
      </Fact>
      <Fits figures={figures} />
    </div>
  );
}

/** Seconds are measured ones, or said to be a guess. */
function learnedFrom({ n, t }: Words, { learned_from: runs }: SwitchFigures): string {
  return runs ? n('as measured at the last switch', 'as measured at the last {n} switches', runs) : t('a first guess: none was measured yet');
}

/** What the kernels use now of what the target has: its chips where something lies on chips, else its memory. */
function Fits({ figures }: { figures: SwitchFigures }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { fits } = figures;
  const label = words.t('Fits');
  if (!fits) {
    return (
      <Fact label={label} note={words.t('nothing is stopped')}>
        {words.t('kernels run on')}
      </Fact>
    );
  }
  const on = fits.chips?.used_bytes ? fits.chips : fits.memory;
  const what = on === fits.memory ? words.t('memory, measured') : words.t('GPU memory, measured');
  const used = on.used_bytes === null ? '–' : format.bytesOf(on.used_bytes, on.has_bytes);
  return (
    <Fact label={label} note={fits.ok ? what : words.t('too small')}>
      {used}
    </Fact>
  );
}

function Fact(props: { label: string; note: string; children: React.ReactNode }): React.ReactElement {
  return (
    <div>
      <div className="gs-small gs-muted">{props.label}</div>
      <div className="gs-num gs-medium">{props.children}</div>
      <div className="gs-small gs-muted">{props.note}</div>
    </div>
  );
}

/** Kernels whose variables could not be read, but for those that are only busy. */
function Unread({ figures }: { figures: SwitchFigures }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <>
      {figures.kernels
        .filter(kernel => kernel.error && !kernel.busy)
        .map(kernel => (
          <div key={kernel.kernel_id} style={{ marginBottom: 12 }}>
            <Note tone="warn" icon="warn">
              {words.t('The kernel of {path} cannot come along: {cause}', {
                path: kernel.path || kernel.name,
                cause: kernel.error?.text ?? ''
              })}
            </Note>
          </div>
        ))}
    </>
  );
}

/** A cell is running: wait for its end, or interrupt it. */
function Busy({ flow }: { flow: SwitchFlow }): React.ReactElement {
  const { words } = useGearshift();
  const way = useSignal(flow.changed, () => flow.busyWay);
  const choice = (value: BusyWay, label: string): React.ReactElement => (
    <label className="gs-check">
      <input type="radio" name="gs-busy" checked={way === value} onChange={() => flow.setBusyWay(value)} />
      <span>{label}</span>
    </label>
  );
  return (
    <div className="gs-stack" style={{ marginBottom: 12, gap: 4 }} role="radiogroup" aria-label={words.t('A cell is running.')}>
      <Note tone="warn" icon="warn">
        {words.t('A cell is running.')}
      </Note>
      {choice('wait', words.t('Switch when it ends'))}
      {choice('interrupt', words.t('Interrupt and switch'))}
    </div>
  );
}

function Lost(props: { names: string[] } & Consent): React.ReactElement {
  const { words } = useGearshift();
  const names = props.names.join(words.language === 'zh' ? '、' : ', ');
  return (
    <div className="gs-stack" style={{ marginTop: 12 }}>
      <Note tone="warn" icon="warn" more={words.t('To continue, confirm that you can do without it.')}>
        {words.t('{var} will be lost: no cell can rebuild it.', { var: names })}
      </Note>
      <label className="gs-check">
        <input type="checkbox" checked={!props.missing} onChange={event => props.agree(event.target.checked)} />
        <span>{words.t('I can do without {var}', { var: names })}</span>
      </label>
    </div>
  );
}
