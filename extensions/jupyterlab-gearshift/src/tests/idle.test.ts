/** Idle time: the one sentence of each state, and the one notification before a stop. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { Signal } from '@lumino/signaling';

import type { Idle } from '../api/answers.js';
import { Words } from '../i18n.js';
import { idleSentence } from '../models/idle.js';
import { IdleNotice } from '../models/idlenotice.js';
import type { IGearshift } from '../tokens.js';

const NOW = Date.parse('2026-12-01T14:00:00Z');
const WORDS = new Words({
  languageCode: 'en',
  load: () => ({ __: (text: string) => text, _n: (one: string, many: string, n: number) => (n === 1 ? one : many) })
} as never);
const FORMAT = { duration: (seconds: number) => `${seconds / 60} min`, moment: (iso: string) => iso.slice(11, 16), title: (id: string | null) => `«${id}»` };

function idle(changes: Partial<Idle> = {}): Idle {
  return {
    action: 'stop',
    after_hours: 0.5,
    own: false,
    bounds: {
      actions: ['stop', 'drop'],
      min_hours: 0.5,
      max_hours: 72,
      default_action: 'stop',
      default_hours: 0.5,
      stuck_hours: 24,
      warn_seconds: 600
    },
    busy: [],
    cause: null,
    next: null,
    acts_at: null,
    warned: false,
    drop_to: 'cpu-small',
    saves_per_hour_nano: 1,
    keep_until: null,
    end: null,
    before: null,
    ...changes
  };
}

function said(changes: Partial<Idle>): string | null {
  return idleSentence(idle(changes), WORDS, FORMAT, NOW);
}

test('each state has its one sentence', () => {
  const acts_at = '2026-12-01T14:10:00.000000Z';
  assert.equal(said({ busy: ['kernel', 'chip'] }), 'Stops after 30 min idle. Not idle now: a kernel is busy, the accelerator is used.');
  assert.equal(said({ cause: 'idle', next: 'stop', acts_at }), 'Stops in 10 min. Kernel state is saved first.');
  assert.equal(said({ cause: 'idle', next: 'drop', acts_at }), 'Drops to «cpu-small» in 10 min with its variables.');
  const stuck = { busy: ['kernel'], cause: 'stuck' as const, next: 'stop' as const, acts_at };
  assert.equal(said(stuck), 'Stops after 30 min idle. Not idle now: a kernel is busy.');
  assert.equal(said({ ...stuck, warned: true }), 'Stops in 10 min. Kernel state is saved first.');
  const end = { action: 'drop' as const, set_at: acts_at, at: null };
  assert.equal(said({ busy: ['kernel'], end }), 'When what runs has ended: drops to «cpu-small».');
  const timer = { action: 'stop' as const, set_at: acts_at, at: acts_at };
  assert.equal(said({ busy: ['kernel'], end: timer }), 'At 14:10, or later when what runs has ended: stops.');
  assert.equal(said({ action: 'keep' }), null);
  assert.equal(said({ after_hours: 0 }), null);
});

test('one notification comes with a warning, and goes when it is put off', () => {
  const held = { state: { idle: { value: idle() }, machine: { value: { state: 'ready' } }, catalog: { value: null } } };
  const store = { ...held, changed: new Signal<object, unknown>({}) };
  const log: string[] = [];
  const notifier = {
    emit: (message: string) => (log.push(message), `n${log.length}`),
    dismiss: (id: string) => log.push(`gone ${id}`)
  };
  new IdleNotice({ store, words: WORDS, commands: {} } as unknown as IGearshift, notifier as never);
  const becomes = (changes: Partial<Idle>): void => {
    held.state.idle.value = idle(changes);
    store.changed.emit(null);
  };
  const acts_at = '2026-12-01T14:10:00.000000Z';
  becomes({ cause: 'idle', next: 'stop', acts_at });
  becomes({ cause: 'idle', next: 'stop', acts_at, warned: true });
  becomes({ cause: 'idle', next: 'stop', acts_at, warned: true });
  becomes({ busy: ['kernel'] });
  assert.equal(log.length, 2);
  assert.match(log[0] ?? '', /^Nothing runs and nobody works here: stops at .*Kernel state is saved first\.$/);
  assert.equal(log[1], 'gone n1');
});
