/** Disks: their view, and the commands that make, share, attach and delete them. */

import { ILayoutRestorer, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import * as React from 'react';

import { asApiError } from '../api/errors.js';
import type { Mode } from '../api/records.js';
import { ConfirmDialog } from '../components/confirm/ConfirmDialog.js';
import { showGearshiftDialog } from '../components/dialog.js';
import { NewDiskDialog, ShareDialog } from '../components/views/DiskDialogs.js';
import { DisksView } from '../components/views/DisksView.js';
import { diskIcon } from '../icons.js';
import { Commands, IGearshift } from '../tokens.js';
import { addView } from './mainarea.js';

const NARROW = 430;
const SHARE = 620;
const DISK = { type: 'object', properties: { disk: { type: 'string' } } } as const;

export const disksPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:disks',
  description: 'Disks in the main area.',
  autoStart: true,
  requires: [IGearshift],
  optional: [ILayoutRestorer],
  activate: (app, gearshift: IGearshift, restorer: ILayoutRestorer | null) => {
    if (!gearshift.active) {
      return;
    }
    const { t } = gearshift.words;
    addView(app, gearshift, {
      command: Commands.disks,
      id: 'gearshift-disks',
      argument: 'disk',
      label: t('Open Disks'),
      title: t('Disks'),
      caption: t('Disks of your own and those shared with you'),
      icon: diskIcon,
      restorer,
      draw: choice => React.createElement(DisksView, { choice })
    });
    addDialogs(gearshift);
    addAttaching(gearshift);
    addTakingAway(gearshift);
  }
};

function addDialogs(gearshift: IGearshift): void {
  const { commands, words } = gearshift;
  commands.addCommand(Commands.newDisk, {
    label: words.t('New Disk…'),
    caption: words.t('Make a disk that several workspaces and people can use'),
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () =>
      showGearshiftDialog(gearshift, { title: words.t('New disk'), width: NARROW }, ({ close }) =>
        React.createElement(NewDiskDialog, { close })
      )
  });
  commands.addCommand(Commands.shareDisk, {
    label: words.t('Share…'),
    describedBy: { args: DISK },
    execute: args =>
      showGearshiftDialog(gearshift, { title: words.t('Share…'), width: SHARE }, ({ close }) =>
        React.createElement(ShareDialog, { close, disk: args['disk'] as string })
      )
  });
}

function addAttaching({ client, commands, store, words }: IGearshift): void {
  const then = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => store.loadAll(['machine', 'disks']),
      reason => Notification.error(asApiError(reason).sentence(words.language))
    );
  commands.addCommand(Commands.attachDisk, {
    label: words.t('Attach'),
    describedBy: { args: { type: 'object', properties: { disk: { type: 'string' }, mode: { type: 'string' } } } },
    execute: args => then(client.attachDisk(args['disk'] as string, args['mode'] as Mode))
  });
  commands.addCommand(Commands.detachDisk, {
    label: words.t('Detach'),
    describedBy: { args: DISK },
    execute: args => then(client.detachDisk(args['disk'] as string))
  });
}

function addTakingAway(gearshift: IGearshift): void {
  const { commands, store, words } = gearshift;
  const confirm = (body: Record<string, unknown>, heading: string): Promise<void> =>
    showGearshiftDialog(gearshift, { title: heading, width: NARROW }, ({ close }) =>
      React.createElement(ConfirmDialog, { close, body, heading, done: () => void store.load('disks') })
    );
  commands.addCommand(Commands.deleteDisk, {
    label: words.t('Delete…'),
    describedBy: { args: DISK },
    execute: args => confirm({ kind: 'delete_disk', disk: args['disk'] }, words.t('Delete disk?'))
  });
  commands.addCommand(Commands.removeMember, {
    label: words.t('Remove…'),
    describedBy: { args: { type: 'object', properties: { disk: { type: 'string' }, user: { type: 'string' } } } },
    execute: args =>
      confirm(
        { kind: 'remove_member', disk: args['disk'], user: args['user'] },
        words.t('Remove member?')
      )
  });
}
