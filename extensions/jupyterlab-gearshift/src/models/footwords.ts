/** What stands under a cell: how long it ran, on what, for how much; and the same while it runs. */

import type { SpanCost, SpanPart } from '../api/answers.js';
import type { Words } from '../i18n.js';
import { clock, cut, duration, money, type MoneyStyle } from './format.js';

const CENT = 10_000_000;
const SYMBOL = 8;

/** A cell that ran: `3 min 12 s`, `A100 80 GB ×1`, `¥0.52`. Over a change of machine each has its own time. */
export function ranWords(cost: SpanCost, words: Words): string[] {
  return [duration(cost.seconds, words.language, true), machines(cost, words), amount(cost)];
}

/** A cell that runs: `1:48`, `A100 80 GB ×1`, `¥0.29 so far`. */
export function runsWords(cost: SpanCost, words: Words): string[] {
  const so_far = words.t('{amount} so far', { amount: amount(cost) });
  return [clock(cost.seconds), machines(cost, words), so_far];
}

/** What is said to who points at it: the price of each, and the image by its digest. */
export function morePrices(cost: SpanCost, words: Words): string {
  const prices = cost.on.map(one => `${title(one, words)} ${money(one.price_per_hour_nano, style(cost))}/h`);
  return [...prices, ...(cost.image ? [words.t('image {digest}', { digest: cut(cost.image) })] : [])].join(' · ');
}

function machines({ on }: SpanCost, words: Words): string {
  const [only] = on;
  if (on.length === 1 && only) {
    return title(only, words);
  }
  return on.map(one => `${title(one, words)} ${duration(one.seconds, words.language, true)}`).join(' → ');
}

function title(part: SpanPart, words: Words): string {
  return cut(words.pick(part.title) || part.machine);
}

/** What is less than the smallest coin is not nothing. */
export function amount(cost: SpanCost): string {
  const shown = money(cost.amount_nano, style(cost));
  return cost.amount_nano > 0 && shown === money(0, style(cost)) ? `< ${money(CENT, style(cost))}` : shown;
}

function style({ currency_symbol }: SpanCost): MoneyStyle {
  return { symbol: cut(currency_symbol, SYMBOL) };
}
