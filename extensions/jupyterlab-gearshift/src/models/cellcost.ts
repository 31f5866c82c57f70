/** What a cell cost: when it ran, what the server charged for that time, and how that is kept in its metadata. */

import type { Client } from '../api/client.js';
import { asApiError } from '../api/errors.js';
import type { SpanCost } from '../api/answers.js';
import type { Gate } from './gate.js';

/** The key of a cell's metadata. */
export const KEPT = 'gearshift';
export const TIMING = 'execution';
const HOUR_S = 3600;
const LEAST_S = 0.05;
const AGAIN_MS = [1_000, 5_000, 20_000];

export interface Span {
  from: string;
  /** Null while it runs, and where its kernel ended under it. */
  to: string | null;
}

/** As much of a cell's model as is needed. */
export interface Cell {
  readonly isDisposed: boolean;
  getMetadata(key: string): unknown;
  setMetadata(key: string, value: unknown): void;
  deleteMetadata(key: string): void;
}

/** By the kernel's own clock, as its messages say. What is older than the begin is of an earlier run. */
export function spanOf(cell: Cell): Span | null {
  const times = (cell.getMetadata(TIMING) ?? {}) as Record<string, unknown>;
  const at = (name: string): string | null => {
    const found = times[name];
    return typeof found === 'string' && !Number.isNaN(Date.parse(found)) ? found : null;
  };
  const from = at('iopub.execute_input') ?? at('shell.execute_reply.started');
  const to = at('shell.execute_reply') ?? at('iopub.status.idle');
  return from === null ? null : { from, to: to && Date.parse(to) >= Date.parse(from) ? to : null };
}

/** What is kept in a cell; null for rubbish, since a notebook may come from anywhere. */
export function keptIn(cell: Cell): SpanCost | null {
  const found = cell.getMetadata(KEPT) as Partial<SpanCost> | null | undefined;
  const isWhole =
    typeof found === 'object' && [found?.seconds, found?.amount_nano].every(isFigure) && Array.isArray(found?.on);
  const isPriced = typeof found?.currency_symbol === 'string';
  return isWhole && isPriced && found.on!.length > 0 && found.on!.every(isPart) ? (found as SpanCost) : null;
}

function isPart(part: Partial<SpanCost['on'][number]> | null): boolean {
  const title = part?.title;
  const isTitled = title === null || (typeof title?.en === 'string' && typeof title.zh === 'string');
  return typeof part?.machine === 'string' && isTitled && [part.seconds, part.amount_nano, part.price_per_hour_nano].every(isFigure);
}

function isFigure(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/** What would be written as 0.0 s has no line. */
export function isTold({ seconds }: SpanCost): boolean {
  return seconds >= LEAST_S;
}

/** What it comes to `seconds` later, when it is still on the same machine. */
export function grown(cost: SpanCost, seconds: number): SpanCost {
  const last = cost.on[cost.on.length - 1]!;
  const more = Math.round((last.price_per_hour_nano * seconds) / HOUR_S);
  const part = { ...last, seconds: last.seconds + seconds, amount_nano: last.amount_nano + more };
  const total = { seconds: cost.seconds + seconds, amount_nano: cost.amount_nano + more };
  return { ...cost, ...total, on: [...cost.on.slice(0, -1), part] };
}

/** Asks for one cell after the other, so that a notebook that is run as a whole does not flood the server. */
export class CellCosts {
  constructor(
    private readonly _client: Pick<Client, 'cost'>,
    private readonly _gate: Pick<Gate, 'passed'>,
    private readonly _wait: (ms: number) => Promise<void> = ms => new Promise(resolve => setTimeout(resolve, ms))
  ) {}

  /** It is to be run: what is kept is of an earlier run. */
  begins(cell: Cell): void {
    cell.deleteMetadata(KEPT);
    cell.deleteMetadata(TIMING);
  }

  /** It has ended. Resolves when its cost is kept, or cannot be. */
  ended(cell: Cell): Promise<void> {
    const span = cell.isDisposed ? null : spanOf(cell);
    if (span) {
      this._last = this._last.then(() => this._keep(cell, span));
    }
    return this._last;
  }

  private async _keep(cell: Cell, span: Span): Promise<void> {
    const cost = await this._ask(span);
    if (cost?.on.length && !cell.isDisposed && spanOf(cell)?.from === span.from) {
      cell.setMetadata(KEPT, cost);
    }
  }

  /** The ledger knows it later too: an answer that does not come now, as during a switch, is asked for again. */
  private async _ask({ from, to }: Span): Promise<SpanCost | null> {
    for (const ms of AGAIN_MS) {
      await this._gate.passed();
      try {
        return await this._client.cost(from, to);
      } catch (reason) {
        if (asApiError(reason).code !== 'control_unavailable') {
          return null;
        }
        await this._wait(ms);
      }
    }
    return null;
  }

  private _last: Promise<void> = Promise.resolve();
}
