/** What a plan says of the variables of all kernels: grouped by verdict, what is chosen of them, what would be lost. */

import type { KernelPlan, SwitchFigures, Variable, Verdict } from '../api/answers.js';

export interface Row extends Variable {
  key: string;
  kernel: string;
  path: string;
  kind: Verdict;
}

/** Names by kernel, as control takes and gives them. */
export type Chosen = Readonly<Record<string, readonly string[]>>;

/** The verdicts as the server names them, in the four that people are shown. */
export function verdictOf(variable: { verdict: string }): Verdict {
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
  return rows.filter(row => row.lost);
}

export function isChosen(chosen: Chosen, row: Pick<Row, 'kernel' | 'name'>): boolean {
  return chosen[row.kernel]?.includes(row.name) ?? false;
}

/** The same choice with this variable in it, or without it. */
export function toggled(chosen: Chosen, row: Pick<Row, 'kernel' | 'name'>): Chosen {
  const names = chosen[row.kernel] ?? [];
  const next = names.includes(row.name) ? names.filter(name => name !== row.name) : [...names, row.name];
  const others = Object.entries(chosen).filter(([kernel]) => kernel !== row.kernel);
  return Object.fromEntries(next.length ? [...others, [row.kernel, next]] : others);
}

/** A plan in which a kernel that is busy, and so could not be read, stands as it was read last. */
export function asLastRead(figures: SwitchFigures, last: SwitchFigures | null): SwitchFigures {
  const read = (kernel: KernelPlan): KernelPlan =>
    (kernel.busy && last?.kernels.find(other => other.kernel_id === kernel.kernel_id)) || kernel;
  return { ...figures, kernels: figures.kernels.map(read) };
}

/** What is different between two plans: `price`, or the names of variables that came, went or changed. */
export function changesOf(before: SwitchFigures, after: SwitchFigures): { price: boolean; names: string[] } {
  const price = before.price_before_nano !== after.price_before_nano || before.price_after_nano !== after.price_after_nano;
  const facts = (figures: SwitchFigures): Map<string, [string, string]> =>
    new Map(rowsOf(figures.kernels).map(row => [row.key, [row.name, `${row.type} ${row.verdict} ${row.bytes}`]]));
  const [was, is] = [facts(before), facts(after)];
  const names = new Set<string>();
  for (const [one, other] of [
    [was, is],
    [is, was]
  ] as const) {
    one.forEach(([name, fact], key) => other.get(key)?.[1] !== fact && names.add(name));
  }
  return { price, names: [...names].sort() };
}
