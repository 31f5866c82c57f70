/** The footer of a cell: when it ran, what is asked for and kept, and how that is written in both languages. */

import assert from 'node:assert/strict';
import test from 'node:test';

import type { SpanCost, SpanPart } from '../api/answers.js';
import { ApiError, unreachable } from '../api/errors.js';
import { Words } from '../i18n.js';
import { CellCosts, grown, isTold, KEPT, keptIn, spanOf, TIMING } from '../models/cellcost.js';
import { morePrices, ranWords, runsWords } from '../models/footwords.js';

const words = (languageCode: string): Words => new Words({ languageCode, load: () => ({ __: (text: string) => text }) } as never);
const [EN, ZH] = [words('en'), words('zh_CN')];
const YUAN = 1_000_000_000;

function part(changes: Partial<SpanPart> = {}): SpanPart {
  const title = { en: 'A100 80 GB ×1', zh: 'A100 单卡' };
  return { machine: 'a100', title, chip: null, price_per_hour_nano: 9.8 * YUAN, seconds: 192, amount_nano: 522_666_667, ...changes };
}

function cost(changes: Partial<SpanCost> = {}): SpanCost {
  const { seconds, amount_nano } = part();
  return { seconds, amount_nano, currency: 'CNY', currency_symbol: '¥', image: 'sha256:ab', on: [part()], ...changes };
}

class FakeCell {
  constructor(readonly metadata: Record<string, unknown> = {}) {}
  isDisposed = false;
  getMetadata = (key: string): unknown => this.metadata[key];
  setMetadata = (key: string, value: unknown): void => void (this.metadata[key] = value);
  deleteMetadata = (key: string): void => void delete this.metadata[key];
}

const ran = (second: number): FakeCell =>
  new FakeCell({
    [TIMING]: {
      'iopub.execute_input': `2026-12-01T04:00:0${second}.000000Z`,
      'shell.execute_reply': `2026-12-01T04:00:0${second}.500000Z`
    }
  });

test('a line is written as in the mock-up, in both languages', () => {
  assert.deepEqual(ranWords(cost(), EN), ['3 min 12 s', 'A100 80 GB ×1', '¥0.52']);
  assert.deepEqual(ranWords(cost(), ZH), ['3 分 12 秒', 'A100 单卡', '¥0.52']);
  assert.deepEqual(runsWords(cost({ seconds: 108, amount_nano: 294_000_000 }), EN), ['1:48', 'A100 80 GB ×1', '¥0.29 so far']);
  assert.equal(morePrices(cost(), EN), 'A100 80 GB ×1 ¥9.80/h · image sha256:ab');
});

test('less than the smallest coin is not nothing, and nothing is', () => {
  assert.equal(ranWords(cost({ amount_nano: 1 }), EN)[2], '< ¥0.01');
  assert.equal(ranWords(cost({ amount_nano: 0 }), EN)[2], '¥0.00');
});

test('what would be written as no time at all is not told', () => {
  assert.ok(isTold(cost({ seconds: 0.06 })));
  assert.ok(!isTold(cost({ seconds: 0.04 })));
});

test('over a change of machine each has its own time, and the sum is of both prices', () => {
  const on = [part({ seconds: 62, title: null, machine: 'cpu-small' }), part({ seconds: 130 })];
  assert.equal(ranWords(cost({ on }), EN)[1], 'cpu-small 1 min 2 s → A100 80 GB ×1 2 min 10 s');
});

test('while it runs it grows by the price of the machine it is on', () => {
  const on = [part({ machine: 'cpu-small', amount_nano: 5, seconds: 10 }), part({ seconds: 0, amount_nano: 0 })];
  const later = grown(cost({ on, seconds: 10, amount_nano: 5 }), 3600);
  assert.equal(later.seconds, 3610);
  assert.equal(later.amount_nano, 9.8 * YUAN + 5);
  assert.deepEqual(later.on[0], on[0]);
  assert.equal(later.on[1]!.amount_nano, 9.8 * YUAN);
});

test('a run is timed by what its kernel says; what is older than its begin is of an earlier run', () => {
  assert.deepEqual(spanOf(ran(3)), { from: '2026-12-01T04:00:03.000000Z', to: '2026-12-01T04:00:03.500000Z' });
  const stale = new FakeCell({
    [TIMING]: { 'iopub.execute_input': '2026-12-01T04:00:03Z', 'shell.execute_reply': '2026-12-01T03:00:00Z' }
  });
  assert.equal(spanOf(stale)?.to, null);
  for (const rubbish of [undefined, null, 'x', [], { 'iopub.execute_input': 'yesterday' }, { 'iopub.execute_input': 7 }]) {
    assert.equal(spanOf(new FakeCell({ [TIMING]: rubbish })), null);
  }
});

