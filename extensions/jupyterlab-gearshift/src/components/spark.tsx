/** The use of the last ten minutes as a line. */

import * as React from 'react';

import { percentInUse, type Reading } from '../models/meters.js';
import { useGearshift, useSignal, useStore } from './context.js';

const WIDTH = 168;
const HEIGHT = 24;
const SPAN_MS = 10 * 60_000;
const LEAST_MS = 30_000; // the line fills the width from here on

/** Without a label it is decoration beside the figure it draws. */
export function Spark(props: { className: string; label?: string; spanMs?: number }): React.ReactElement | null {
  const { meters } = useGearshift();
  React.useEffect(() => meters.watch(), [meters]);
  const readings = useSignal(meters.changed, () => meters.readings);
  const span = spanOf(readings, props.spanMs ?? SPAN_MS);
  const line = React.useMemo(() => points(readings, span), [readings, span]);
  if (!line) {
    return null;
  }
  return (
    <svg
      className={`gs-spark ${props.className}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role={props.label ? 'img' : undefined}
      aria-label={props.label}
      aria-hidden={props.label ? undefined : true}
    >
      <path className="a" d={`${line} V${HEIGHT} H${start(readings, span)} Z`} />
      <path className="l" d={line} />
    </svg>
  );
}

export function useUse(): number | null {
  return useStore(state => percentInUse(state.metrics.value));
}

/** What is measured so far, up to `most`. */
function spanOf(readings: readonly Reading[], most: number): number {
  const [first, last] = [readings[0]?.at ?? 0, readings[readings.length - 1]?.at ?? 0];
  return Math.min(most, Math.max(LEAST_MS, last - first));
}

function points(readings: readonly Reading[], span: number): string | null {
  const end = readings[readings.length - 1]?.at;
  const shown = readings.filter(reading => end !== undefined && end - reading.at <= span);
  if (shown.length < 2 || end === undefined) {
    return null;
  }
  const place = ({ at, percent }: Reading): string =>
    `${x(end, at, span)} ${(HEIGHT - 2 - (Math.min(100, percent) / 100) * (HEIGHT - 4)).toFixed(1)}`;
  return `M${shown.map(place).join(' L')}`;
}

function start(readings: readonly Reading[], span: number): string {
  const end = readings[readings.length - 1]?.at ?? 0;
  const first = readings.find(reading => end - reading.at <= span);
  return first ? x(end, first.at, span) : '0';
}

function x(end: number, at: number, span: number): string {
  return (WIDTH - ((end - at) / span) * WIDTH).toFixed(1);
}
