/** Switch, last part: how it went, what it took against what was expected; or why it was not switched. */

import { Clipboard } from '@jupyterlab/apputils';
import * as React from 'react';

import type { SpanCost } from '../../api/answers.js';
import type { Operation } from '../../api/records.js';
import { Icon } from '../../icons.js';
import { amount } from '../../models/footwords.js';
import { expectedSeconds, outcomeOf, pausedSeconds, reportsOf, tookSeconds, waitedSeconds } from '../../models/operations.js';
import { useFormat, useGearshift, useRun, useStore } from '../context.js';
import { Button, Link, Note } from '../parts.js';
import { DialogBody, useFirstFocus } from '../dialog.js';
import { Commands } from '../../tokens.js';
import { Moved } from './Moved.js';
import { Steps } from './Steps.js';
import type { Names } from './names.js';

interface ReportProps {
  op: Operation;
  names: Names;
  back: string | null;
  close: () => void;
  again: () => void;
  choose: () => void;
}

export function Report(props: ReportProps): React.ReactElement {
  return props.op.state === 'done' ? <Switched {...props} /> : <NotSwitched {...props} />;
}

function Switched({ op, names, back, close }: ReportProps): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const first = useFirstFocus<HTMLButtonElement>();
  const reports = reportsOf(op);
  const lost = reports
    .flatMap(report => report.variables)
    .filter(one => !['copied', 'rebuilt'].includes(outcomeOf(one))).length;
  const took = useTook(op);
  return (
    <DialogBody
      title={words.t('Switch report')}
      close={close}
      left={
        back && (
          <Button
            look="quiet"
            onClick={() => {
              close();
              run(Commands.switchMachine, { machine: back });
            }}
          >
            {words.t('Switch back…')}
          </Button>
        )
      }
      buttons={
        <Button ref={first} look="primary" size="large" onClick={close}>
          {words.t('Done')}
        </Button>
      }
    >
      <Verdict
        good
        head={
          lost
            ? words.n('You are on {new}. {n} variable was not moved.', 'You are on {new}. {n} variables were not moved.', lost, { new: names.to })
            : words.t('You are on {new}.', { new: names.to })
        }
        line={lost ? took : `${words.t('Same kernel, same notebook, same variables.')} ${took}`}
      />
      <Moved reports={reports} close={close} />
      <Unread op={op} />
      <Figures op={op} />
      <p className="gs-small gs-muted">{words.t('This report is kept under Machine › History.')}</p>
    </DialogBody>
  );
}

/** `It took 3.6 s, expected 4 s.` Waiting for a cell was never part of what was expected. */
function useTook(op: Operation): string {
  const { words } = useGearshift();
  const format = useFormat();
  const [waited, expected] = [waitedSeconds(op), expectedSeconds(op)];
  const t = format.duration(tookSeconds(op, Date.now()) - waited, true);
  const took =
    expected === null
      ? words.t('It took {t}.', { t })
      : words.t('It took {t}, expected {expected}.', { t, expected: format.duration(expected, true) });
  return waited < 1 ? took : `${took} ${words.t('Before that it waited {t} for a cell.', { t: format.duration(waited, true) })}`;
}

function Verdict(props: { good: boolean; head: string; line: string }): React.ReactElement {
  return (
    <div className="gs-row" style={{ gap: 12, marginBottom: 14 }}>
      <span style={{ color: props.good ? 'var(--gs-good-fill)' : 'var(--gs-bad-fill)' }}>
        <Icon name={props.good ? 'ok' : 'fail'} size={28} />
      </span>
      <div>
        <div style={{ fontSize: 15, fontWeight: 500 }}>{props.head}</div>
        <div className="gs-muted">{props.line}</div>
      </div>
    </div>
  );
}

/** Kernels as a whole that did not come along, and what else is worth saying. */
function Unread({ op }: { op: Operation }): React.ReactElement {
  const { words } = useGearshift();
  const kernels = reportsOf(op).filter(report => report.error);
  return (
    <>
      {kernels.map(({ path, error }) => (
        <div key={path} style={{ marginTop: 12 }}>
          <Note tone="warn" icon="warn">
            {words.t('The kernel of {path} did not come along: {cause}', { path, cause: error?.text ?? '' })}
          </Note>
        </div>
      ))}
    </>
  );
}

function Figures({ op }: { op: Operation }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const price = useStore(state => state.machine.value?.price_per_hour_nano ?? null);
  const paused = pausedSeconds(op);
  const cost = useCost(op);
  return (
    <div className="gs-card gs-facts" style={{ marginTop: 12 }}>
      <div>
        <div className="gs-small gs-muted">{words.t('Time')}</div>
        <div className="gs-num">
          {format.duration(tookSeconds(op, Date.now()), true)}{' '}
          {paused !== null && (
            <span className="gs-muted">{words.t('kernel paused {t}', { t: format.duration(paused, true) })}</span>
          )}
        </div>
      </div>
      <div>
        <div className="gs-small gs-muted">{words.t('Cost of this switch')}</div>
        <div className="gs-num">{cost === null ? '–' : amount(cost)}</div>
      </div>
      <div>
        <div className="gs-small gs-muted">{words.t('From now on')}</div>
        <div className="gs-num">{price === null ? '–' : format.perHour(price)}</div>
      </div>
    </div>
  );
}

/** What the workspace was charged, by the ledger, from the press to the end; null while that is not known. */
function useCost({ created_at, ended_at }: Operation): SpanCost | null {
  const { client } = useGearshift();
  const [cost, setCost] = React.useState<SpanCost | null>(null);
  React.useEffect(() => {
    client.cost(created_at, ended_at).then(setCost, () => setCost(null));
  }, [client, created_at, ended_at]);
  return cost;
}

function NotSwitched({ op, names, close, again, choose }: ReportProps): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const first = useFirstFocus<HTMLButtonElement>();
  const lost = useStore(state => state.machine.value?.state === 'failed');
  const cause = causeOf(op, words.language);
  const details = JSON.stringify({ operation: op.id, error: op.error, steps: op.steps }, null, 1);
  const head = lost
    ? words.t('Not switched, and {old} could not be started again. Its kernels were saved.', { old: names.from })
    : words.t('Not switched. You are still on {old}.', { old: names.from });
  return (
    <DialogBody
      title={words.t('Not switched')}
      close={close}
      left={
        <Button look="quiet" onClick={choose}>
          {words.t('Choose another machine…')}
        </Button>
      }
      buttons={
        <>
          <Button ref={first} look="plain" size="large" onClick={close}>
            {words.t('Close')}
          </Button>
          <Button look="primary" size="large" onClick={again}>
            {words.t('Show plan again')}
          </Button>
        </>
      }
    >
      <Verdict
        good={false}
        head={head}
        line={words.t('{machine} has been given back. Charged for the attempt: {amount}.', {
          machine: names.to,
          amount: format.money(0)
        })}
      />
      <Steps op={op} names={names} />
      <Note
        icon="info"
        action={<Link onClick={() => Clipboard.copyToSystem(details)}>{words.t('Copy details')}</Link>}
      >
        {cause}
      </Note>
    </DialogBody>
  );
}

/** The cause as the server says it; a cancel is no fault. */
export function causeOf(op: Operation, language: 'en' | 'zh'): string {
  const error = op.error ?? {};
  const sentence = language === 'zh' ? (error['message_zh'] ?? error['message']) : error['message'];
  return typeof sentence === 'string' ? sentence : '';
}
