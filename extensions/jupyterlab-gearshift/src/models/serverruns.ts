/** Cells are run by the server: sent in the order in which they were asked for, over when the document says so. */

import type { CodeCell } from '@jupyterlab/cells';

export interface Order {
  kernel: string;
  document: string;
  id: string;
  code: string;
}

/** Sends orders of one kernel and document together. */
export type Send = (kernel: string, document: string, cells: { id: string; code: string }[]) => Promise<unknown>;

export class ServerRuns {
  constructor(private readonly _send: Send) {}

  /** Resolves once the server has taken it. What is asked for while a request is out goes with the next one. */
  order(order: Order): Promise<unknown> {
    const waits = this._waiting.length > 0;
    this._waiting.push(order);
    if (!waits) {
      const before = this._sent;
      this._sent = before.catch(() => undefined).then(() => this._sendAll());
    }
    return this._sent;
  }

  private async _sendAll(): Promise<void> {
    const orders = this._waiting.splice(0);
    for (let first = orders[0]; first; first = orders[0]) {
      const { kernel, document } = first;
      const other = orders.findIndex(one => one.kernel !== kernel || one.document !== document);
      const together = orders.splice(0, other < 0 ? orders.length : other);
      await this._send(
        kernel,
        document,
        together.map(({ id, code }) => ({ id, code }))
      );
    }
  }

  private readonly _waiting: Order[] = [];
  private _sent: Promise<unknown> = Promise.resolve();
}

/** Resolves when the cell has ended, or is gone from this page: true when it ended well. Listens from the call on. */
export function ended(cell: CodeCell): { promise: Promise<boolean>; give_up: () => void } {
  const { model } = cell;
  let resolve = (_: boolean): void => undefined;
  const promise = new Promise<boolean>(done => (resolve = done));
  const look = (_: unknown, change: { name: string; newValue: unknown }): void => {
    if (change.name === 'executionState' && change.newValue === 'idle') {
      over(model.executionCount !== null && !hasError(cell));
    }
  };
  const gone = (): void => over(false);
  const over = (success: boolean): void => {
    model.stateChanged.disconnect(look);
    cell.disposed.disconnect(gone);
    // After the rest of the same change: the count is written with the state.
    queueMicrotask(() => resolve(success));
  };
  model.stateChanged.connect(look);
  cell.disposed.connect(gone);
  return { promise, give_up: gone };
}

function hasError(cell: CodeCell): boolean {
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, n) => outputs.get(n)).some(one => one.type === 'error');
}
