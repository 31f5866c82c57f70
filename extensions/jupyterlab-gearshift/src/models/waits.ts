/** Waiting for a machine: what is under way, and the one notification for each thing that comes of it. */

import type { Notification } from '@jupyterlab/apputils';

import type { Wait } from '../api/records.js';
import { Commands, type IGearshift } from '../tokens.js';
import { moment, type Language } from './format.js';

type Notifier = typeof Notification;

export const isUnderWay = ({ state }: Wait): boolean => state === 'waiting' || state === 'held' || state === 'begun';

function failure({ error }: Wait, language: Language): string {
  const said = error as { message: string; message_zh: string } | null;
  return (language === 'zh' ? said?.message_zh : said?.message) ?? '';
}

/** What a wait came to is told once, to pages that knew of it while it was under way; a hold is told to every page. */
export class WaitNotice {
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
    const waits = this._gearshift.store.state.waits.value;
    if (waits === this._seen || !waits) {
      return;
    }
    this._seen = waits;
    for (const wait of waits) {
      const told = this._told.get(wait.id);
      const now = `${wait.state} ${wait.held_until} ${wait.others_wait}`;
      if (told === now || (told === undefined && !isUnderWay(wait))) {
        continue;
      }
      this._told.set(wait.id, now);
      this._tell(wait);
    }
  };

  private _tell(wait: Wait): void {
    const held = this._ids.get(wait.id);
    if (held) {
      this._notifier.dismiss(held);
      this._ids.delete(wait.id);
    }
    const message = this._message(wait);
    if (message) {
      const type = wait.state === 'failed' ? 'error' : wait.state === 'held' ? 'warning' : 'info';
      const actions = wait.state === 'held' ? this._actions(wait) : [];
      this._ids.set(wait.id, this._notifier.emit(message, type, { autoClose: false, actions }));
    }
  }

  private _message(wait: Wait): string | null {
    const { words } = this._gearshift;
    const machine = this._title(wait.spec.machine);
    const at = (iso: string | null): string => (iso ? moment(new Date(iso), words.language) : '–');
    switch (wait.state) {
      case 'held':
        return wait.mode === 'ask' ? words.t('{machine} is free and held for you until {time}.', { machine, time: at(wait.held_until) }) : null;
      case 'passed':
        return words.t('The {machine} held for you was given to the next in line at {time}.', { machine, time: at(wait.ended_at) });
      case 'lapsed':
        return words.t('The {machine} held for you was given back at {time}.', { machine, time: at(wait.ended_at) });
      case 'over':
        return words.t('{machine} did not become free by {time}. Nothing was charged.', { machine, time: at(wait.until) });
      case 'failed':
        return failure(wait, words.language);
      default:
        return null;
    }
  }

  private _actions(wait: Wait): Notification.IAction[] {
    const { client, commands, home, store, words } = this._gearshift;
    const here = wait.workspace === client.workspace;
    const go = (): void =>
      here ? void commands.execute(Commands.switchMachine, { machine: wait.spec.machine }) : void window.open(home, '_blank', 'noopener');
    const then = (asked: Promise<unknown>): void => void asked.finally(() => void store.load('waits')).catch(() => undefined);
    const label = here ? words.t('Show plan') : words.t('Open start page');
    const keep: Notification.IAction = { label: words.t('Hold longer'), callback: () => then(client.keepWait(wait.id)) };
    return [
      { label, callback: go, displayType: 'accent' },
      ...(wait.others_wait ? [] : [keep]),
      { label: words.t('Let it go'), callback: () => then(client.withdrawWait(wait.id)) }
    ];
  }

  private _title(id: string): string {
    const machine = this._gearshift.store.state.catalog.value?.machines.find(one => one.id === id);
    return this._gearshift.words.pick(machine?.title) || id;
  }

  private _seen: readonly Wait[] | null = null;
  private readonly _told = new Map<string, string>();
  private readonly _ids = new Map<string, string>();
}
