/** The waitlist in Lab: the consent dialog of what happens by itself, and the notification when a machine is held. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import * as React from 'react';

import { ConfirmDialog } from '../components/confirm/ConfirmDialog.js';
import { showGearshiftDialog } from '../components/dialog.js';
import { WaitNotice } from '../models/waits.js';
import { Commands, IGearshift } from '../tokens.js';

const WIDTH = 430;

export const waitsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:waits',
  description: 'Waiting for a machine that is sold out.',
  autoStart: true,
  requires: [IGearshift],
  activate: (app, gearshift: IGearshift) => {
    if (!gearshift.active) {
      return;
    }
    addAgree(gearshift);
    const notice = new WaitNotice(gearshift, Notification);
    app.shell.disposed.connect(() => notice.dispose());
    void app.restored.then(() => gearshift.store.load('waits'));
  }
};

/** It opens the dialog and fills it; only the press there agrees. */
function addAgree(gearshift: IGearshift): void {
  const { commands, client, store, words } = gearshift;
  commands.addCommand(Commands.agreeWait, {
    label: words.t('Switch by Itself When Free…'),
    describedBy: {
      args: {
        type: 'object',
        properties: { machine: { type: 'string' }, cap_nano: { type: 'number' }, until: { type: 'string' } },
        required: ['machine', 'cap_nano', 'until']
      }
    },
    execute: args => {
      const body = { kind: 'wait', what: 'switch', workspace: client.workspace, ...args };
      const heading = words.t('Switch by itself?');
      return showGearshiftDialog(gearshift, { title: heading, width: WIDTH }, ({ close }) =>
        React.createElement(ConfirmDialog, { close, body, heading, done: () => void store.load('waits') })
      );
    }
  });
}
