/** Cost in the main area: four figures, today's lines, the ledger and whether it is intact. */

import * as React from 'react';

import type { CostLine, Integrity, LedgerLine, Me } from '../../api/answers.js';
import { asApiError, type ApiError } from '../../api/errors.js';
import { clock, count } from '../../models/format.js';
import { useFormat, useGearshift, useNow, usePart } from '../context.js';
import { Fetched, Refused, StateWord } from '../parts.js';
import { useLasts } from '../panel/Cost.js';
import { useMachineTitle } from '../panel/Machine.js';
import { Consents } from './Consents.js';

const HOUR_MS = 3_600_000;
const REFRESH_MS = 15_000;
const LEDGER_DAYS = 31;

export function CostView(): React.ReactElement {
  const { store, words } = useGearshift();
  const me = usePart('me');
  const costs = usePart('costs');
  React.useEffect(() => {
    const load = (): void => void store.loadAll(['me', 'costs']);
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => clearInterval(timer);
  }, [store]);
  return (
    <div className="gs-main">
      <div className="top">
        <h1 className="gs-h1">{words.t('Cost')}</h1>
      </div>
      <div className="scroll">
        <Fetched part={me} what={words.t('Loading the balance…')} retry={() => void store.load('me')}>
          {value => <Figures me={value} />}
        </Fetched>
        <section className="gs-card cut" style={{ marginTop: 16 }} aria-label={words.t('Today')}>
          <header>{words.t('Today')}</header>
          <Fetched part={costs} what={words.t('Loading today’s lines…')} retry={() => void store.load('costs')}>
            {value => <Today lines={value.lines} at={costs.at ?? Date.now()} />}
          </Fetched>
        </section>
        <Consents />
        <Ledger />
      </div>
    </div>
  );
}

function Figures({ me }: { me: Me }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const lasts = useLasts(me);
  return (
    <div className="gs-card gs-facts">
      <Figure label={words.t('Balance')} value={format.money(me.balance_nano)}>
        {lasts === null ? '' : words.t('lasts about {t} at this rate', { t: format.duration(lasts) })}
      </Figure>
      <Figure label={words.t('Spending now')} value={format.money(me.rate_per_hour_nano)} unit="/h" />
      <Figure label={words.t('Today')} value={format.money(me.today_nano)} />
      <Figure label={words.t('This month')} value={format.money(me.month_nano)} />
    </div>
  );
}

function Figure(props: { label: string; value: string; unit?: string; children?: string }): React.ReactElement {
  return (
    <div className="gs-kpi">
      <small>{props.label}</small>
      <b>
        {props.value}
        {props.unit && <i>{props.unit}</i>}
      </b>
      <small>{props.children}</small>
    </div>
  );
}

function Today({ lines, at }: { lines: CostLine[]; at: number }): React.ReactElement {
  const { words } = useGearshift();
  if (!lines.length) {
    return <p className="gs-muted" style={{ padding: '8px 14px', margin: 0 }}>{words.t('Nothing spent today.')}</p>;
  }
  return (
    <table className="gs-table dense">
      <thead>
        <tr>
          <th scope="col">{words.t('From')}</th>
          <th scope="col">{words.t('What')}</th>
          <th scope="col">{words.t('On')}</th>
          <th scope="col" className="gs-r">
            {words.t('Time')}
          </th>
          <th scope="col" className="gs-r">
            {words.t('Price')}
          </th>
          <th scope="col" className="gs-r">
            {words.t('Amount')}
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map(line => (
          <TodayLine key={line.subject + line.opened_at} line={line} at={at} />
        ))}
      </tbody>
    </table>
  );
}

function TodayLine({ line, at }: { line: CostLine; at: number }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const now = useNow();
  const running = line.closed_at === null;
  const end = running ? now : Date.parse(line.closed_at ?? '');
  // Between two answers a running line ticks by its price.
  const since = running ? Math.round((Math.max(0, now - at) / HOUR_MS) * line.price_per_hour_nano) : 0;
  return (
    <tr>
      <td className="sub">{format.moment(line.opened_at)}</td>
      <th scope="row">
        <Subject subject={line.subject} />{' '}
        {running && (
          <StateWord tone="info" icon="play">
            {words.t('running')}
          </StateWord>
        )}
      </th>
      <td className="sub">{title(line.machine)}</td>
      <td className="gs-r">{clock((end - Date.parse(line.opened_at)) / 1000)}</td>
      <td className="gs-r sub">{format.perHour(line.price_per_hour_nano)}</td>
      <td className="gs-r">{format.money(line.amount_nano + since)}</td>
    </tr>
  );
}

