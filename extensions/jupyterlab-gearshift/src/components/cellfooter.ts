/** The footer of one cell: what it cost, or so far; nothing where it did not run here or is run anew. */

import type { ICodeCellModel } from '@jupyterlab/cells';

import type { SpanCost } from '../api/answers.js';
import { grown, isTold, keptIn, KEPT, spanOf, TIMING } from '../models/cellcost.js';
import { ranWords, runsWords } from '../models/footwords.js';
import type { IGearshift } from '../tokens.js';
import { Footline } from './footline.js';

const TICK_MS = 1_000;
/** Seconds after which a cell that runs is told of, and after which the server is asked again. */
const FIRST_S = 2;
const AGAIN_S = 15;
/** For so long the last word of a run stays while its cost is on its way. */
const COMES_MS = 2_000;

export class CellFooter {
  constructor(
    private readonly _host: HTMLElement,
    private readonly _model: ICodeCellModel,
    private readonly _gearshift: Pick<IGearshift, 'client' | 'words'>
  ) {
    _host.classList.add('gs-cellfoot-host');
    _model.metadataChanged.connect(this._metadataChanged);
    _model.stateChanged.connect(this._stateChanged);
    this._draw();
  }

  dispose(): void {
    this._stopTicking();
    clearTimeout(this._leaves);
    this._model.metadataChanged.disconnect(this._metadataChanged);
    this._model.stateChanged.disconnect(this._stateChanged);
  }

  private readonly _metadataChanged = (_: unknown, { key }: { key: string }): void => {
    if (key === KEPT || key === TIMING) {
      this._draw();
    }
  };

  private readonly _stateChanged = (_: unknown, { name }: { name: string }): void => {
    if (name === 'executionState') {
      this._draw();
    }
  };

  private _draw(): void {
    const kept = keptIn(this._model);
    const span = spanOf(this._model);
    clearTimeout(this._leaves);
    if (!kept && span && !span.to && this._model.executionState === 'running') {
      this._ticks ??= setInterval(() => this._tick(span.from), TICK_MS);
      return;
    }
    this._stopTicking();
    if (kept && isTold(kept)) {
      this._say(ranWords(kept, this._gearshift.words), kept);
    } else {
      this._leaves = setTimeout(() => this._line?.node.remove(), this._model.executionState === 'idle' ? COMES_MS : 0);
    }
  }

  private _tick(from: string): void {
    this._ticked += 1;
    if (this._ticked % AGAIN_S === FIRST_S && !document.hidden) {
      this._gearshift.client.cost(from, null).then(
        cost => (this._known = cost.on.length ? { cost, at: Date.now() } : null),
        () => undefined // it goes on from what was known
      );
    }
    if (this._known && this._host.isConnected) {
      const cost = grown(this._known.cost, (Date.now() - this._known.at) / 1000);
      this._say(runsWords(cost, this._gearshift.words), cost);
    }
  }

  private _stopTicking(): void {
    clearInterval(this._ticks);
    this._ticks = undefined;
    this._ticked = 0;
    this._known = null;
  }

  private _say(parts: string[], cost: SpanCost): void {
    this._line ??= new Footline(this._gearshift.words);
    this._line.say(parts, cost);
    this._host.append(this._line.node);
  }

  private _line: Footline | null = null;
  private _ticks: ReturnType<typeof setInterval> | undefined;
  private _leaves: ReturnType<typeof setTimeout> | undefined;
  private _ticked = 0;
  private _known: { cost: SpanCost; at: number } | null = null;
}
