/** One event stream from control: fetch-stream with the ticket in a header, resumed by event id, with back-off. */

import type { Ticket } from '../api/answers.js';
import { EventParser, type ServerEvent } from './sse.js';

/** What the stream needs from outside; tests pass their own. */
export interface StreamWorld {
  fetch(url: string, init: RequestInit): Promise<Response>;
  ticket(): Promise<Ticket>;
  url(ticket: Ticket): string;
  now(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export interface StreamListener {
  event(event: ServerEvent): void;
  /** Bytes arrived: an event or the beat that control sends each 5 s. */
  beat(): void;
  /** The stream ended or was refused; it is tried again at `retryAt`. */
  lost(retryAt: number): void;
}

export const BACK_OFF_SECONDS = [2, 4, 8, 15, 30] as const;
export const SILENCE_MS = 15_000; // three missed beats
const RENEW_MS = 60_000; // a ticket is renewed when less than this is left

export class EventStream {
  constructor(
    private readonly _world: StreamWorld,
    private readonly _listener: StreamListener,
    lastId = ''
  ) {
    this._lastId = lastId;
  }

  get lastId(): string {
    return this._lastId;
  }

  /** Run until `stop`; never rejects. */
  async run(): Promise<void> {
    const stopped = this._stop.signal;
    while (!stopped.aborted) {
      await this._connect().catch(() => undefined);
      if (stopped.aborted) {
        return;
      }
      const seconds = BACK_OFF_SECONDS[Math.min(this._failures, BACK_OFF_SECONDS.length - 1)] ?? 30;
      this._failures += 1;
      this._listener.lost(this._world.now() + seconds * 1000);
      this._pause = new AbortController();
      await this._world.wait(seconds * 1000, AbortSignal.any([stopped, this._pause.signal])).catch(() => undefined);
    }
  }

  /** Do not wait for the next try. */
  tryNow(): void {
    this._pause.abort();
  }

  stop(): void {
    this._stop.abort();
  }

  private async _connect(): Promise<void> {
    const ticket = await this._freshTicket();
    const silence = new AbortController();
    const headers: Record<string, string> = {
      Accept: 'text/event-stream',
      Authorization: `Ticket ${ticket.ticket}`
    };
    if (this._lastId) {
      headers['Last-Event-ID'] = this._lastId;
    }
    let watchdog = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const response = await this._world.fetch(this._world.url(ticket), {
        headers,
        cache: 'no-store',
        credentials: 'same-origin',
        signal: AbortSignal.any([this._stop.signal, silence.signal])
      });
      if (!response.ok || !response.body) {
        if (response.status === 401 || response.status === 403) {
          this._ticket = null;
        }
        throw new Error(`events: status ${response.status}`);
      }
      await this._read(response.body, () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => silence.abort(), SILENCE_MS);
      });
    } finally {
      clearTimeout(watchdog);
    }
  }

  private async _read(body: ReadableStream<Uint8Array>, heard: () => void): Promise<void> {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      heard();
      this._failures = 0;
      this._listener.beat();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        this._lastId = event.id || this._lastId;
        this._listener.event(event);
      }
    }
  }

  /** The held ticket while it is good; a new one near its end. When none can be had, the old one is tried. */
  private async _freshTicket(): Promise<Ticket> {
    const held = this._ticket;
    if (held && Date.parse(held.expires_at) - this._world.now() > RENEW_MS) {
      return held;
    }
    try {
      this._ticket = await this._world.ticket();
    } catch (reason) {
      if (!held) {
        throw reason;
      }
    }
    return this._ticket ?? held!;
  }

  private _lastId: string;
  private _ticket: Ticket | null = null;
  private _failures = 0;
  private _pause = new AbortController();
  private readonly _stop = new AbortController();
}
