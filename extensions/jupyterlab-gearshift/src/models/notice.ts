/** One notification for a switch: in progress while no dialog shows it, then its result; and one when the machine stopped. */

import type { Notification } from '@jupyterlab/apputils';

import type { Operation } from '../api/records.js';
import { Commands, type IGearshift } from '../tokens.js';
import { cameFrom, isSwitch, machineOf, reportsOf, tookSeconds } from './operations.js';
import { duration } from './format.js';
import { verdictOf } from './variables.js';

type Notifier = typeof Notification;

export class SwitchNotice {
  constructor(
    private readonly _gearshift: IGearshift,
    private readonly _notifier: Notifier
  ) {
    _gearshift.store.changed.connect(this._changed);
    _gearshift.store.changed.connect(this._contact);
  }

  /** A dialog shows the switch, or no longer does. */
  dialog(shown: boolean): void {
    this._shown = shown;
    this._changed();
  }

  dispose(): void {
    this._gearshift.store.changed.disconnect(this._changed);
    this._gearshift.store.changed.disconnect(this._contact);
  }

  private readonly _changed = (): void => {
    const { store } = this._gearshift;
    const running = store.running;
    if (running && isSwitch(running)) {
      this._op = running.id;
      if (!this._shown) {
        this._progress(running);
      }
      return;
    }
    const ended = this._op ? store.state.operations.value?.find(op => op.id === this._op) : undefined;
    if (ended && ended.state !== 'running') {
      this._op = null;
      this._result(ended);
    }
  };

  private _progress(op: Operation): void {
    const { words } = this._gearshift;
    const message = words.t('Switching to {machine}', { machine: this._title(machineOf(op)) });
    if (message === this._said) {
      return;
    }
    this._said = message;
    const actions = [this._show(op, words.t('Show progress'))];
    if (this._id) {
      this._notifier.update({ id: this._id, message, actions });
    } else {
      this._id = this._notifier.emit(message, 'in-progress', { autoClose: false, actions });
    }
  }

  private _result(op: Operation): void {
    const { words } = this._gearshift;
    const done = op.state === 'done';
    const from = this._title(cameFrom(op, this._gearshift.store.state.operations.value ?? []));
    const head = done
      ? words.t('You are on {new}.', { new: this._title(machineOf(op)) })
      : words.t('Not switched. You are still on {old}.', { old: from });
    const message = done ? `${head} ${this._figures(op)}` : head;
    const actions = [this._show(op, done ? words.t('Report') : words.t('What happened'))];
    const type = done ? 'success' : 'error';
    if (this._id) {
      this._notifier.update({ id: this._id, message, type, autoClose: false, actions });
    } else if (!this._shown) {
      this._notifier.emit(message, type, { autoClose: false, actions });
    }
    this._id = null;
    this._said = '';
  }

  private _figures(op: Operation): string {
    const { words } = this._gearshift;
    const variables = reportsOf(op).flatMap(report => report.variables);
    const copied = variables.filter(one => verdictOf(one as never) === 'copy').length;
    return [
      words.n('{n} variable copied', '{n} variables copied', copied),
      words.t('{n} not moved', { n: variables.length - copied }),
      duration(tookSeconds(op, Date.now()), words.language)
    ].join(' · ');
  }

  private _show(op: Operation, label: string): Notification.IAction {
    const { commands } = this._gearshift;
    return { label, callback: () => void commands.execute(Commands.switchMachine, { operation: op.id }) };
  }

  private _title(id: string | null): string {
    const machine = this._gearshift.store.state.catalog.value?.machines.find(one => one.id === id);
    return this._gearshift.words.pick(machine?.title) || (id ?? '');
  }

  /** One word when contact is back; the panel shows it while it is gone. */
  private readonly _contact = (): void => {
    const { store, words } = this._gearshift;
    const { state } = store.state.contact;
    if (this._was === 'offline' && state === 'online') {
      this._notifier.info(words.t('Back online. Nothing was missed.'), { autoClose: 5000 });
    }
    this._was = state;
  };

  private _was = 'connecting';
  private _op: string | null = null;
  private _id: string | null = null;
  private _said = '';
  private _shown = false;
}
