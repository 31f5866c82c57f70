/** The use of the machine over the last ten minutes, read only while somebody looks. */

import { Signal, type ISignal } from '@lumino/signaling';

import type { Metrics } from '../api/answers.js';
import type { Store } from './store.js';

const KEPT_MS = 10 * 60_000;
const QUIET_FACTOR = 5; // how much slower when only the status item shows

export interface Reading {
  at: number;
  /** GPU use where there is one, else CPU use; per cent. */
  percent: number;
}

/** What is shown first of a machine's use: its GPUs' mean where it has some, else its CPU. */
export function percentInUse(metrics: Metrics | null): number | null {
  const known = (metrics?.gpus ?? []).map(gpu => gpu.percent).filter((p): p is number => p !== null);
  if (known.length) {
    return known.reduce((sum, p) => sum + p, 0) / known.length;
  }
  return metrics?.cpu_percent ?? null;
}

export class Meters {
  constructor(
    private readonly _store: Store,
    private _seconds: number
  ) {}

  get readings(): readonly Reading[] {
    return this._readings;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  start(): void {
    document.addEventListener('visibilitychange', this._visible);
    this._tick();
  }

  setSeconds(seconds: number): void {
    this._seconds = seconds;
  }

  /** A view with meters came on screen; call what is returned when it goes. */
  watch(): () => void {
    this._watchers += 1;
    if (this._watchers === 1) {
      this._restart();
    }
    return () => {
      this._watchers -= 1;
    };
  }

  /** The machine is another one: its use begins anew. */
  reset(): void {
    this._readings = [];
    this._changed.emit();
  }

  dispose(): void {
    clearTimeout(this._timer);
    document.removeEventListener('visibilitychange', this._visible);
    Signal.clearData(this);
  }

  private readonly _visible = (): void => {
    if (!document.hidden) {
      this._restart();
    }
  };

  private _restart(): void {
    clearTimeout(this._timer);
    this._tick();
  }

  private _tick(): void {
    const next = this._seconds * 1000 * (this._watchers > 0 ? 1 : QUIET_FACTOR);
    this._timer = setTimeout(() => this._tick(), next);
    const { contact, machine } = this._store.state;
    const here = machine.value === null || machine.value.state === 'ready';
    if (!document.hidden && here && contact.state !== 'offline' && !this._store.running) {
      void this._store.load('metrics').then(() => this._take());
    }
  }

  private _take(): void {
    const { value, at } = this._store.state.metrics;
    const percent = percentInUse(value);
    if (percent !== null && at !== null && at !== this._readings[this._readings.length - 1]?.at) {
      this._readings = [...this._readings.filter(r => at - r.at < KEPT_MS), { at, percent }];
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private _readings: Reading[] = [];
  private _watchers = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