/** `workspace:mei/vlm-7b` and `job:job-7f2a91` as people say them; another subject stays as it is. */
function Subject({ subject }: { subject: string }): React.ReactElement {
  const { words } = useGearshift();
  const jobs = usePart('jobs').value;
  const [kind, id = ''] = subject.split(':', 2);
  if (kind === 'job') {
    return <>{words.t('Job {name}', { name: jobs?.find(job => job.id === id)?.spec.name ?? id })}</>;
  }
  return <>{kind === 'workspace' ? words.t('Workspace {name}', { name: id.split('/').pop() ?? id }) : subject}</>;
}

/** A usage line names its machine and its subject; other lines say in words what they are for. */
function What({ line }: { line: LedgerLine }): React.ReactElement {
  const title = useMachineTitle();
  const [machine, subject] = line.note.split(' ', 2);
  if (line.kind !== 'usage' || !machine || !subject) {
    return <>{line.note}</>;
  }
  return (
    <>
      <Subject subject={subject} /> · {title(machine)}
    </>
  );
}

function Ledger(): React.ReactElement {
  const { client, words } = useGearshift();
  const [lines, setLines] = React.useState<LedgerLine[] | null>(null);
  const [error, setError] = React.useState<ApiError | null>(null);
  const load = React.useCallback(() => {
    setError(null);
    const from = new Date(Date.now() - LEDGER_DAYS * 24 * HOUR_MS).toISOString();
    client.ledger(from).then(setLines, reason => setError(asApiError(reason)));
  }, [client]);
  React.useEffect(load, [load]);
  return (
    <section className="gs-card cut" style={{ marginTop: 16 }} aria-label={words.t('Ledger')}>
      <header>
        <span>{words.t('Ledger')}</span>
        <span className="gs-muted gs-small">{words.t('last {n} days, newest first', { n: LEDGER_DAYS })}</span>
        <span className="gs-spring" />
        <IntegrityLine />
      </header>
      {error && <Refused error={error} retry={load} />}
      {lines && <Entries lines={[...lines].reverse()} />}
    </section>
  );
}

function IntegrityLine(): React.ReactElement | null {
  const { client, words } = useGearshift();
  const format = useFormat();
  const [found, setFound] = React.useState<Integrity | null>(null);
  React.useEffect(() => {
    client.integrity().then(setFound, () => setFound(null));
  }, [client]);
  if (!found) {
    return null;
  }
  return found.ok ? (
    <StateWord tone="good" icon="shield">
      {words.t('Intact: {n} entries, checked {time}', { n: count(found.entries), time: format.moment(found.checked_at) })}
    </StateWord>
  ) : (
    <StateWord tone="bad" icon="warn">
      {words.t('Does not add up from entry {i}. Charging is paused; your admin has been told.', { i: found.first_bad ?? '–' })}
    </StateWord>
  );
}

function Entries({ lines }: { lines: LedgerLine[] }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const kinds: Record<string, string> = { credit: words.t('Credit'), usage: words.t('Usage'), correction: words.t('Correction') };
  if (!lines.length) {
    return <p className="gs-muted" style={{ padding: '8px 14px', margin: 0 }}>{words.t('Nothing spent this month.')}</p>;
  }
  return (
    <table className="gs-table dense">
      <thead>
        <tr>
          <th scope="col">{words.t('Entry')}</th>
          <th scope="col">{words.t('Time')}</th>
          <th scope="col">{words.t('Kind')}</th>
          <th scope="col">{words.t('What')}</th>
          <th scope="col" className="gs-r">
            {words.t('Amount')}
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map(line => (
          <tr key={line.seq}>
            <td className="sub">{line.seq}</td>
            <td className="sub">{format.moment(line.at, true)}</td>
            <td>{kinds[line.kind] ?? line.kind}</td>
            <td className="sub">
              <What line={line} />
            </td>
            <td className="gs-r">{format.money(line.amount_nano, { places: 4, signed: true })}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
