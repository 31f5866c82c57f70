/** What the page knows: one state, filled by requests and by the one event stream; views read slices of it. */

import { Signal, type ISignal } from '@lumino/signaling';

import type { Catalog, Costs, Idle, Me, Metrics } from '../api/answers.js';
import type { Client } from '../api/client.js';
import { asApiError, type ApiError } from '../api/errors.js';
import type { DatasetStatus, Disk, Job, Operation, Wait, Workspace } from '../api/records.js';
import { EMPTY, arrived, refused, waiting, type Loaded } from './loaded.js';
import type { Contact } from './shared.js';
import type { ServerEvent } from './sse.js';

export interface Parts {
  me: Me;
  machine: Workspace;
  catalog: Catalog;
  metrics: Metrics;
  disks: Disk[];
  datasets: DatasetStatus[];
  jobs: Job[];
  costs: Costs;
  idle: Idle;
  /** What its person waits for, in all workspaces, newest first. */
  waits: Wait[];
  /** The operations of this workspace, newest first. */
  operations: Operation[];
}

export type Part = keyof Parts;

export type State = { readonly [P in Part]: Loaded<Parts[P]> } & { readonly contact: Contact };

/** Which parts an event makes old. `operation.*` and `job.*` carry their record and are applied as they come. */
const TOUCHED: ReadonlyArray<[RegExp, Part[]]> = [
  [/^workspace\./, ['me']],
  [/^operation\.(done|failed)/, ['machine', 'operations', 'me', 'costs', 'catalog', 'idle', 'disks']],
  [/^inventory/, ['catalog']],
  [/^disk\./, ['disks']],
  [/^dataset\./, ['datasets']],
  [/^job\.state/, ['me']],
  [/^wait\./, ['waits']],
  [/^balance/, ['costs']]
];

const GATHER_MS = 100; // events that come together make one request

export class Store {
  constructor(
    private readonly _client: Client,
    private readonly _now: () => number = Date.now
  ) {
    const loads: { [P in Part]: () => Promise<Parts[P]> } = {
      me: () => _client.me(),
      machine: () => _client.machine(),
      catalog: () => _client.catalog(),
      metrics: () => _client.metrics(),
      disks: () => _client.disks(),
      datasets: () => _client.datasets(),
      jobs: () => _client.jobs(),
      costs: () => _client.costs(),
      idle: () => _client.idle(),
      waits: () => _client.waits(),
      operations: () => _client.operations()
    };
    this._loads = loads;
  }

  get state(): State {
    return this._state;
  }

  get changed(): ISignal<this, State> {
    return this._changed;
  }

  /** The operation at work on this workspace, if one is. */
  get running(): Operation | null {
    return this._state.operations.value?.find(op => op.state === 'running') ?? null;
  }

  /** Fetch a part; one request at a time. What was asked or told meanwhile is newer than the answer: once more. */
  async load<P extends Part>(part: P): Promise<void> {
    if (this._busy.has(part)) {
      this._again.add(part);
      return;
    }
    this._busy.add(part);
    this._set(part, waiting(this._state[part] as Loaded<Parts[P]>, this._now()));
    try {
      const value = await this._loads[part]();
      if (!this._told.has(part)) {
        this._set(part, arrived(value, this._now()));
      }
      this._wanted.add(part);
    } catch (reason) {
      this._refuse(part, asApiError(reason));
    } finally {
      this._busy.delete(part);
    }
    if (this._told.delete(part) || this._again.has(part)) {
      this._again.delete(part);
      await this.load(part);
    }
  }

  loadAll(parts: readonly Part[]): Promise<unknown> {
    return Promise.all(parts.map(part => this.load(part)));
  }

  contact(contact: Contact): void {
    this._state = { ...this._state, contact };
    this._changed.emit(this._state);
  }

  /** Take in an event: records it carries at once, other parts by asking again. */
  apply(event: ServerEvent): void {
    this._take(event);
    for (const [kinds, parts] of TOUCHED) {
      if (kinds.test(event.kind)) {
        parts.filter(part => this._wanted.has(part)).forEach(part => this._soon.add(part));
      }
    }
    if (this._soon.size && this._gather === undefined) {
      this._gather = setTimeout(() => this._flush(), GATHER_MS);
    }
  }

