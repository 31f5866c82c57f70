/** Events of memory as the server keeps them: each is told once in this page, and is gone for all when it was read. */

import { Signal, type ISignal } from '@lumino/signaling';

import type { CatalogMachine, Incident, Memory } from '../api/answers.js';
import type { IGearshift } from '../tokens.js';
import type { ServerEvent } from './sse.js';

/** A kernel ended: said in its notebook. The others are said in a notification. */
export function isEnd({ code }: Incident): boolean {
  return code.startsWith('kernel_');
}

/** Whether more memory would have helped. */
export function isOverMemory({ code }: Incident): boolean {
  return code === 'kernel_oom' || code.startsWith('memory_');
}

/** The cheapest machine with more memory: of the same chip where there is one, since a change to that stops nothing. */
export function largerThan(machines: readonly CatalogMachine[], id: string | undefined): string | undefined {
  const here = machines.find(machine => machine.id === id);
  if (!here) {
    return undefined;
  }
  const same = (one: CatalogMachine): number => (JSON.stringify(one.chip) === JSON.stringify(here.chip) ? 0 : 1);
  return machines
    .filter(one => one.memory_bytes > here.memory_bytes && one.free > 0 && one.fits !== false)
    .sort((a, b) => same(a) - same(b) || a.price_per_hour_nano - b.price_per_hour_nano)[0]?.id;
}

/** A notice as control's events carry it. */
interface NoticeOfMemory extends Partial<Pick<Incident, 'code' | 'kernel_id' | 'path' | 'facts' | 'at'>> {
  text: string;
  incident?: string;
  en: string;
  zh: string;
}

/** The event of memory that a notice is about; null for a notice of another kind. */
export function incidentOf(notice: NoticeOfMemory): Incident | null {
  const { text, incident, code, en, zh } = notice;
  if (text !== 'memory' || !incident || !code) {
    return null;
  }
  const { kernel_id = null, path = '', facts = {}, at = '' } = notice;
  return { id: incident, code, message: en, message_zh: zh, kernel_id, path, facts, at, seen: false };
}

export class MemoryEvents {
  constructor(private readonly _gearshift: IGearshift) {
    _gearshift.store.changed.connect(this._changed);
    _gearshift.events.event.connect(this._heard);
  }

  /** An event that this page has not told yet. */
  get told(): ISignal<this, Incident> {
    return this._told;
  }

  get interrupt(): boolean {
    return this._memory?.interrupt ?? false;
  }

  /** The ends of kernels that nobody has read yet. */
  get unread(): Incident[] {
    return (this._memory?.incidents ?? []).filter(one => isEnd(one) && !one.seen);
  }

  async read(): Promise<void> {
    try {
      this._take(await this._gearshift.client.memory());
    } catch {
      this._newest = undefined; // our server is away: the next reading of the meters asks again
    }
  }

  async choose(interrupt: boolean): Promise<void> {
    this._take(await this._gearshift.client.interruptBeforeLimit(interrupt));
  }

  async seen(ids: string[]): Promise<void> {
    this._take(await this._gearshift.client.memorySeen(ids));
  }

  dispose(): void {
    this._gearshift.store.changed.disconnect(this._changed);
    this._gearshift.events.event.disconnect(this._heard);
    Signal.clearData(this);
  }

  private _take(memory: Memory): void {
    this._memory = memory;
    this._newest = memory.incidents[memory.incidents.length - 1]?.id ?? null;
    memory.incidents.filter(one => !one.seen).forEach(one => this._tell(one));
  }

  private _tell(incident: Incident): void {
    if (!this._known.has(incident.id)) {
      this._known.add(incident.id);
      this._told.emit(incident);
    }
  }

  /** Control tells it as well, so that it is heard when our server is away. */
  private readonly _heard = (_: unknown, { kind, data }: ServerEvent): void => {
    const incident = kind === 'notice' ? incidentOf(data as NoticeOfMemory) : null;
    if (incident) {
      this._tell(incident);
    }
  };

  private readonly _changed = (): void => {
    const newest = this._gearshift.store.state.metrics.value?.incident;
    if (newest !== undefined && newest !== this._newest) {
      this._newest = newest;
      void this.read();
    }
  };

  private readonly _told = new Signal<this, Incident>(this);
  private readonly _known = new Set<string>();
  private _memory: Memory | null = null;
  private _newest: string | null | undefined = null;
}
