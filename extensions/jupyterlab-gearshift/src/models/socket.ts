/** A kernel's web socket that opens when there is a server to open to: it waits while a switch takes ours away, and a
 * handshake that fails is made again. Lab, told of a failed handshake, asks after the kernel and acts on the answer whenever
 * it comes, up to half a minute later: by then it breaks a connection that is well, and a cell on its way is lost. */

const KERNEL = /\/api\/kernels\/[^/]+\/channels/;
const TRY_MS = 250;
const GIVE_UP_MS = 5_000;

type Handler<E extends Event> = ((event: E) => unknown) | null;

/** The browser's sockets, but for those of kernels; `ready` resolves when a handshake makes sense. */
export function patient(plain: typeof WebSocket, ready: () => Promise<void>): typeof WebSocket {
  return new Proxy(plain, {
    construct: (Plain, [url, protocols]: [string, string[]?]) => {
      const make = (): WebSocket => new Plain(url, protocols);
      return KERNEL.test(url) ? new PatientSocket(make, ready) : make();
    }
  });
}

/** As much of a socket as Lab's kernel connection uses. */
export class PatientSocket {
  binaryType: BinaryType = 'arraybuffer';
  onopen: Handler<Event> = null;
  onmessage: Handler<MessageEvent> = null;
  onclose: Handler<CloseEvent> = null;
  onerror: Handler<Event> = null;

  constructor(
    private readonly _make: () => WebSocket,
    private readonly _ready: () => Promise<void>,
    private readonly _giveUpMs = GIVE_UP_MS
  ) {
    void this._open();
  }

  get protocol(): string {
    return this._socket?.protocol ?? '';
  }

  send(data: string | ArrayBuffer): void {
    if (!this._socket) {
      throw new Error('The socket is not open yet.');
    }
    this._socket.send(data);
  }

  close(): void {
    this._closed = true;
    this._socket?.close();
  }

  private async _open(): Promise<void> {
    await this._ready();
    for (const end = Date.now() + this._giveUpMs; !this._closed; await this._ready()) {
      const refused = await this._handshake();
      if (refused === null) {
        return;
      }
      if (Date.now() > end) {
        this.onclose?.(refused);
        return;
      }
      await new Promise(resolve => setTimeout(resolve, TRY_MS));
    }
  }

  /** Null when it is open; else how it was closed. */
  private _handshake(): Promise<CloseEvent | null> {
    const socket = (this._socket = this._make());
    socket.binaryType = this.binaryType;
    return new Promise(resolve => {
      socket.onclose = resolve;
      socket.onopen = event => {
        socket.onmessage = message => this.onmessage?.(message);
        socket.onerror = error => this.onerror?.(error);
        socket.onclose = close => this.onclose?.(close);
        this.onopen?.(event);
        resolve(null);
      };
    });
  }

  private _socket: WebSocket | null = null;
  private _closed = false;
}
