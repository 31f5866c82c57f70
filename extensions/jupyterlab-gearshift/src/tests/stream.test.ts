/** The event stream: torn pieces, resume by id, back-off, silence, and a ticket that is renewed. */

import assert from 'node:assert/strict';
import test from 'node:test';

import type { Ticket } from '../api/answers.js';
import { EventParser, type ServerEvent } from '../models/sse.js';
import { EventStream, type StreamWorld } from '../models/stream.js';

test('events come out whole however the text was cut', () => {
  const text = ': beat\n\nid: 7\nevent: job.state\ndata: {"job": "a"}\n\nid: 8\r\ndata: {"b": 2}\r\n\r\n';
  for (const size of [1, 2, 3, 7, text.length]) {
    const parser = new EventParser();
    const events: ServerEvent[] = [];
    for (let at = 0; at < text.length; at += size) {
      events.push(...parser.push(text.slice(at, at + size)));
    }
    assert.deepEqual(events, [
      { id: '7', kind: 'job.state', data: { job: 'a' } },
      { id: '8', kind: 'message', data: { b: 2 } }
    ]);
  }
});

test('data that is not JSON is passed over', () => {
  assert.deepEqual(new EventParser().push('data: {torn\n\n'), []);
});

/** A world whose answers are scripted; it ends the stream when the script is over. */
class Script implements StreamWorld {
  constructor(
    private readonly _answers: (string | number)[],
    private readonly _expires = '2100-01-01T00:00:00Z'
  ) {}

  readonly requests: Record<string, string>[] = [];
  readonly waits: number[] = [];
  tickets = 0;
  stream: EventStream | null = null;

  fetch(_url: string, init: RequestInit): Promise<Response> {
    this.requests.push(init.headers as Record<string, string>);
    const answer = this._answers.shift();
    if (answer === undefined) {
      this.stream?.stop();
      return Promise.reject(new Error('over'));
    }
    return Promise.resolve(
      typeof answer === 'number' ? new Response(null, { status: answer }) : new Response(answer)
    );
  }

  ticket(): Promise<Ticket> {
    this.tickets += 1;
    return Promise.resolve({ ticket: `t${this.tickets}`, expires_at: this._expires });
  }

  url(): string {
    return 'http://hub/events';
  }

  now(): number {
    return Date.parse('2026-01-01T00:00:00Z');
  }

  wait(ms: number): Promise<void> {
    this.waits.push(ms / 1000);
    return Promise.resolve();
  }
}

async function run(script: Script): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  const listener = { event: (event: ServerEvent) => events.push(event), beat: () => undefined, lost: () => undefined };
  script.stream = new EventStream(script, listener);
  await script.stream.run();
  return events;
}

test('a stream that ended is resumed after the last id', async () => {
  const script = new Script(['id: 4\ndata: 1\n\nid: 5\ndata: 2\n\n', 'id: 6\ndata: 3\n\n']);
  const events = await run(script);
  assert.deepEqual(
    events.map(event => event.data),
    [1, 2, 3]
  );
  assert.deepEqual(
    script.requests.map(headers => headers['Last-Event-ID']),
    [undefined, '5', '6']
  );
});

test('the ticket is in a header, and one that is good is used again', async () => {
  const script = new Script([': beat\n\n', ': beat\n\n']);
  await run(script);
  assert.equal(script.tickets, 1);
  assert.deepEqual(new Set(script.requests.map(headers => headers['Authorization'])), new Set(['Ticket t1']));
});

test('a ticket near its end, or refused, is renewed', async () => {
  const ending = new Script([': beat\n\n', ': beat\n\n'], '2026-01-01T00:00:30Z');
  await run(ending);
  assert.equal(ending.tickets, 3);
  const refused = new Script([401, ': beat\n\n']);
  await run(refused);
  assert.equal(refused.tickets, 2);
});

test('tries are spaced 2, 4, 8, 15 and 30 seconds; contact begins the count anew', async () => {
  const script = new Script([503, 503, 503, 503, 503, 503, ': beat\n\n', 503]);
  await run(script);
  assert.deepEqual(script.waits, [2, 4, 8, 15, 30, 30, 2, 4]);
});
