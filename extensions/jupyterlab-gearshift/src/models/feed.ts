/** What is known of one job: its record, its metrics and the log of the rank that is looked at; kept by the server. */

import { Signal, type ISignal } from '@lumino/signaling';

import type { LogPage, MetricPoint } from '../api/answers.js';
import type { Client } from '../api/client.js';
import { asApiError } from '../api/errors.js';
import type { Job } from '../api/records.js';
import { EMPTY, arrived, refused, waiting, type Loaded } from './loaded.js';
import type { ServerEvent } from './sse.js';
import { recordIn } from './store.js';

export interface JobView {
  readonly job: Loaded<Job>;
  readonly points: readonly MetricPoint[];
  readonly rank: number;
  readonly log: string;
}

const TELL_MS = 250;
const LOG_MS = 250;
const POINTS_MS = 1000;
const WHOLE_MS = 2000; // the last figures are read shortly after the end is told
const KEPT_POINTS = 600;
const KEPT_LOG = 200_000; // characters in the page; the server keeps all

export class JobFeed {
  constructor(
    private readonly _client: Client,
    readonly id: string
  ) {}

  get view(): JobView {
    return this._view;
  }

  get changed(): ISignal<this, JobView> {
    return this._changed;
  }

  async load(): Promise<void> {
    this._set({ job: waiting(this._view.job, Date.now()) });
    const states = this._states;
    try {
      const job = await this._client.job(this.id);
      if (states !== this._states) {
        return await this.load(); // a newer state was told while the answer was on its way
      }
      this._set({ job: arrived(job, Date.now()), ...this._lookAt(this._rank ?? job.first_failure?.rank ?? 0) });
    } catch (reason) {
      this._set({ job: refused(this._view.job, asApiError(reason)) });
      return;
    }
    await Promise.all([this._loadPoints(), this._loadLog()]);
  }

  /** Look at another rank's log. */
  async choose(rank: number): Promise<void> {
    this._rank = rank;
    this._set(this._lookAt(rank));
    await this._loadLog();
  }

  apply(event: ServerEvent): void {
    const data = (event.data ?? {}) as Record<string, unknown>;
    const record = recordIn<Job>(data, 'job', 'spec');
    if ((record?.id ?? data['job']) !== this.id) {
      return;
    }
    if (event.kind === 'job.state') {
      this._state(record);
    } else if (event.kind === 'job.metrics') {
      const { job } = this._view;
      if (job.value) {
        const metrics_last = data['metrics_last'] as Job['metrics_last'];
        this._set({ job: arrived({ ...job.value, metrics_last }, Date.now()) });
      }
      this._pointsSoon ??= setTimeout(() => void this._loadPoints(), POINTS_MS);
    } else if (event.kind === 'job.log') {
      this._logSoon ??= setTimeout(() => void this._loadLog(), LOG_MS);
    }
  }

  dispose(): void {
    clearTimeout(this._pointsSoon);
    clearTimeout(this._logSoon);
    clearTimeout(this._wholeSoon);
    clearTimeout(this._tellSoon);
    Signal.clearData(this);
  }

  /** What is told carries no shapes that would start now: of a job that waits, the whole is read again. */
  private _state(job: Job | null): void {
    if (!job) {
      void this.load();
      return;
    }
    this._states += 1;
    this._set({ job: arrived(withShapes(job, this._view.job.value), Date.now()) });
    if (job.ended_at || job.state === 'queued') {
      this._wholeSoon ??= setTimeout(() => this._whole(), WHOLE_MS);
    }
    this._logSoon ??= setTimeout(() => void this._loadLog(), LOG_MS);
    this._pointsSoon ??= setTimeout(() => void this._loadPoints(), POINTS_MS);
  }

  /** Another rank's log is read from its own end. */
  private _lookAt(rank: number): Partial<JobView> {
    if (rank === this._view.rank) {
      return {};
    }
    this._offset = -KEPT_LOG;
    this._looked += 1;
    return { rank, log: '' };
  }

  private _whole(): void {
    this._wholeSoon = undefined;
    void this.load();
  }

  private async _loadPoints(): Promise<void> {
    this._pointsSoon = undefined;
    const points = await this._client.jobMetrics(this.id).catch(() => null);
    if (points) {
      this._set({ points: points.slice(-KEPT_POINTS) });
    }
  }

  /** One reader at a time: two at once would take the same lines twice. Who comes meanwhile is read for once more. */
  private async _loadLog(): Promise<void> {
    this._logSoon = undefined;
    this._moreLog = true;
    while (this._moreLog && !this._reading) {
      this._moreLog = false;
      this._reading = true;
      await this._readLog();
      this._reading = false;
    }
  }

  private async _readLog(): Promise<void> {
    const looked = this._looked;
    for (;;) {
      const page: LogPage | null = await this._client.jobLog(this.id, this._view.rank, this._offset).catch(() => null);
      if (!page || looked !== this._looked || !page.text) {
        return;
      }
      this._offset = page.offset;
      this._set({ log: (this._view.log + page.text).slice(-KEPT_LOG) });
    }
  }

  private _set(change: Partial<JobView>): void {
    this._view = { ...this._view, ...change };
    if (this._tellSoon === undefined) {
      const rest = this._toldAt + TELL_MS - Date.now();
      this._tellSoon = rest > 0 ? setTimeout(() => this._tell(), rest) : this._tell();
    }
  }

  /** At most four times a second, however much comes: views draw what is newest then. */
  private _tell(): undefined {
    this._tellSoon = undefined;
    this._toldAt = Date.now();
    this._changed.emit(this._view);
  }

  private readonly _changed = new Signal<this, JobView>(this);
  private _view: JobView = { job: EMPTY, points: [], rank: 0, log: '' };
  private _rank: number | null = null;
  private _states = 0; // how many were told
  private _offset = -KEPT_LOG; // counted from the end
  private _looked = 0; // how often another rank was looked at
  private _reading = false;
  private _moreLog = false;
  private _pointsSoon: ReturnType<typeof setTimeout> | undefined;
  private _logSoon: ReturnType<typeof setTimeout> | undefined;
  private _wholeSoon: ReturnType<typeof setTimeout> | undefined;
  private _tellSoon: ReturnType<typeof setTimeout> | undefined;
  private _toldAt = -TELL_MS;
}

function withShapes(job: Job, before: Job | null): Job {
  const shapes = before?.queue?.shapes;
  return job.queue && shapes ? { ...job, queue: { ...job.queue, shapes } } : job;
}

/** The feeds of all jobs that are on screen; one a job, however many views show it. */
export class JobFeeds {
  constructor(private readonly _client: Client) {}

  /** Take part in a job's feed; give the returned function a call to leave it. */
  join(id: string): [JobFeed, () => void] {
    const held = this._feeds.get(id) ?? { feed: new JobFeed(this._client, id), views: 0 };
    if (!this._feeds.has(id)) {
      this._feeds.set(id, held);
      void held.feed.load();
    }
    held.views += 1;
    return [held.feed, () => this._leave(id)];
  }

  apply(event: ServerEvent): void {
    if (event.kind.startsWith('job.')) {
      this._feeds.forEach(({ feed }) => feed.apply(event));
    }
  }

  /** After a gap: ask again for all that is shown. */
  reload(): void {
    this._feeds.forEach(({ feed }) => void feed.load());
  }

  private _leave(id: string): void {
    const held = this._feeds.get(id);
    if (held && (held.views -= 1) === 0) {
      held.feed.dispose();
      this._feeds.delete(id);
    }
  }

  private readonly _feeds = new Map<string, { feed: JobFeed; views: number }>();
}
