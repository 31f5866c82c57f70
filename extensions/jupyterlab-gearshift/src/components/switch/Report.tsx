/** Switch, last part: what was copied, what has to be run again, what was not moved; or why it was not switched. */

import { Clipboard } from '@jupyterlab/apputils';
import * as React from 'react';

import type { Operation } from '../../api/records.js';
import { Icon } from '../../icons.js';
import { pausedSeconds, reportsOf, tookSeconds, type MovedVariable } from '../../models/operations.js';
import { verdictOf } from '../../models/variables.js';
import { useFormat, useGearshift, useRun, useStore } from '../context.js';
import { Button, Link, Note, StateWord } from '../parts.js';
import { DialogBody, useFirstFocus } from '../dialog.js';
import { Commands } from '../../tokens.js';
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
  const format = useFormat();
  const run = useRun();
  const first = useFirstFocus<HTMLButtonElement>();
  const variables = reportsOf(op).flatMap(report => report.variables);
  const lost = variables.filter(one => verdictOf(one as never) !== 'copy').length;
  const took = words.t('It took {t}.', { t: format.duration(tookSeconds(op, Date.now()), true) });
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
      <Moved variables={variables} />
      <Unread op={op} />
      <Figures op={op} />
      <p className="gs-small gs-muted">{words.t('This report is kept under Machine › History.')}</p>
    </DialogBody>
  );
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

function Moved({ variables }: { variables: MovedVariable[] }): React.ReactElement | null {
  const { words } = useGearshift();
  const of = (kind: string): MovedVariable[] => variables.filter(one => verdictOf(one as never) === kind);
  const [copied, rerun, left, cannot] = [of('copy'), of('rerun'), of('left_out'), of('cannot')];
  if (!variables.length) {
    return null;
  }
  return (
    <div className="gs-card cut">
      <table className="gs-table">
        <thead>
          <tr>
            <th scope="col">{words.t('Result')}</th>
            <th scope="col" className="gs-r">
              {words.t('Variables')}
            </th>
            <th scope="col" className="gs-r">
              {words.t('Size')}
            </th>
            <th scope="col">{words.t('Detail')}</th>
          </tr>
        </thead>
        <tbody>
          <MovedRow rows={copied} tone="good" icon="ok" word={words.t('Copied')} detail={words.t('checked one by one')} />
          <MovedRow rows={rerun} tone="info" icon="rerun" word={words.t('Run again')} />
          <MovedRow rows={left} tone="idle" icon="ring" word={words.t('Left out')} />
          <MovedRow rows={cannot} tone="warn" icon="none" word={words.t('Not moved')} />
        </tbody>
      </table>
    </div>
  );
}

function MovedRow(props: {
  rows: MovedVariable[];
  tone: 'good' | 'info' | 'idle' | 'warn';
  icon: 'ok' | 'rerun' | 'ring' | 'none';
  word: string;
  detail?: string;
}): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const { rows } = props;
  if (!rows.length) {
    return null;
  }
  const bytes = rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
  return (
    <tr>
      <th scope="row">
        <StateWord tone={props.tone} icon={props.icon}>
          {props.word}
        </StateWord>
      </th>
      <td className="gs-r">{rows.length}</td>
      <td className="gs-r">{bytes ? format.bytes(bytes) : '–'}</td>
      <td className="sub">
        {props.detail ??
          rows.map(row => (
            <div key={row.name}>
              <code>{row.name}</code>{' '}
              {[pick(words.language, row.why, row.why_zh), pick(words.language, row.rebuild, row.rebuild_zh)]
                .filter(Boolean)
                .join('; ')}
            </div>
          ))}
      </td>
    </tr>
  );
}

function pick(language: 'en' | 'zh', en: string | null, zh: string | null): string | null {
  return language === 'zh' ? (zh ?? en) : en;
}

function Figures({ op }: { op: Operation }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const price = useStore(state => state.machine.value?.price_per_hour_nano ?? null);
  const paused = pausedSeconds(op);
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
        <div className="gs-small gs-muted">{words.t('From now on')}</div>
        <div className="gs-num">{price === null ? '–' : format.perHour(price)}</div>
      </div>
    </div>
  );
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
