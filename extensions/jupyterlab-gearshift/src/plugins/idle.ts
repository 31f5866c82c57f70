/** The commands of idle time and of the end of work, the notification before a stop, and telling the server of a person. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import * as React from 'react';

import type { IdleAction } from '../api/answers.js';
import { asApiError } from '../api/errors.js';
import { showGearshiftDialog } from '../components/dialog.js';
import { IdleDialog } from '../components/idle/IdleDialog.js';
import { IdleNotice } from '../models/idlenotice.js';
import { Commands, IGearshift } from '../tokens.js';

const WIDTH = 470;
const TOLD_AGAIN_MS = 60_000;
const ENDS: IdleAction[] = ['drop', 'stop', 'keep'];

export const idlePlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:idle',
  description: 'Idle time, end of work, and the way back.',
  autoStart: true,
  requires: [IGearshift],
  optional: [ICommandPalette],
  activate: (app, gearshift: IGearshift, palette: ICommandPalette | null) => {
    if (!gearshift.active) {
      return;
    }
    addChoice(gearshift);
    addKeep(gearshift);
    addEnds(gearshift);
    addBack(gearshift);
    const notice = new IdleNotice(gearshift, Notification);
    app.shell.disposed.connect(() => notice.dispose());
    tellOfUse(app, gearshift);
    for (const command of [Commands.idle, Commands.keep, Commands.backTo]) {
      palette?.addItem({ command, category: 'Gearshift' });
    }
    ENDS.forEach(action => palette?.addItem({ command: Commands.whenCellEnds, args: { action }, category: 'Gearshift' }));
    void app.restored.then(() => gearshift.store.load('idle'));
  }
};

const isReady = ({ store }: IGearshift): boolean =>
  store.state.contact.state !== 'offline' && store.state.machine.value?.state === 'ready';

function addChoice(gearshift: IGearshift): void {
  const { commands, words } = gearshift;
  commands.addCommand(Commands.idle, {
    label: words.t('Idle Time and End of Work…'),
    caption: words.t('What becomes of the machine when nobody uses it'),
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => isReady(gearshift),
    execute: async () => {
      await gearshift.store.load('idle');
      await showGearshiftDialog(gearshift, { title: words.t('Idle time and end of work'), width: WIDTH }, ({ close }) =>
        React.createElement(IdleDialog, { close })
      );
    }
  });
}

function addKeep(gearshift: IGearshift): void {
  const { client, commands, words } = gearshift;
  commands.addCommand(Commands.keep, {
    label: words.t('Keep Machine 1 h More'),
    caption: words.t('Put off what happens when it is idle'),
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => isReady(gearshift),
    execute: () => answered(gearshift, client.keep(1))
  });
}

function addEnds(gearshift: IGearshift): void {
  const { client, commands, store, words } = gearshift;
  const labels: Record<string, string> = {
    drop: words.t('When This Cell Ends: Drop to CPU'),
    stop: words.t('When This Cell Ends: Stop'),
    keep: words.t('When This Cell Ends: Keep')
  };
  commands.addCommand(Commands.whenCellEnds, {
    label: args => labels[args['action'] as string] ?? words.t('When This Cell Ends'),
    caption: words.t('The server sees to it, whether a page is open or not'),
    describedBy: {
      args: { type: 'object', properties: { action: { type: 'string', enum: ENDS } }, required: ['action'] }
    },
    isToggled: args => (store.state.idle.value?.end?.action ?? 'keep') === args['action'],
    isEnabled: args => isReady(gearshift) && (args['action'] !== 'drop' || Boolean(store.state.idle.value?.drop_to)),
    execute: args => answered(gearshift, client.endOfWork(args['action'] as IdleAction, null))
  });
}

function addBack({ commands, store, words }: IGearshift): void {
  const before = (): string | null => store.state.idle.value?.before ?? null;
  const title = (): string => {
    const machine = store.state.catalog.value?.machines.find(one => one.id === before());
    return words.pick(machine?.title) || (before() ?? '');
  };
  commands.addCommand(Commands.backTo, {
    label: () => (before() ? words.t('Back to {machine}…', { machine: title() }) : words.t('Back to the Machine Before…')),
    caption: words.t('The machine this workspace was on before, with every variable'),
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => before() !== null && commands.isEnabled(Commands.switchMachine),
    execute: () => commands.execute(Commands.switchMachine, { machine: before() })
  });
}

async function answered({ store, words }: IGearshift, asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (reason) {
    Notification.error(asApiError(reason).sentence(words.language));
  }
  await store.load('idle');
}

/** A key or a click, told at most once a minute: a page that is only open is nobody at work. */
function tellOfUse(app: JupyterFrontEnd, gearshift: IGearshift): void {
  let told = 0;
  const used = (event: Event): void => {
    if (event.isTrusted && isReady(gearshift) && Date.now() - told >= TOLD_AGAIN_MS) {
      told = Date.now();
      gearshift.client.used().catch(() => (told = 0));
    }
  };
  const kinds = ['keydown', 'pointerdown'] as const;
  kinds.forEach(kind => document.addEventListener(kind, used, { capture: true, passive: true }));
  app.shell.disposed.connect(() => kinds.forEach(kind => document.removeEventListener(kind, used, { capture: true })));
}
