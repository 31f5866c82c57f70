/** One notification when a start did not bring back all of its kernels: once for each start, in the page that comes first. */

import type { Notification } from '@jupyterlab/apputils';

import type { Operation } from '../api/records.js';
import { Commands, type IGearshift } from '../tokens.js';
import { outcomeOf, reportsOf, restoredBy } from './operations.js';

const TOLD = 'gearshift:told-start';
const COMES_BACK = ['copied', 'rebuilt'];

type Notifier = Pick<typeof Notification, 'emit'>;
/** What the pages of this browser have told already. */
type Memory = Pick<Storage, 'getItem' | 'setItem'>;

export class StartNotice {
  constructor(
    private readonly _gearshift: Pick<IGearshift, 'store' | 'words' | 'commands' | 'client'>,
    private readonly _notifier: Notifier,
    private readonly _memory: Memory
  ) {
    _gearshift.store.changed.connect(this._changed);
  }

  dispose(): void {
    this._gearshift.store.changed.disconnect(this._changed);
  }

  private readonly _changed = (): void => {
    const start = this._gearshift.store.state.operations.value?.find(op => op.kind === 'start');
    if (start?.state !== 'done' || start.id === this._seen) {
      return;
    }
    this._seen = start.id;
    const message = this._message(start);
    const key = `${TOLD}:${this._gearshift.client.workspace}`;
    if (message && this._memory.getItem(key) !== start.id) {
      this._memory.setItem(key, start.id);
      this._notifier.emit(message, 'warning', { autoClose: false, actions: [this._report(start)] });
    }
  };

  private _message(start: Operation): string | null {
    const { words } = this._gearshift;
    const restored = restoredBy(start);
    if (!restored) {
      return null;
    }
    const variables = reportsOf(start).flatMap(report => report.variables);
    const missing = variables.filter(one => !COMES_BACK.includes(outcomeOf(one))).length;
    if (missing) {
      return words.n('{n} variable did not come back with this start.', '{n} variables did not come back with this start.', missing);
    }
    return restored.ok ? null : words.t('Not all that was kept came back with this start.');
  }

  private _report({ id }: Operation): Notification.IAction {
    const { commands, words } = this._gearshift;
    return { label: words.t('Report'), callback: () => void commands.execute(Commands.history, { operation: id }) };
  }

  private _seen: string | null = null;
}
