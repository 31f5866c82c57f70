/** A line of a metric over the steps, with the same figures as a table on demand. */

import * as React from 'react';

import type { MetricPoint } from '../../api/answers.js';
import { count, metric } from '../../models/format.js';
import { numeric } from '../../models/progress.js';
import { useGearshift } from '../context.js';
import { Link } from '../parts.js';

const BOX = { left: 52, right: 434, top: 8, bottom: 130 };
const TABLE_ROWS = 100;

export function Chart(props: { name: string; points: readonly MetricPoint[]; steps: number | null; tone: 1 | 2 | 3 }): React.ReactElement | null {
  const { words } = useGearshift();
  const [table, setTable] = React.useState(false);
  const { name, steps, tone } = props;
  const points = React.useMemo(
    () =>
      props.points
        .map(point => [point.step, numeric(point[name])] as const)
        .filter((pair): pair is readonly [number, number] => pair[1] !== null),
    [props.points, name]
  );
  const last = points[points.length - 1];
  if (!last) {
    return null;
  }
  return (
    <div>
      <div className="gs-row base gs-small" style={{ marginBottom: 2 }}>
        <span className="gs-muted">{name}</span>
        <Link className="gs-small" aria-pressed={table} onClick={() => setTable(!table)}>
          {table ? words.t('Show as chart') : words.t('Show as table')}
        </Link>
        <span className="gs-spring" />
        <span className="gs-num gs-strong">{metric(last[1])}</span>
      </div>
      {table ? <Table name={name} points={points} /> : <Plot name={name} points={points} steps={steps} tone={tone} />}
    </div>
  );
}

function Table({ name, points }: { name: string; points: (readonly [number, number])[] }): React.ReactElement {
  const { words } = useGearshift();
  const every = Math.ceil(points.length / TABLE_ROWS);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region is reached by the keyboard
    <div className="chart-table gs-card" tabIndex={0} role="region" aria-label={name}>
      <table className="gs-table dense">
        <thead>
          <tr>
            <th scope="col">{words.t('Step')}</th>
            <th scope="col" className="gs-r">
              {name}
            </th>
          </tr>
        </thead>
        <tbody>
          {points
            .filter((_, at) => at % every === 0 || at === points.length - 1)
            .map(([step, value]) => (
              <tr key={step}>
                <td>{count(step)}</td>
                <td className="gs-r">{metric(value)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

function Plot(props: { name: string; points: (readonly [number, number])[]; steps: number | null; tone: 1 | 2 | 3 }): React.ReactElement {
  const { points, tone } = props;
  const { x, y, xTicks, yTicks } = scales(points, props.steps);
  const line = points.map(([step, value]) => `${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join(' L');
  const last = points[points.length - 1];
  return (
    <svg className="gs-chart" viewBox="0 0 440 150" role="img" aria-label={`${props.name}: ${last ? metric(last[1]) : ''}`}>
      {yTicks.map(value => (
        <g key={value}>
          <line className="grid" x1={BOX.left} x2={BOX.right} y1={y(value)} y2={y(value)} />
          <text x={BOX.left - 6} y={y(value) + 4} textAnchor="end">
            {metric(Number(value.toPrecision(3)))}
          </text>
        </g>
      ))}
      <line className="axis" x1={BOX.left} x2={BOX.right} y1={BOX.bottom} y2={BOX.bottom} />
      {xTicks.map(step => (
        <text key={step} x={x(step)} y={BOX.bottom + 14} textAnchor={step === xTicks[xTicks.length - 1] ? 'end' : 'middle'}>
          {count(step)}
        </text>
      ))}
      <path className={`line s${tone}`} d={`M${line}`} />
      {last && <circle className={`c${tone}`} cx={x(last[0])} cy={y(last[1])} r="3" />}
    </svg>
  );
}

function scales(points: (readonly [number, number])[], steps: number | null): {
  x: (step: number) => number;
  y: (value: number) => number;
  xTicks: number[];
  yTicks: number[];
} {
  const values = points.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = high - low || Math.abs(high) || 1;
  const [bottom, top] = [low - room * 0.05, high + room * 0.05];
  const end = Math.max(steps ?? 0, points[points.length - 1]?.[0] ?? 1, 1);
  const start = Math.min(points[0]?.[0] ?? 0, 0);
  const across = (step: number): number => BOX.left + ((step - start) / (end - start || 1)) * (BOX.right - BOX.left);
  const up = (value: number): number => BOX.bottom - ((value - bottom) / (top - bottom)) * (BOX.bottom - BOX.top);
  const fifths = [0, 1, 2, 3, 4].map(n => Math.round(start + ((end - start) * n) / 4));
  return { x: across, y: up, xTicks: [...new Set(fifths)], yTicks: [low, (low + high) / 2, high].filter((v, i, all) => all.indexOf(v) === i) };
}