test('what is kept in a notebook from anywhere is drawn only when it is whole', () => {
  assert.deepEqual(keptIn(new FakeCell({ [KEPT]: cost() })), cost());
  const bad: unknown[] = [
    undefined, null, 'x', 7, [], {}, { ...cost(), on: [] }, { ...cost(), on: [null] }, { ...cost(), on: 'x' },
    { ...cost(), seconds: -1 }, { ...cost(), amount_nano: '1' }, { ...cost(), amount_nano: 1e300 }, { ...cost(), currency_symbol: {} },
    { ...cost(), on: [part({ title: 'x' as never })] }, { ...cost(), on: [part({ machine: {} as never })] },
    { ...cost(), on: [part({ seconds: NaN })] }
  ];
  bad.forEach(found => assert.equal(keptIn(new FakeCell({ [KEPT]: found })), null, JSON.stringify(found)));
  const long = ranWords(cost({ currency_symbol: '¥'.repeat(500), on: [part({ title: null, machine: 'm'.repeat(500) })] }), EN);
  assert.ok(long.join('').length < 120);
});

test('one cell after the other is asked for, and each keeps its own cost', async () => {
  let open = 0;
  let most = 0;
  const asked: (string | null)[][] = [];
  const client = {
    cost: async (from: string, to: string | null): Promise<SpanCost> => {
      asked.push([from, to]);
      most = Math.max(most, ++open);
      await Promise.resolve();
      open -= 1;
      return cost({ image: from });
    }
  };
  const costs = new CellCosts(client, { passed: () => Promise.resolve() });
  const cells = [ran(1), ran(2), ran(3)];
  await Promise.all(cells.map(cell => costs.ended(cell)));
  assert.equal(most, 1);
  assert.equal(asked.length, 3);
  cells.forEach(cell => assert.equal(keptIn(cell)?.image, spanOf(cell)?.from));
  costs.begins(cells[0]!);
  assert.deepEqual(cells[0]!.metadata, {});
});

test('a cell that was deleted, was run again or was not charged keeps nothing, and one that never ran is not asked for', async () => {
  let answer = cost();
  let before: () => void = () => undefined;
  let asked = 0;
  const client = {
    cost: (): Promise<SpanCost> => {
      asked += 1;
      before();
      return Promise.resolve(answer);
    }
  };
  const costs = new CellCosts(client, { passed: () => Promise.resolve() });
  const [gone, again, free] = [ran(1), ran(2), ran(3)];
  before = () => (gone.isDisposed = true);
  await costs.ended(gone);
  before = () => again.setMetadata(TIMING, ran(5).metadata[TIMING]);
  await costs.ended(again);
  before = () => undefined;
  answer = cost({ on: [], amount_nano: 0 });
  await costs.ended(free);
  for (const cell of [gone, again, free]) {
    assert.equal(cell.getMetadata(KEPT), undefined);
  }
  assert.equal(asked, 3);
  await costs.ended(new FakeCell());
  assert.equal(asked, 3);
});

test('during a switch it is asked for when that is over, a refusal is taken, and what cannot be reached is left at last', async () => {
  const said: string[] = [];
  let refuse: () => Error = unreachable;
  let refusals = 1;
  const client = {
    cost: (): Promise<SpanCost> => {
      said.push('ask');
      return refusals-- > 0 ? Promise.reject(refuse()) : Promise.resolve(cost());
    }
  };
  const say = (word: string): Promise<void> => Promise.resolve(void said.push(word));
  const costs = new CellCosts(client, { passed: () => say('gate') }, () => say('wait'));
  const cell = ran(1);
  await costs.ended(cell);
  assert.deepEqual(said, ['gate', 'ask', 'wait', 'gate', 'ask']);
  assert.deepEqual(keptIn(cell), cost());
  [said.length, refusals, refuse] = [0, 9, () => new ApiError(403, { code: 'forbidden', message: 'no' })];
  await costs.ended(ran(2));
  assert.deepEqual(said, ['gate', 'ask']);
  [said.length, refuse] = [0, unreachable];
  await costs.ended(ran(3));
  assert.equal(said.filter(one => one === 'ask').length, 3);
});
