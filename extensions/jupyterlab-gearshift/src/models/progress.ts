/** How far a job is, from the last metrics that it reported. */

import type { Job } from '../api/records.js';

export interface Progress {
  step: number;
  steps: number | null;
  percent: number | null;
}

const NOT_CHARTED = new Set(['step', 'steps', 'total_steps', 'at', 'time', 't', 'rank', 'epoch', 'job', 'seq', 'attempt']);

export function progressOf(job: Job): Progress | null {
  const last = job.metrics_last ?? {};
  const step = numeric(last['step']);
  if (step === null) {
    return null;
  }
  const steps = numeric(last['steps'] ?? last['total_steps']);
  return { step, steps, percent: steps ? Math.min(100, (step / steps) * 100) : null };
}

/** The metrics by name, loss first; what is only bookkeeping is left out. */
export function figuresOf(metrics: Record<string, unknown> | null | undefined): [string, number][] {
  return Object.entries(metrics ?? {})
    .map(([name, value]): [string, number | null] => [name, numeric(value)])
    .filter((pair): pair is [string, number] => pair[1] !== null && !NOT_CHARTED.has(pair[0]))
    .sort(([a], [b]) => Number(b === 'loss') - Number(a === 'loss'));
}

export function numeric(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