  /** An operation as it stands now; an older word about it is passed over. */
  operation(operation: Operation): void {
    if (operation.workspace && operation.workspace !== this._client.workspace) {
      return;
    }
    const held = this._state.operations.value ?? [];
    const known = held.find(op => op.id === operation.id);
    if (known && known.state !== 'running' && operation.state === 'running') {
      return;
    }
    const others = held.filter(op => op.id !== operation.id);
    const newestFirst = [operation, ...others].sort((a, b) => b.created_at.localeCompare(a.created_at));
    this._tell('operations', newestFirst);
  }

  dispose(): void {
    clearTimeout(this._gather);
    Signal.clearData(this);
  }

  /** What an event carries is shown at once: our own server may be away while it comes. */
  private _take({ kind, data }: ServerEvent): void {
    const { me, catalog, jobs } = this._state;
    const told = (data ?? {}) as Record<string, unknown>;
    const job = recordIn<Job>(data, 'job', 'spec');
    if (kind.startsWith('operation.') && Array.isArray(told['steps'])) {
      this.operation(data as Operation);
    } else if (kind === 'workspace.state' && `${String(told['owner'])}/${String(told['name'])}` === this._client.workspace) {
      this._tell('machine', data as Workspace);
    } else if (kind === 'idle') {
      this._tell('idle', data as Idle);
    } else if (kind === 'balance' && typeof told['balance_nano'] === 'number') {
      this._tell('me', me.value && { ...me.value, balance_nano: told['balance_nano'] });
    } else if (kind === 'inventory') {
      this._tell('catalog', catalog.value && stocked(catalog.value, told['machines']));
    } else if (kind === 'job.state' && job) {
      this._tell('jobs', jobs.value && [job, ...jobs.value.filter(other => other.id !== job.id)]);
    } else if (kind === 'job.metrics' && jobs.value) {
      const metrics_last = told['metrics_last'] as Job['metrics_last'];
      const heard = jobs.value.map(one => (one.id === told['job'] ? { ...one, metrics_last } : one));
      this._set('jobs', arrived(heard, this._now())); // the next figures put an older answer right
    }
  }

  private _flush(): void {
    this._gather = undefined;
    const parts = [...this._soon];
    this._soon.clear();
    void this.loadAll(parts);
  }

  /** While a switch has taken our server away, what is on screen stays; it is asked for again afterwards. */
  private _refuse<P extends Part>(part: P, error: ApiError): void {
    const held = this._state[part] as Loaded<Parts[P]>;
    const away = error.code === 'control_unavailable' && this.running !== null && held.value !== null;
    if (!away) {
      this._set(part, refused(held, error));
    }
  }

  /** A word that came by an event or with an answer to somebody's press: an answer on its way here is older. */
  private _tell<P extends Part>(part: P, value: Parts[P] | null): void {
    if (this._busy.has(part)) {
      this._told.add(part);
    }
    if (value !== null) {
      this._set(part, arrived<Parts[P]>(value, this._now()));
    }
  }

  private _set<P extends Part>(part: P, value: Loaded<Parts[P]>): void {
    if (this._state[part] !== value) {
      this._state = { ...this._state, [part]: value };
      this._changed.emit(this._state);
    }
  }

  private readonly _loads: { [P in Part]: () => Promise<Parts[P]> };
  private readonly _changed = new Signal<this, State>(this);
  private readonly _busy = new Set<Part>();
  private readonly _again = new Set<Part>();
  private readonly _told = new Set<Part>();
  private readonly _wanted = new Set<Part>(['machine', 'operations', 'me']);
  private readonly _soon = new Set<Part>();
  private _gather: ReturnType<typeof setTimeout> | undefined;
  private _state: State = {
    me: EMPTY,
    machine: EMPTY,
    catalog: EMPTY,
    metrics: EMPTY,
    disks: EMPTY,
    datasets: EMPTY,
    jobs: EMPTY,
    costs: EMPTY,
    idle: EMPTY,
    waits: EMPTY,
    operations: EMPTY,
    contact: { state: 'connecting' }
  };
}

/** The catalog with the free counts that an `inventory` event tells. */
function stocked(catalog: Catalog, told: unknown): Catalog {
  const counts = (told ?? {}) as Record<string, { free: number; total: number } | undefined>;
  return { ...catalog, machines: catalog.machines.map(machine => ({ ...machine, ...counts[machine.id] })) };
}

/** The record that an event carries, under its name or as the data itself; known by a field that only it has. */
export function recordIn<T>(data: unknown, name: string, mark: string): T | null {
  const outer = (data ?? {}) as Record<string, unknown>;
  for (const candidate of [outer[name], outer]) {
    if (typeof candidate === 'object' && candidate !== null && mark in candidate) {
      return candidate as T;
    }
  }
  return null;
}
