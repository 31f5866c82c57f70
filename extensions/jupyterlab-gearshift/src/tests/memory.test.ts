/** Events of memory: told once, whether our own server or control tells them first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Signal } from '@lumino/signaling';

import type { Incident } from '../api/answers.js';
import { incidentOf, MemoryEvents } from '../models/memory.js';
import type { ServerEvent } from '../models/sse.js';
import type { IGearshift } from '../tokens.js';

const NOTICE = { text: 'memory', incident: 'mem-1', code: 'kernel_oom', path: 'a.ipynb', en: 'It ended.', zh: '已终止。' };

test('a notice of memory is the event that our server would tell; others are none', () => {
  const incident = incidentOf(NOTICE as never);
  assert.equal(incident?.id, 'mem-1');
  assert.equal(incident?.message, 'It ended.');
  assert.equal(incident?.seen, false);
  assert.equal(incidentOf({ ...NOTICE, text: 'idle_warning' } as never), null);
});

test('control tells it while our server is away, and once both have, it was told once', async () => {
  const event = new Signal<object, ServerEvent>({});
  const changed = new Signal<object, unknown>({});
  let memory: () => Promise<unknown> = () => Promise.reject(new Error('away'));
  const gearshift = { store: { changed, state: { metrics: {} } }, events: { event }, client: { memory: () => memory() } };
  const events = new MemoryEvents(gearshift as unknown as IGearshift);
  const told: Incident[] = [];
  events.told.connect((_, one) => told.push(one));
  await events.read();
  event.emit({ id: '7', kind: 'notice', data: NOTICE });
  event.emit({ id: '8', kind: 'workspace.state', data: {} });
  assert.deepEqual(told.map(one => one.id), ['mem-1']);
  const own = { ...incidentOf(NOTICE as never), facts: { kernel: 'a' } };
  memory = () => Promise.resolve({ interrupt: false, incidents: [own, { ...own, id: 'mem-2' }] });
  await events.read();
  assert.deepEqual(told.map(one => one.id), ['mem-1', 'mem-2']);
  events.dispose();
});
