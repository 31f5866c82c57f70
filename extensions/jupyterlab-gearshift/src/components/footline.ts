/** The line under a cell. Plain elements, since a notebook may have thousands of cells. */

import type { SpanCost } from '../api/answers.js';
import type { Words } from '../i18n.js';
import { iconElement } from '../icons.js';
import { morePrices } from '../models/footwords.js';

const PARTS = 3;

export class Footline {
  constructor(private readonly _words: Words) {
    this.node.className = 'gs-root gs-cellfoot';
    this.node.lang = _words.lang;
    this.node.setAttribute('role', 'note');
    this.node.setAttribute('aria-label', _words.t('Time and cost of this cell'));
    this.node.append(iconElement('clock', 13), ...this._parts);
  }

  readonly node = document.createElement('div');

  /** In place: who points at it while it ticks keeps what it says. */
  say(parts: readonly string[], cost: SpanCost): void {
    this._parts.forEach((element, n) => (element.textContent = parts[n] ?? ''));
    this.node.title = morePrices(cost, this._words);
  }

  private readonly _parts = Array.from({ length: PARTS }, () => {
    const element = document.createElement('bdi'); // names are isolated from their surroundings
    element.className = 'p';
    return element;
  });
}
