/** How money, sizes, times and places in line are written. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { bytes, bytesOf, clock, cut, duration, metric, moment, money, place } from '../models/format.js';

const yuan = { symbol: '¥' };

test('money is rounded half to even, exactly, from nano-units', () => {
  assert.equal(money(1_846_200_000_000, yuan), '¥1,846.20');
  assert.equal(money(125_000_000, yuan), '¥0.12');
  assert.equal(money(135_000_000, yuan), '¥0.14');
  assert.equal(money(-1_460_000_000, yuan), '−¥1.46');
  assert.equal(money(9_007_199_254_740_991, yuan), '¥9,007,199.25');
});

test('a change has its sign, and nothing has none', () => {
  assert.equal(money(7_620_000_000, { ...yuan, signed: true }), '+¥7.62');
  assert.equal(money(0, { ...yuan, signed: true }), '¥0.00');
  assert.equal(money(-1, { ...yuan, signed: true }), '¥0.00');
  assert.equal(money(-160_000_000, { ...yuan, places: 4, signed: true }), '−¥0.1600');
});

test('sizes are decimal, and a pair has one unit', () => {
  assert.equal(bytes(0), '0 B');
  assert.equal(bytes(323_000_000), '323 MB');
  assert.equal(bytes(17_200_000_000), '17.2 GB');
  assert.equal(bytes(2 ** 31), '2.1 GB');
  assert.equal(bytesOf(41e9, 80e9), '41 / 80 GB');
  assert.equal(bytesOf(642e9, 1000e9), '642 / 1,000 GB');
});

test('durations are said in the reader’s language', () => {
  assert.equal(duration(0.84, 'en', true), '0.8 s');
  assert.equal(duration(134, 'en'), '2 min 14 s');
  assert.equal(duration(134, 'zh'), '2 分 14 秒');
  assert.equal(duration(6120, 'en'), '1 h 42 min');
  assert.equal(duration(6120, 'zh'), '1 小时 42 分');
  assert.equal(duration(95 * 86_400, 'en'), '95 days');
  assert.equal(clock(6126), '1:42:06');
});

test('another day has its date before the time', () => {
  const now = new Date(2026, 10, 18, 14, 39);
  assert.equal(moment(new Date(2026, 10, 18, 9, 5), 'en', now), '09:05');
  assert.equal(moment(new Date(2026, 10, 16, 18, 40), 'en', now), '16 Nov 18:40');
  assert.equal(moment(new Date(2026, 10, 16, 18, 40), 'zh', now), '11 月 16 日 18:40');
});

test('places in line, metrics and long names', () => {
  assert.deepEqual([1, 2, 3, 4, 11, 12, 21].map(n => place(n, 'en')), ['1st', '2nd', '3rd', '4th', '11th', '12th', '21st']);
  assert.equal(place(2, 'zh'), '第 2 位');
  assert.equal(metric(41_200), '41.2 k');
  assert.equal(metric(0.0000162), '1.62e-5');
  assert.equal(cut('名'.repeat(300)).length, 64);
});
