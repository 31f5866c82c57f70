/** The moves of the switch dialog: choose, plan, confirm, follow; a plan that is no longer true is made anew and says so. */

import { Signal, type ISignal } from '@lumino/signaling';

import type { Plan, SwitchFigures } from '../api/answers.js';
import type { Client } from '../api/client.js';
import { asApiError, type ApiError } from '../api/errors.js';
import type { Operation } from '../api/records.js';
import type { Language } from './format.js';

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
  language: Language;
  /** What to say when the figures were read again because their time was over. */
  renewed: string;
  began: (operation: Operation) => void;
}

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

  get leaveOut(): ReadonlySet<string> {
    return this._leaveOut;
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
    void this._read(null);
  };

  readonly setLeaveOut = (names: ReadonlySet<string>): void => {
    this._leaveOut = names;
    this._changed.emit();
    void this._read(null);
  };

  readonly setBusyWay = (way: BusyWay): void => {
    this._busyWay = way;
    this._changed.emit();
    void this._read(null);
  };

  readonly renew = (): void => void this._read(this._world.renewed);

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
    const note = error.sentence(this._world.language);
    if (error.code === 'sold_out') {
      this._to({ at: 'soldout', error });
    } else if (error.code.startsWith('plan_')) {
      void this._read(note);
    } else {
      this._to({ at: 'plan', plan: shown, note, busy: false });
    }
  }

  /** Only the answer to the latest question counts. */
  private async _read(note: string | null): Promise<void> {
    const turn = ++this._turn;
    const { client } = this._world;
    const body = {
      kind: 'switch',
      workspace: client.workspace,
      machine: this._machine,
      leave_out: [...this._leaveOut],
      busy: this._busyWay
    };
    try {
      const plan = await client.plan<SwitchFigures>(body);
      if (turn === this._turn) {
        this._to({ at: 'plan', plan, note, busy: false });
      }
    } catch (reason) {
      const error = asApiError(reason);
      if (turn === this._turn) {
        this._to(error.code === 'sold_out' ? { at: 'soldout', error } : { at: 'planning', since: Date.now(), error });
      }
    }
  }

  private _to(stage: Stage): void {
    this._stage = stage;
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _stage: Stage = { at: 'choose' };
  private _machine: string | null = null;
  private _planned: Planned | null = null;
  private _leaveOut: ReadonlySet<string> = new Set();
  private _busyWay: BusyWay = 'wait';
  private _turn = 0;
}
