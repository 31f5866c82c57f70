/** One stream for all tabs of a workspace: the tab that holds a lock reads control and tells the others.
 *
 * HTTP/1.1 allows six connections to a host, so the seventh tab with a stream of its own would hang. Where a
 * browser gives no locks (a page over plain HTTP from another machine), each tab has its own stream.
 */

import { Signal, type ISignal } from '@lumino/signaling';

import type { ServerEvent } from './sse.js';
import { EventStream, SILENCE_MS, type StreamWorld } from './stream.js';

export type Contact =
  | { state: 'connecting' }
  | { state: 'online'; last: number }
  | { state: 'offline'; last: number | null; retryAt: number | null };

type Message = { event: ServerEvent } | { beat: true } | { lost: number } | { tryNow: true };

export class SharedEvents {
  constructor(
    private readonly _name: string,
    private readonly _world: StreamWorld
  ) {
    this._born = _world.now();
    this._channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(_name);
    if (this._channel) {
      this._channel.onmessage = ({ data }) => this._heard(data as Message);
    }
  }

  get event(): ISignal<this, ServerEvent> {
    return this._event;
  }

  get contactChanged(): ISignal<this, Contact> {
    return this._contactChanged;
  }

  get contact(): Contact {
    return this._contact;
  }

  start(): void {
    this._silence = setInterval(() => this._checkSilence(), 1000);
    const locks = typeof navigator === 'undefined' ? undefined : navigator.locks;
    if (!locks || !this._channel) {
      void this._lead();
      return;
    }
    locks.request(this._name, { signal: this._stopped.signal }, () => this._lead()).catch(() => undefined);
  }

  tryNow(): void {
    this._stream?.tryNow();
    this._channel?.postMessage({ tryNow: true } satisfies Message);
  }

  dispose(): void {
    clearInterval(this._silence);
    this._stopped.abort();
    this._stream?.stop();
    this._channel?.close();
    Signal.clearData(this);
  }

  private _lead(): Promise<void> {
    this._stream = new EventStream(
      this._world,
      {
        event: event => this._tell({ event }),
        beat: () => this._tell({ beat: true }),
        lost: retryAt => this._tell({ lost: retryAt })
      },
      this._lastId
    );
    return this._stream.run();
  }

  private _tell(message: Message): void {
    this._channel?.postMessage(message);
    this._heard(message);
  }

  private _heard(message: Message): void {
    if ('event' in message) {
      if (message.event.id && message.event.id === this._lastId) {
        return;
      }
      this._lastId = message.event.id || this._lastId;
      this._event.emit(message.event);
    } else if ('beat' in message) {
      this._last = this._world.now();
      if (this._contact.state !== 'online' || this._last - this._contact.last > 1000) {
        this._setContact({ state: 'online', last: this._last });
      }
    } else if ('lost' in message) {
      this._retryAt = message.lost;
      this._checkSilence();
    } else {
      this._stream?.tryNow();
    }
  }

  private _checkSilence(): void {
    if (this._world.now() - (this._last ?? this._born) > SILENCE_MS) {
      const { _last: last, _retryAt: retryAt } = this;
      const held = this._contact;
      if (held.state !== 'offline' || held.retryAt !== retryAt) {
        this._setContact({ state: 'offline', last, retryAt });
      }
    }
  }

  private _setContact(contact: Contact): void {
    this._contact = contact;
    this._contactChanged.emit(contact);
  }

  private readonly _channel: BroadcastChannel | null;
  private readonly _stopped = new AbortController();
  private readonly _event = new Signal<this, ServerEvent>(this);
  private readonly _contactChanged = new Signal<this, Contact>(this);
  private readonly _born: number;
  private _stream: EventStream | null = null;
  private _silence: ReturnType<typeof setInterval> | undefined;
  private _contact: Contact = { state: 'connecting' };
  private _last: number | null = null;
  private _retryAt: number | null = null;
  private _lastId = '';
}
