/** What its person waits for and has agreed to: each line says how much at most, until when, once; and is taken back here. */

import * as React from 'react';

import { asApiError, type ApiError } from '../../api/errors.js';
import type { Wait } from '../../api/records.js';
import { place } from '../../models/format.js';
import { isUnderWay } from '../../models/waits.js';
import { useClosedOffline, useFormat, useGearshift, usePart } from '../context.js';
import { Button, Fetched, Refused, StateWord } from '../parts.js';
import { useMachineTitle } from '../panel/Machine.js';

export function Consents(): React.ReactElement {
  const { store, words } = useGearshift();
  const waits = usePart('waits');
  const [refused, setRefused] = React.useState<ApiError | null>(null);
  React.useEffect(() => void store.load('waits'), [store]);
  return (
    <section className="gs-card cut" style={{ marginTop: 16 }} aria-label={words.t('Consents')}>
      <header>
        <span>{words.t('Consents')}</span>
        <span className="gs-muted gs-small">{words.t('What begins by itself, and what you wait for')}</span>
      </header>
      {refused && <Refused error={refused} />}
      <Fetched part={waits} what={words.t('Loading what you wait for…')} retry={() => void store.load('waits')}>
        {all => {
          const live = all.filter(isUnderWay);
          return live.length ? <Lines waits={live} refuse={setRefused} /> : <Nothing />;
        }}
      </Fetched>
    </section>
  );
}

function Nothing(): React.ReactElement {
  const { words } = useGearshift();
  return (
    <p className="gs-muted" style={{ padding: '8px 14px', margin: 0 }}>
      {words.t('Nothing begins by itself, and you wait for nothing.')}
    </p>
  );
}

function Lines({ waits, refuse }: { waits: Wait[]; refuse: (error: ApiError | null) => void }): React.ReactElement {
  const { words } = useGearshift();
  const heads = [words.t('What'), words.t('How'), words.t('Until'), words.t('State')];
  return (
    <table className="gs-table dense">
      <thead>
        <tr>
          {heads.map(head => (
            <th scope="col" key={head}>
              {head}
            </th>
          ))}
          <th scope="col">
            <span className="gs-hidden">{words.t('Actions')}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {waits.map(wait => (
          <Line key={wait.id} wait={wait} refuse={refuse} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ wait, refuse }: { wait: Wait; refuse: (error: ApiError | null) => void }): React.ReactElement {
  const { client, store, words } = useGearshift();
  const format = useFormat();
  const closed = useClosedOffline();
  const machine = useMachineTitle()(wait.spec.machine);
  const names = { machine, name: wait.workspace.split('/').pop() ?? '' };
  const what = wait.kind === 'start' ? words.t('Start {name} on {machine}', names) : words.t('Switch {name} to {machine}', names);
  const withdraw = (): void => {
    refuse(null);
    client.withdrawWait(wait.id).then(
      () => void store.load('waits'),
      reason => refuse(asApiError(reason))
    );
  };
  return (
    <tr>
      <th scope="row">{what}</th>
      <td className="sub">
        {wait.mode === 'itself'
          ? words.t('by itself, once, at most {price}', { price: format.perHour(wait.cap_nano ?? 0) })
          : words.t('asks first')}
      </td>
      <td className="sub">{format.moment(wait.until)}</td>
      <td>
        <Standing wait={wait} />
      </td>
      <td className="gs-r">
        <Button size="small" closed={closed} aria-label={`${words.t('Withdraw')}: ${what}`} onClick={withdraw}>
          {words.t('Withdraw')}
        </Button>
      </td>
    </tr>
  );
}

function Standing({ wait }: { wait: Wait }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  if (wait.state === 'held') {
    const why = words.language === 'zh' ? wait.why_zh : wait.why;
    return (
      <StateWord tone="good" icon="ok">
        {words.t('held until {time}', { time: format.moment(wait.held_until ?? '') })} {why ?? ''}
      </StateWord>
    );
  }
  const nth = wait.position === null ? '–' : place(wait.position, words.language);
  return (
    <StateWord tone="idle" icon="clock">
      {wait.state === 'begun' ? words.t('beginning') : words.t('{nth} in line', { nth })}
    </StateWord>
  );
}
