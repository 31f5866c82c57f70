/** Palette, launcher, and the command that reads the machine aloud. The Kernel menu and the keys are in the schema. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';

import { formatFor } from '../components/context.js';
import { machineLook } from '../components/words.js';
import { percentInUse } from '../models/meters.js';
import { Commands, IGearshift } from '../tokens.js';

const CATEGORY = 'Gearshift';
const PALETTE = [
  Commands.switchMachine,
  Commands.panel,
  Commands.dropToCpu,
  Commands.stop,
  Commands.history,
  Commands.disks,
  Commands.newDisk,
  Commands.datasets,
  Commands.jobs,
  Commands.cost,
  Commands.announce
];
const LAUNCHER = [Commands.switchMachine, Commands.datasets, Commands.disks, Commands.jobs, Commands.cost];

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:commands',
  description: 'Palette, launcher and announcements.',
  autoStart: true,
  requires: [IGearshift],
  optional: [ICommandPalette, ILauncher],
  activate: (app, gearshift: IGearshift, palette: ICommandPalette | null, launcher: ILauncher | null) => {
    if (!gearshift.active) {
      return;
    }
    addAnnounce(app, gearshift);
    PALETTE.forEach(command => palette?.addItem({ command, category: CATEGORY }));
    LAUNCHER.forEach((command, rank) =>
      launcher?.add({ command, category: CATEGORY, rank, args: { isLauncher: true } })
    );
  }
};

function addAnnounce(app: JupyterFrontEnd, gearshift: IGearshift): void {
  const region = document.createElement('div');
  region.className = 'gs-hidden';
  region.setAttribute('role', 'status');
  document.body.append(region);
  app.commands.addCommand(Commands.announce, {
    label: gearshift.words.t('Announce Machine and Cost'),
    caption: gearshift.words.t('Read machine, use, price and balance aloud'),
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => {
      region.textContent = '';
      requestAnimationFrame(() => (region.textContent = spoken(gearshift)));
    }
  });
}

function spoken(gearshift: IGearshift): string {
  const { store, words } = gearshift;
  const { catalog, machine, me, metrics } = store.state;
  const format = formatFor(gearshift, store.state);
  if (!machine.value) {
    return words.t('This workspace has no machine.');
  }
  const found = catalog.value?.machines.find(one => one.id === machine.value?.spec.machine);
  const use = percentInUse(metrics.value);
  const price = machine.value.price_per_hour_nano;
  return [
    words.pick(found?.title) || machine.value.spec.machine,
    machineLook(words, machine.value).word,
    use === null ? null : words.t('{n}% in use', { n: Math.round(use) }),
    price === null ? null : words.t('{price} per hour', { price: format.money(price) }),
    me.value ? words.t('balance {amount}', { amount: format.money(me.value.balance_nano) }) : null
  ]
    .filter(Boolean)
    .join('. ');
}
