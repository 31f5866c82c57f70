/** The commands that switch and stop, their dialogs, and the one notification of a switch. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import * as React from 'react';

import type { Operation } from '../api/records.js';
import { ConfirmDialog } from '../components/confirm/ConfirmDialog.js';
import { showGearshiftDialog } from '../components/dialog.js';
import { History } from '../components/switch/History.js';
import { SwitchDialog, type SwitchArgs } from '../components/switch/SwitchDialog.js';
import { swapIcon } from '../icons.js';
import { SwitchNotice } from '../models/notice.js';
import { StartNotice } from '../models/startnotice.js';
import { Commands, IGearshift } from '../tokens.js';

const WIDE = 940;
const NARROW = 430;
const MIDDLE = 620;

export const switchingPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:switching',
  description: 'Switch and stop the machine.',
  autoStart: true,
  requires: [IGearshift],
  activate: (app, gearshift: IGearshift) => {
    if (!gearshift.active) {
      return;
    }
    const notice = new SwitchNotice(gearshift, Notification);
    // Lab fetches the code of its notifications when the first one shows; during a switch its server is away.
    void app.restored.then(() => import('react-toastify')).catch(() => undefined);
    addSwitch(gearshift, notice);
    addDropToCpu(gearshift);
    addStop(gearshift);
    addHistory(gearshift);
    const startNotice = new StartNotice(gearshift, Notification, localStorage);
    app.shell.disposed.connect(() => [notice, startNotice].forEach(one => one.dispose()));
  }
};

const isOpen = ({ store }: IGearshift): boolean =>
  store.state.contact.state !== 'offline' && store.state.machine.value?.state !== 'stopped';

function addSwitch(gearshift: IGearshift, notice: SwitchNotice): void {
  const { t } = gearshift.words;
  let shown = false;
  gearshift.commands.addCommand(Commands.switchMachine, {
    label: args => (args['isLauncher'] ? t('Switch machine') : t('Switch Machine…')),
    caption: t('Change the machine under this workspace; kernels keep their variables'),
    icon: swapIcon,
    describedBy: {
      args: { type: 'object', properties: { machine: { type: 'string' }, operation: { type: 'string' } } }
    },
    isEnabled: () => isOpen(gearshift),
    execute: async args => {
      if (shown) {
        return;
      }
      shown = true;
      const running = gearshift.store.running;
      const wanted = args as SwitchArgs;
      const shows = running && !wanted.operation ? { operation: running.id } : wanted;
      notice.dialog(true);
      try {
        await showGearshiftDialog(gearshift, { title: t('Switch machine'), width: WIDE }, ({ close }) =>
          React.createElement(SwitchDialog, { close, args: shows })
        );
      } finally {
        shown = false;
        notice.dialog(false);
      }
    }
  });
}

function addDropToCpu({ commands, store, words }: IGearshift): void {
  const cheapest = (): string | undefined => {
    const machines = store.state.catalog.value?.machines ?? [];
    const cpus = machines.filter(machine => machine.chip === null && !machine.current && machine.fits !== false);
    return cpus.sort((a, b) => a.price_per_hour_nano - b.price_per_hour_nano)[0]?.id;
  };
  const onChip = (): boolean => store.state.catalog.value?.machines.find(machine => machine.current)?.chip != null;
  commands.addCommand(Commands.dropToCpu, {
    label: words.t('Drop to CPU…'),
    caption: words.t('Go to the cheapest machine without a chip and keep every variable'),
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => store.state.contact.state !== 'offline' && onChip() && cheapest() !== undefined,
    execute: async () => {
      await commands.execute(Commands.switchMachine, { machine: cheapest() });
    }
  });
}

function addStop(gearshift: IGearshift): void {
  const { client, commands, store, words } = gearshift;
  commands.addCommand(Commands.stop, {
    label: words.t('Stop Machine…'),
    caption: words.t('Save the kernels, stop the machine, end charging'),
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => isOpen(gearshift),
    execute: () => {
      const body = { kind: 'stop', workspace: client.workspace };
      return showGearshiftDialog(gearshift, { title: words.t('Stop Machine…'), width: NARROW }, ({ close }) =>
        React.createElement(ConfirmDialog, {
          close,
          body,
          heading: words.t('Stop machine?'),
          done: answer => store.operation(answer as Operation)
        })
      );
    }
  });
}

function addHistory(gearshift: IGearshift): void {
  const { commands, words } = gearshift;
  commands.addCommand(Commands.history, {
    label: words.t('Show Switch History'),
    caption: words.t('The reports of earlier switches'),
    describedBy: { args: { type: 'object', properties: { operation: { type: 'string' } } } },
    execute: args =>
      showGearshiftDialog(gearshift, { title: words.t('History'), width: MIDDLE }, ({ close }) =>
        React.createElement(History, { close, operation: args['operation'] as string | undefined })
      )
  });
}
