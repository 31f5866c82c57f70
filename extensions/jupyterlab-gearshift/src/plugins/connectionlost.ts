/** What Lab does when its server does not answer: nothing of its own during a switch; the panel says what is going on. */

import { IConnectionLost, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';

import { IGearshift } from '../tokens.js';

export const connectionLostPlugin: JupyterFrontEndPlugin<IConnectionLost> = {
  id: 'jupyterlab-gearshift:connectionlost',
  description: 'Says in the panel, not in a dialog, that the server is away.',
  autoStart: true,
  requires: [IGearshift],
  provides: IConnectionLost,
  activate: (_app, { words }: IGearshift) => {
    let asked = false;
    return async (_manager, error) => {
      const status = error instanceof ServerConnection.ResponseError ? error.response.status : 0;
      if (asked || (status !== 401 && status !== 403)) {
        return;
      }
      asked = true;
      const { button } = await showDialog({
        title: words.t('Sign in again to go on.'),
        body: words.t('Your kernel keeps running. Your work is kept.'),
        buttons: [
          Dialog.cancelButton({ label: words.t('Later') }),
          Dialog.okButton({ label: words.t('Sign in') })
        ]
      });
      if (button.accept) {
        location.reload();
      }
    };
  }
};
