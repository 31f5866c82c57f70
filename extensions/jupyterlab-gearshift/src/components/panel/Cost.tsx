/** The Cost section: balance, how long it lasts, today. */

import * as React from 'react';

import type { Me } from '../../api/answers.js';
import { Commands } from '../../tokens.js';
import { useFormat, useGearshift, usePart, useRun } from '../context.js';
import { Fetched, Link, Note } from '../parts.js';

const WARN_SECONDS = 30 * 60;

export function CostSection(): React.ReactElement {
  const { store, words } = useGearshift();
  const format = useFormat();
  const run = useRun();
  const me = usePart('me');
  return (
    <Fetched part={me} what={words.t('Loading the balance…')} retry={() => void store.load('me')}>
      {value => (
        <>
          <div className="gs-row base">
            <span className="gs-muted">{words.t('Balance')}</span>
            <span className="gs-spring" />
            <span className="gs-num gs-strong">{format.money(value.balance_nano)}</span>
          </div>
          <Lasts me={value} />
          <div className="gs-row" style={{ marginTop: 4 }}>
            <span className="gs-small gs-muted">
              {words.t('Today')} <span className="gs-num">{format.money(value.today_nano)}</span>
            </span>
            <span className="gs-spring" />
            <Link className="gs-small" onClick={() => run(Commands.cost)}>
              {words.t('Open cost')}
            </Link>
          </div>
        </>
      )}
    </Fetched>
  );
}

/** Seconds that the balance lasts at the present rate; null when nothing is spent. */
export function useLasts(me: Me | null): number | null {
  return me && me.rate_per_hour_nano > 0 ? Math.max(0, (me.balance_nano / me.rate_per_hour_nano) * 3600) : null;
}

function Lasts({ me }: { me: Me }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const seconds = useLasts(me);
  if (seconds === null) {
    return null;
  }
  const time = format.duration(seconds);
  if (seconds < WARN_SECONDS) {
    return (
      <div style={{ margin: '6px 0' }}>
        <Note tone="bad" icon="warn" more={words.t('At {zero} the kernel is saved and the machine stops.', { zero: format.money(0) })}>
          {words.t('Balance {amount} lasts about {t}.', { amount: format.money(me.balance_nano), t: time })}
        </Note>
      </div>
    );
  }
  return (
    <div className="gs-small gs-muted gs-clip" style={{ margin: '2px 0 4px' }}>
      {words.t('lasts about {t} at this rate', { t: time })}
    </div>
  );
}
