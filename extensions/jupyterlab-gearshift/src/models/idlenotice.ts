/** The one notification before a machine stops or drops by itself; it goes when that is put off or called off. */

import type { Notification } from '@jupyterlab/apputils';

import type { Idle } from '../api/answers.js';
import { Commands, type IGearshift } from '../tokens.js';
import { moment } from './format.js';

type Notifier = typeof Notification;

export class IdleNotice {
  constructor(
    private readonly _gearshift: IGearshift,
    private readonly _notifier: Notifier
  ) {
    _gearshift.store.changed.connect(this._changed);
  }

  dispose(): void {
    this._gearshift.store.changed.disconnect(this._changed);
  }

  private readonly _changed = (): void => {
    const { state } = this._gearshift.store;
    const idle = state.idle.value;
    const here = state.machine.value?.state === 'ready';
    const shown = here && idle?.warned && idle.acts_at ? this._message(idle, idle.acts_at) : null;
    if (shown === this._said) {
      return;
    }
    this._said = shown;
    if (this._id) {
      this._notifier.dismiss(this._id);
      this._id = null;
    }
    if (shown) {
      this._id = this._notifier.emit(shown, 'warning', { autoClose: false, actions: this._actions() });
    }
  };

  private _actions(): Notification.IAction[] {
    const { commands, words } = this._gearshift;
    const run = (command: string) => (): void => void commands.execute(command);
    return [
      { label: words.t('Keep 1 h more'), callback: run(Commands.keep), displayType: 'accent' },
      { label: words.t('Change…'), callback: run(Commands.idle) }
    ];
  }

  private _message(idle: Idle, acts_at: string): string {
    const { words, store } = this._gearshift;
    const time = moment(new Date(acts_at), words.language, new Date(), true);
    const why = {
      idle: words.t('Nothing runs and nobody works here'),
      stuck: words.t('Busy for long without computing'),
      end_of_work: words.t('The work has ended')
    }[idle.cause ?? 'idle'];
    const machine = store.state.catalog.value?.machines.find(one => one.id === idle.drop_to);
    return idle.next === 'drop'
      ? words.t('{why}: drops to {machine} at {time} with its variables.', {
          why,
          time,
          machine: words.pick(machine?.title) || (idle.drop_to ?? '')
        })
      : words.t('{why}: stops at {time}. Kernel state is saved first.', { why, time });
  }

  private _id: string | null = null;
  private _said: string | null = null;
}
