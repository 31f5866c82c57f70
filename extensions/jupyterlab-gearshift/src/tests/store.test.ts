/** The state: parts that are fetched, events that are taken in, and what stays while our server is away. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { Client } from '../api/client.js';
import { errorFrom, unreachable } from '../api/errors.js';
import type { Operation } from '../api/records.js';
import { Store } from '../models/store.js';
import type { Request } from '../request.js';

const ME = { name: 'mei', balance_nano: 5, rate_per_hour_nano: 1 };

function operation(id: string, state: Operation['state'], minute = 0): Operation {
  return {
    id,
    kind: 'switch',
    owner: 'mei',
    workspace: 'mei/a',
    state,
    direction: 'forward',
    step: state === 'running' ? 'save' : null,
    steps: [],
    error: null,
    failed_step: null,
    cancelled_by: null,
    created_at: `2026-11-30T20:0${minute}:00.000000Z`,
    ended_at: null,
    deadline_at: null,
    result: null,
    from_machine: null,
    to_machine: null,
    expected: null
  };
}

/** A server that answers from a table; a function is asked each time. */
function store(answers: Record<string, () => unknown>): Store {
  const request: Request = <T>(path: string): Promise<T> => {
    const answer = answers[path.split('?')[0] ?? ''];
    return answer ? Promise.resolve().then(() => answer() as T) : Promise.reject(errorFrom(404, null));
  };
  return new Store(new Client(request, 'mei/a'), () => 1000);
}

function errorOf(held: Store): string | null {
  return held.state.me.error?.code ?? null;
}

test('a part is fetched once at a time, and once more when asked meanwhile', async () => {
  let asked = 0;
  const held = store({ 'api/me': () => ((asked += 1), ME) });
  await Promise.all([held.load('me'), held.load('me'), held.load('me')]);
  assert.equal(asked, 2);
  assert.equal(held.state.me.value?.balance_nano, 5);
});

test('one part that is refused leaves the others as they are', async () => {
  const held = store({ 'api/me': () => ME });
  await held.loadAll(['me', 'disks']);
  assert.equal(held.state.me.error, null);
  assert.equal(held.state.disks.error?.status, 404);
});

test('a list may come as such or in an object', async () => {
  const held = store({ 'api/disks': () => ({ disks: [{ id: 'd' }] }), 'api/jobs': () => [{ id: 'j' }] });
  await held.loadAll(['disks', 'jobs']);
  assert.equal(held.state.disks.value?.[0]?.id, 'd');
  assert.equal(held.state.jobs.value?.[0]?.id, 'j');
});

test('while a switch has taken our server away, old values stay without an error', async () => {
  let away = false;
  const held = store({
    'api/me': () => {
      if (away) {
        throw unreachable(424);
      }
      return ME;
    }
  });
  await held.load('me');
  held.apply({ id: '1', kind: 'operation.step', data: operation('op', 'running') });
  away = true;
  await held.load('me');
  assert.equal(errorOf(held), null);
  held.apply({ id: '2', kind: 'operation.done', data: operation('op', 'done') });
  await held.load('me');
  assert.equal(errorOf(held), 'control_unavailable');
  held.dispose();
});

test('operations are newest first, of this workspace only, and an ended one does not run again', () => {
  const held = store({});
  held.operation(operation('old', 'done', 1));
  held.operation(operation('new', 'running', 2));
  held.operation({ ...operation('other', 'running', 3), workspace: 'mei/b' });
  assert.deepEqual(
    held.state.operations.value?.map(op => op.id),
    ['new', 'old']
  );
  assert.equal(held.running?.id, 'new');
  held.operation(operation('new', 'done', 2));
  held.operation(operation('new', 'running', 2));
  assert.equal(held.running, null);
});

test('what an event tells is not undone by an older answer that comes after it', async () => {
  const answers = ['cancelling', 'cancelled'];
  const held = store({ 'api/jobs': () => [{ id: 'j', spec: {}, state: answers.shift() }] });
  const seen: unknown[] = [];
  held.changed.connect((_, state) => seen.push(state.jobs.value?.[0]?.state));
  const loading = held.load('jobs');
  held.apply({ id: '1', kind: 'job.state', data: { id: 'j', spec: {}, state: 'cancelled' } });
  await loading;
  assert.equal(held.state.jobs.value?.[0]?.state, 'cancelled');
  assert.ok(!seen.includes('cancelling'));
  assert.deepEqual(answers, []);
  held.dispose();
});

test('a switch that has ended does not run again by an older list of operations', async () => {
  const answers = [operation('op', 'running'), operation('op', 'done')];
  const held = store({ 'api/operations': () => [answers.shift()] });
  held.operation(operation('op', 'running'));
  const loading = held.load('operations');
  held.apply({ id: '1', kind: 'operation.done', data: operation('op', 'done') });
  const ran: boolean[] = [];
  held.changed.connect(() => ran.push(held.running !== null));
  await loading;
  assert.ok(!ran.includes(true));
  held.dispose();
});

test('what an event carries is shown at once', async () => {
  const held = store({ 'api/me': () => ME, 'api/catalog': () => ({ machines: [{ id: 'm', free: 1, total: 2 }] }) });
  await held.loadAll(['me', 'catalog']);
  held.apply({ id: '1', kind: 'balance', data: { balance_nano: 3 } });
  held.apply({ id: '2', kind: 'inventory', data: { machines: { m: { free: 0, total: 2 } } } });
  held.apply({ id: '3', kind: 'workspace.state', data: { owner: 'mei', name: 'a', state: 'switching' } });
  held.apply({ id: '4', kind: 'workspace.state', data: { owner: 'mei', name: 'b', state: 'stopped' } });
  assert.equal(held.state.me.value?.balance_nano, 3);
  assert.equal(held.state.catalog.value?.machines[0]?.free, 0);
  assert.equal(held.state.machine.value?.state, 'switching');
  held.dispose();
});
