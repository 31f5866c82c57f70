/** What a plan says of the variables of all kernels: grouped by verdict, with what would be lost. */

import type { KernelPlan, Variable, Verdict } from '../api/answers.js';

export interface Row extends Variable {
  key: string;
  kernel: string;
  path: string;
  kind: Verdict;
}

/** The verdicts as the server names them, in the four that people are shown. */
export function verdictOf(variable: Variable): Verdict {
  const verdict = variable.verdict.replace(/[-_ ]/g, '');
  if (verdict.startsWith('copy') || verdict.startsWith('saved')) {
    return 'copy';
  }
  if (verdict.startsWith('re')) {
    return 'rerun';
  }
  return verdict.startsWith('left') ? 'left_out' : 'cannot';
}

const ORDER: Record<Verdict, number> = { copy: 0, left_out: 1, rerun: 2, cannot: 3 };

/** All variables of all kernels: copies first, the largest first. */
export function rowsOf(kernels: readonly KernelPlan[]): Row[] {
  return kernels
    .flatMap(kernel =>
      kernel.variables.map(variable => ({
        ...variable,
        key: `${kernel.kernel_id}:${variable.name}`,
        kernel: kernel.kernel_id,
        path: kernel.path,
        kind: verdictOf(variable)
      }))
    )
    .sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || (b.bytes ?? 0) - (a.bytes ?? 0) || a.name.localeCompare(b.name));
}

export function totalBytes(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
}

/** What no cell can rebuild: its loss must be agreed to. */
export function lostOf(rows: readonly Row[]): Row[] {
  return rows.filter(row => row.kind === 'cannot' && !row.rebuild);
}
