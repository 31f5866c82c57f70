/** A kernel's socket: it waits for the end of a switch, tries again, and ends when its owner says so. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { patient } from '../models/socket.js';
import { Gate } from '../models/gate.js';

const URL = 'ws://box/user/mei/api/kernels/k1/channels?session_id=1';

/** Sockets whose first handshakes are refused as often as told. */
function network(refusals: number): { Plain: typeof WebSocket; made: Plain[] } {
  const made: Plain[] = [];
  class Fake extends Plain {
    constructor(readonly url: string) {
      super();
      made.push(this);
      const refused = made.length <= refusals;
      queueMicrotask(() => (refused ? this.onclose?.({ code: 1006 }) : this.onopen?.({})));
    }
  }
  return { Plain: Fake as unknown as typeof WebSocket, made };
}

class Plain {
  protocol = 'v1';
  sent: unknown[] = [];
  closed = false;
  onopen: ((event: object) => void) | null = null;
  onclose: ((event: object) => void) | null = null;
  onmessage: ((event: object) => void) | null = null;

  send(data: unknown): void {
    this.sent.push(data);
  }

  close(): void {
    this.closed = true;
  }
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onclose = () => reject(new Error('told of a handshake that failed'));
  });
}

test('a handshake that is refused is made again, and nobody is told', async () => {
  const { Plain, made } = network(2);
  const socket = new (patient(Plain, () => Promise.resolve()))(URL);
  await opened(socket);
  assert.equal(made.length, 3);
  socket.send('a cell');
  assert.deepEqual(made[2]?.sent, ['a cell']);
  const heard: unknown[] = [];
  socket.onmessage = ({ data }) => heard.push(data);
  made[2]?.onmessage?.({ data: 'its output' });
  assert.deepEqual(heard, ['its output']);
});

test('no handshake is made during a switch', async () => {
  const { Plain, made } = network(0);
  const gate = new Gate();
  gate.close();
  const socket = new (patient(Plain, () => gate.passed()))(URL);
  await new Promise(resolve => setTimeout(resolve, 20));
  assert.equal(made.length, 0);
  gate.open();
  await opened(socket);
  assert.equal(made.length, 1);
});

test('what its owner has closed is not opened any more', async () => {
  const { Plain, made } = network(0);
  const gate = new Gate();
  gate.close();
  new (patient(Plain, () => gate.passed()))(URL).close();
  gate.open();
  await new Promise(resolve => setTimeout(resolve, 20));
  assert.equal(made.length, 0);
});

test('the end of an open connection is told as it is', async () => {
  const { Plain, made } = network(0);
  const socket = new (patient(Plain, () => Promise.resolve()))(URL);
  await opened(socket);
  const ends: unknown[] = [];
  socket.onclose = event => ends.push(event.code);
  made[0]?.onclose?.({ code: 1006 });
  assert.deepEqual(ends, [1006]);
});

test('sockets of others are the browser’s own', () => {
  const { Plain, made } = network(0);
  const socket = new (patient(Plain, () => new Promise(() => undefined)))('ws://box/terminals/websocket/1');
  assert.equal(made[0], socket);
});
