/** The moves of the switch dialog: choose, plan, confirm, follow; a plan that is no longer true is made anew and says so. */

import { Signal, type ISignal } from '@lumino/signaling';

import type { Plan, SwitchFigures } from '../api/answers.js';
import type { Client } from '../api/client.js';
import { asApiError, type ApiError } from '../api/errors.js';
import type { Operation } from '../api/records.js';
import type { Words } from '../i18n.js';
import { asLastRead, changesOf, toggled, type Chosen, type Row } from './variables.js';

export type BusyWay = 'wait' | 'interrupt' | 'leave';

export type Stage =
  | { at: 'choose' }
  | { at: 'planning'; since: number; error: ApiError | null }
  | { at: 'plan'; plan: Plan<SwitchFigures>; note: string | null; busy: boolean }
  | { at: 'operation'; id: string }
  | { at: 'soldout'; error: ApiError };

/** What was confirmed on this page, so that it can be named before the journal does. */
export interface Planned {
  to: string;
  from: string;
  seconds: number;
}

export interface FlowWorld {
  client: Client;
  words: Pick<Words, 't' | 'language'>;
  began: (operation: Operation) => void;
}

/** Why a plan is read again; what is said of it follows from that and from what is different then. */
type Why = 'asked' | 'over' | 'ran' | { refused: string };

const SHOWN = 3;

export class SwitchFlow {
  constructor(
    private readonly _world: FlowWorld,
    start: { machine?: string; operation?: string }
  ) {
    if (start.operation) {
      this._stage = { at: 'operation', id: start.operation };
    } else if (start.machine) {
      this.plan(start.machine);
    }
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get stage(): Stage {
    return this._stage;
  }

  get machine(): string | null {
    return this._machine;
  }

  get planned(): Planned | null {
    return this._planned;
  }

  /** What stays behind although it could be copied. */
  get leaveOut(): Chosen {
    return this._leaveOut;
  }

  /** What is made again by running its cells: what the plan suggests, until a person chooses. */
  get rerun(): Chosen {
    return this._rerun ?? (this._stage.at === 'plan' ? this._stage.plan.figures.rerun : {});
  }

  /** The save is kept, to be brought back later. */
  get snapshot(): boolean {
    return this._snapshot;
  }

  get busyWay(): BusyWay {
    return this._busyWay;
  }

  readonly select = (machine: string): void => {
    this._machine = machine;
    this._changed.emit();
  };

  readonly choose = (): void => this._to({ at: 'choose' });

  /** Ask for the plan of a machine; nothing happens yet. */
  readonly plan = (machine: string | null): void => {
    this._machine = machine;
    if (!machine) {
      this.choose();
      return;
    }
    this._to({ at: 'planning', since: Date.now(), error: null });
    void this._read('asked');
  };

  /** Take a copy along, or leave it; run the cells of a lost one again, or do not. */
  readonly toggle = (row: Pick<Row, 'kernel' | 'name' | 'kind'>): void => {
    if (row.kind === 'copy' || row.kind === 'left_out') {
      this._leaveOut = toggled(this._leaveOut, row);
    } else {
      this._rerun = toggled(this.rerun, row);
    }
    this._changed.emit();
    void this._read('asked');
  };

  readonly setBusyWay = (way: BusyWay): void => {
    this._busyWay = way;
    this._changed.emit();
    void this._read('asked');
  };

  readonly setSnapshot = (snapshot: boolean): void => {
    this._snapshot = snapshot;
    this._changed.emit();
    void this._read('asked');
  };

  readonly renew = (): void => void this._read('over');

  /** A kernel runs a cell, or has ended one: the plan that shows is old. */
  readonly ran = (): void => {
    if (this._stage.at === 'plan' && !this._stage.busy) {
      void this._read('ran');
    }
  };

  readonly confirm = async (shown: Plan<SwitchFigures>): Promise<void> => {
    this._to({ at: 'plan', plan: shown, note: null, busy: true });
    try {
      const operation = await this._world.client.confirm<Operation>(shown.id);
      const { to, from, seconds } = shown.figures;
      this._planned = { to: to.machine, from: from.machine, seconds };
      this._world.began(operation);
      this._to({ at: 'operation', id: operation.id });
    } catch (reason) {
      this._refused(asApiError(reason), shown);
    }
  };

  private _refused(error: ApiError, shown: Plan<SwitchFigures>): void {
    const note = error.sentence(this._world.words.language);
    if (error.code === 'sold_out') {
      this._to({ at: 'soldout', error });
    } else if (error.code.startsWith('plan_')) {
      void this._read({ refused: note });
    } else {
      this._to({ at: 'plan', plan: shown, note, busy: false });
    }
  }

  /** Only the answer to the latest question counts. */
  private async _read(why: Why): Promise<void> {
    const turn = ++this._turn;
    const { client } = this._world;
    const body = {
      kind: 'switch',
      workspace: client.workspace,
      machine: this._machine,
      leave_out: this._leaveOut,
      rerun: this._rerun ?? 'suggested',
      busy: this._busyWay,
      snapshot: this._snapshot
    };
    try {
      const plan = await client.plan<SwitchFigures>(body);
      if (turn === this._turn) {
        const before = this._stage.at === 'plan' ? this._last : null;
        this._last = asLastRead(plan.figures, before);
        this._to({ at: 'plan', plan, note: this._note(why, before, this._last), busy: false });
      }
    } catch (reason) {
      const error = asApiError(reason);
      if (turn === this._turn) {
        this._to(error.code === 'sold_out' ? { at: 'soldout', error } : { at: 'planning', since: Date.now(), error });
      }
    }
  }

  /** What is said above a plan that was made anew: what is different, else why it was read again. */
  private _note(why: Why, before: SwitchFigures | null, after: SwitchFigures): string | null {
    const { t, language } = this._world.words;
    if (why === 'asked' || !before) {
      return typeof why === 'object' ? why.refused : null;
    }
    const { price, names } = changesOf(before, after);
    const said = [...(price ? [t('the price')] : []), ...names.slice(0, SHOWN), ...(names.length > SHOWN ? ['…'] : [])];
    if (said.length) {
      const what = said.join(language === 'zh' ? '、' : ', ');
      return t('Plan updated: {what} changed. Check and press again.', { what });
    }
    if (typeof why === 'object') {
      return why.refused;
    }
    const held = this._stage.at === 'plan' ? this._stage.note : null;
    return why === 'over' ? t('Plan updated: the figures were read again.') : held;
  }

  private _to(stage: Stage): void {
    this._stage = stage;
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _stage: Stage = { at: 'choose' };
  private _machine: string | null = null;
  private _planned: Planned | null = null;
  private _leaveOut: Chosen = {};
  private _rerun: Chosen | null = null;
  private _busyWay: BusyWay = 'wait';
  private _snapshot = true;
  private _last: SwitchFigures | null = null;
  private _turn = 0;
}
