/** Waiting for a machine that is sold out: to be asked when it is free, or to switch by itself, once, under a cap. */

import * as React from 'react';

import type { WaitOutlook } from '../../api/answers.js';
import { money, nano, place } from '../../models/format.js';
import { hoursUntil } from '../../models/hours.js';
import { useFormat, useGearshift, useNow } from '../context.js';

export interface WaitChoice {
  outlook: WaitOutlook | null;
  itself: boolean;
  setItself: (itself: boolean) => void;
  cap: string;
  setCap: (cap: string) => void;
  capNano: number | null;
  until: string;
  setUntil: (until: string) => void;
  ends: string[];
  /** Why it cannot be joined so. */
  problem: string | null;
}

/** The choice as it stands; its outlook is asked for once, when the dialog shows it. */
export function useWait(machine: string): WaitChoice {
  const { client, words } = useGearshift();
  const format = useFormat();
  const [outlook, setOutlook] = React.useState<WaitOutlook | null>(null);
  const [itself, setItself] = React.useState(false);
  const [cap, setCap] = React.useState<string | null>(null);
  const [until, setUntil] = React.useState('');
  React.useEffect(() => {
    client.waitOutlook(machine).then(setOutlook, () => undefined);
  }, [client, machine]);
  const price = outlook?.price_per_hour_nano ?? null;
  const shown = cap ?? (price === null ? '' : money(price, { symbol: '' }).replace(/,/g, ''));
  const ends = React.useMemo(() => (outlook ? hoursUntil(new Date(), new Date(outlook.longest_until)) : []), [outlook]);
  const capNano = nano(shown);
  const low = itself && (capNano === null || price === null || capNano < price);
  return {
    outlook,
    itself,
    setItself,
    cap: shown,
    setCap,
    capNano,
    until: until || (ends[0] ?? ''),
    setUntil,
    ends,
    problem: low ? words.t('The price now is {price}: allow at least that.', { price: price === null ? '–' : format.perHour(price) }) : null
  };
}

export function WaitFor({ machine, wait }: { machine: string; wait: WaitChoice }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const { outlook } = wait;
  if (!outlook) {
    return null;
  }
  return (
    <>
      <h3 className="gs-h2" style={{ marginTop: 14 }}>{words.t('Or wait for {machine}', { machine })}</h3>
      <div className="gs-card" style={{ padding: 14 }}>
        <div className="gs-row base">
          <Pace outlook={outlook} />
          <span className="gs-spring" />
          <span className="gs-muted gs-small">{words.t('Waiting is free')}</span>
        </div>
        <fieldset className="gs-fieldset" style={{ margin: '6px 0 0' }}>
          <legend className="gs-hidden">{words.t('When one is free')}</legend>
          <label className="gs-check">
            <input type="radio" name="gs-wait" checked={!wait.itself} onChange={() => wait.setItself(false)} />
            <span>{words.t('Ask me when one is free; it is held for {t}', { t: format.duration(outlook.hold_seconds) })}</span>
          </label>
          <ByItself wait={wait} />
        </fieldset>
      </div>
    </>
  );
}

function Pace({ outlook }: { outlook: WaitOutlook }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const now = useNow(15_000);
  const nth = place(outlook.position, words.language);
  if (!outlook.starts_at) {
    return <span>{words.t('You would be {nth}. How long that takes is not known.', { nth })}</span>;
  }
  const t = format.duration(Math.max(0, (Date.parse(outlook.starts_at) - now) / 1000));
  return <span>{words.t('You would be {nth}. At today’s pace that is about {t}.', { nth, t })}</span>;
}

function ByItself({ wait }: { wait: WaitChoice }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const symbol = format.money(0).replace(/[\d.,\s]/g, '');
  return (
    <div className="gs-row" style={{ flexWrap: 'wrap', gap: 8 }}>
      <label className="gs-check">
        <input type="radio" name="gs-wait" checked={wait.itself} onChange={() => wait.setItself(true)} />
        <span>{words.t('Switch by itself, once, if the price is at most')}</span>
      </label>
      <span className="gs-field" style={{ width: 96 }}>
        <span aria-hidden="true">{symbol}</span>
        <input
          inputMode="decimal"
          value={wait.cap}
          aria-label={words.t('At most, per hour')}
          onFocus={() => wait.setItself(true)}
          onChange={event => wait.setCap(event.target.value)}
        />
      </span>
      <span className="gs-muted">{words.t('per hour, and only until')}</span>
      <span className="gs-field">
        <select
          value={wait.until}
          aria-label={words.t('Only until')}
          onFocus={() => wait.setItself(true)}
          onChange={event => wait.setUntil(event.target.value)}
        >
          {wait.ends.map(end => (
            <option key={end} value={end}>
              {format.moment(end)}
            </option>
          ))}
        </select>
      </span>
      {wait.itself && wait.problem && (
        <span className="gs-small gs-warn" role="alert">
          {wait.problem}
        </span>
      )}
    </div>
  );
}
