/** What is read out of an operation's journal: where it goes, where it came from, what it moved. */

import type { ErrorBody } from '../api/errors.js';
import type { Operation, Step } from '../api/records.js';
import { verdictOf } from './variables.js';

export function isSwitch(op: Operation): boolean {
  return op.kind === 'switch' || op.kind === 'resize';
}

/** The machine that a start or switch goes to. */
export function machineOf(op: Operation): string | null {
  if (op.to_machine) {
    return op.to_machine;
  }
  for (const step of op.steps) {
    const machine = step.note?.['machine'];
    if (typeof machine === 'string') {
      return machine;
    }
  }
  const result = op.result?.['machine'];
  return typeof result === 'string' ? result : null;
}

/** The machine that the workspace was on before: as the plan said, else where the last start or switch before went. */
export function cameFrom(op: Operation, operations: readonly Operation[]): string | null {
  if (op.from_machine) {
    return op.from_machine;
  }
  const before = operations
    .filter(other => other.id !== op.id && other.state === 'done' && other.created_at < op.created_at)
    .filter(other => isSwitch(other) || other.kind === 'start')
    .sort((a, b) => b.created_at.localeCompare(a.created_at))[0];
  return before ? machineOf(before) : null;
}

export function secondsOf(step: Step, now: number): number | null {
  if (!step.started_at) {
    return null;
  }
  const end = step.ended_at ? Date.parse(step.ended_at) : now;
  return Math.max(0, (end - Date.parse(step.started_at)) / 1000);
}

export function tookSeconds(op: Operation, now: number): number {
  const end = op.ended_at ? Date.parse(op.ended_at) : now;
  return Math.max(0, (end - Date.parse(op.created_at)) / 1000);
}

/** What the plan said that it takes; null where there was no plan. */
export function expectedSeconds(op: Operation): number | null {
  const steps = Object.values(op.expected ?? {});
  return steps.length ? steps.reduce((sum, one) => sum + one, 0) : null;
}

/** For how long the save waited for a cell to end: no plan can know that. */
export function waitedSeconds(op: Operation): number {
  const saved = op.result?.['saved'] as { waited_seconds?: unknown } | null | undefined;
  return typeof saved?.waited_seconds === 'number' ? saved.waited_seconds : 0;
}

/** For how long the kernel could not run: from the pause to the end of the restore. */
export function pausedSeconds(op: Operation): number | null {
  const stop = op.steps.find(step => step.name === 'stop')?.started_at;
  const restored = op.steps.find(step => step.name === 'restore')?.ended_at;
  return stop && restored ? (Date.parse(restored) - Date.parse(stop)) / 1000 : null;
}

/** Going back is possible until the check of a switch has begun. */
export function canGoBack(op: Operation): boolean {
  const open = op.kind === 'resize' ? ['reserve'] : ['reserve', 'save', 'stop', 'start', 'restore'];
  return isSwitch(op) && op.state === 'running' && op.direction === 'forward' && open.includes(op.step ?? '');
}

export type Outcome = 'copied' | 'rebuilt' | 'not_rebuilt' | 'left_out' | 'lost';

export interface MovedVariable {
  name: string;
  bytes: number | null;
  verdict: string;
  /** What became of it; only what arrived has one. */
  outcome?: Outcome | null;
  why: string | null;
  why_zh: string | null;
  way_back: string | null;
  way_back_zh: string | null;
  cells: number[];
  seconds?: number | null;
}

/** As the load says; a save alone, or an older report, knows only the verdict. */
export function outcomeOf(variable: MovedVariable): Outcome {
  const kinds = { copy: 'copied', rerun: 'lost', left_out: 'left_out', cannot: 'lost' } as const;
  return variable.outcome ?? kinds[verdictOf(variable)];
}

export interface KernelReport {
  path: string;
  variables: MovedVariable[];
  bytes: number;
  notes: { text: string; text_zh: string }[];
  error: { code: string; text: string } | null;
}

interface Restored {
  ok?: boolean;
  state?: string;
  error?: ErrorBody;
}

/** What a start says of the state it brought back; null where there was none to bring back. */
export function restoredBy(op: Operation): Restored | null {
  return op.kind === 'start' ? ((op.result?.['restored'] as Restored | undefined) ?? null) : null;
}

/** The reports of all kernels of a switch, as restored, else as saved; tolerant of what is not there. */
export function reportsOf(op: Operation): KernelReport[] {
  const result = op.result ?? {};
  for (const key of ['restored', 'saved']) {
    const kernels = kernelsIn(result[key]);
    if (kernels.length) {
      return kernels;
    }
  }
  return [];
}

function kernelsIn(report: unknown): KernelReport[] {
  const kernels = (report as { kernels?: unknown } | null | undefined)?.kernels;
  if (!Array.isArray(kernels)) {
    return [];
  }
  return (kernels as Record<string, unknown>[]).map(kernel => {
    const inner = ((kernel['report'] ?? kernel) as Record<string, unknown>) ?? {};
    return {
      path: typeof kernel['path'] === 'string' ? kernel['path'] : '',
      variables: (inner['variables'] as MovedVariable[] | undefined) ?? [],
      bytes: typeof inner['bytes'] === 'number' ? inner['bytes'] : 0,
      notes: (inner['notes'] as KernelReport['notes'] | undefined) ?? [],
      error: (kernel['error'] as KernelReport['error'] | undefined) ?? null
    };
  });
}
