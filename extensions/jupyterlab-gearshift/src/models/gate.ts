/** Cells that are run during a switch wait here: what is sent to a machine that is being left would be lost. */

export class Gate {
  get isClosed(): boolean {
    return this._closed !== null;
  }

  /** Resolves at once while the gate is open, else when it opens. */
  passed(): Promise<void> {
    return this._closed?.promise ?? Promise.resolve();
  }

  close(): void {
    if (!this._closed) {
      let open = (): void => undefined;
      const promise = new Promise<void>(resolve => (open = resolve));
      this._closed = { promise, open };
    }
  }

  open(): void {
    this._closed?.open();
    this._closed = null;
  }

  private _closed: { promise: Promise<void>; open: () => void } | null = null;
}
