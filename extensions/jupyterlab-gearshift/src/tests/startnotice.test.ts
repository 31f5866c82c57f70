/** The one notification of a start that did not bring everything back. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { Signal } from '@lumino/signaling';

import { Words } from '../i18n.js';
import { StartNotice } from '../models/startnotice.js';
import type { IGearshift } from '../tokens.js';

const WORDS = new Words({
  languageCode: 'en',
  load: () => ({ __: (text: string) => text, _n: (one: string, many: string, n: number) => (n === 1 ? one : many) })
} as never);

type Held = { id: string; kind: string; state: string; result: unknown };

const variable = (outcome: string): object => ({ name: outcome, bytes: 1, verdict: 'copy', outcome, cells: [] });

function start(id: string, restored: unknown, state = 'done'): Held {
  return { id, kind: 'start', state, result: { restored } };
}

/** Pages of one browser: each is told the same, `said` is what they showed. */
function browser(): { said: string[]; opened: unknown[]; page: () => (operations: Held[]) => void } {
  const kept = new Map<string, string>();
  const said: string[] = [];
  const opened: unknown[] = [];
  const memory = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, id: string) => void kept.set(key, id) };
  const notifier = {
    emit: (message: string, _type: string, { actions }: { actions: { callback: () => void }[] }) => {
      said.push(message);
      actions.forEach(one => one.callback());
      return 'n';
    }
  };
  const page = (): ((operations: Held[]) => void) => {
    const state = { operations: { value: null as Held[] | null } };
    const store = { state, changed: new Signal<object, unknown>({}) };
    const commands = { execute: (command: string, args: object) => void opened.push([command, args]) };
    const gearshift = { store, words: WORDS, commands, client: { workspace: 'mei/a' } };
    new StartNotice(gearshift as unknown as IGearshift, notifier as never, memory);
    return operations => {
      state.operations.value = operations;
      store.changed.emit(null);
    };
  };
  return { said, opened, page };
}

const WHOLE = { ok: true, kernels: [{ path: 'a.ipynb', variables: [variable('copied'), variable('rebuilt')] }] };
const PART = { ok: true, kernels: [{ path: 'a.ipynb', variables: [variable('copied'), variable('lost')] }] };

test('what did not come back is told once, in one page of all, with the way to its report', () => {
  const { said, opened, page } = browser();
  const [one, other] = [page(), page()];
  one([start('s1', PART, 'running')]);
  assert.deepEqual(said, []);
  for (const tell of [one, one, other, page()]) {
    tell([start('s1', PART)]);
  }
  assert.deepEqual(said, ['1 variable did not come back with this start.']);
  assert.deepEqual(opened, [['gearshift:switch-history', { operation: 's1' }]]);
  one([start('s2', PART), start('s1', PART)]);
  assert.equal(said.length, 2);
});

test('a state that could not be read is told; one that is whole, or was not there, is not', () => {
  const { said, page } = browser();
  const tell = page();
  tell([start('s1', WHOLE)]);
  tell([start('s2', undefined)]);
  tell([{ id: 'w1', kind: 'switch', state: 'done', result: { restored: PART } }, start('s2', undefined)]);
  tell([start('s3', PART, 'failed')]);
  assert.deepEqual(said, []);
  tell([start('s4', { ok: false, kernels: [], error: { code: 'restore_failed', message: 'no' } })]);
  assert.deepEqual(said, ['Not all that was kept came back with this start.']);
});
