/** What is read out of an operation's journal: where it goes, where it came from, what it moved. */

import type { Operation, Step } from '../api/records.js';

export function isSwitch(op: Operation): boolean {
  return op.kind === 'switch' || op.kind === 'resize';
}

/** The machine that a start or switch reserved. */
export function machineOf(op: Operation): string | null {
  for (const step of op.steps) {
    const machine = step.note?.['machine'];
    if (typeof machine === 'string') {
      return machine;
    }
  }
  const result = op.result?.['machine'];
  return typeof result === 'string' ? result : null;
}

/** The machine that the workspace was on before: that of the last start or switch that was done before this one. */
export function cameFrom(op: Operation, operations: readonly Operation[]): string | null {
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

export interface MovedVariable {
  name: string;
  bytes: number | null;
  verdict: string;
  why: string | null;
  why_zh: string | null;
  rebuild: string | null;
  rebuild_zh: string | null;
  cells: number[];
}

export interface KernelReport {
  path: string;
  variables: MovedVariable[];
  bytes: number;
  notes: { text: string; text_zh: string }[];
  error: { code: string; text: string } | null;
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
