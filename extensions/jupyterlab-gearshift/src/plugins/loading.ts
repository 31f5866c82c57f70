/** A shared notebook that takes long to open: during a switch, or on a busy machine. It is waited for without a question.
 *
 * The package asks after five seconds, in a dialog that stays in the way when the notebook is there. The tab says that
 * it is loading, the panel why the server is away, and a notebook that cannot be opened is told all the same.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog } from '@jupyterlab/apputils';
import { ITranslator } from '@jupyterlab/translation';
import { type Message, MessageLoop } from '@lumino/messaging';

const ASKED = 'The document is taking some time to load. What would you like to do?';
const GO_ON_WAITING = 1;

export const loadingPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:loading',
  description: 'Waits for a shared notebook that takes long to open.',
  autoStart: true,
  requires: [ITranslator],
  activate: (_app, translator: ITranslator) => {
    const asked = translator.load('jupyter_collaboration').__(ASKED);
    Dialog.tracker.widgetAdded.connect((_, dialog) => {
      // One that is answered before it is shown counts as cancelled.
      MessageLoop.installMessageHook(dialog, (_handler: unknown, message: Message) => {
        if (message.type === 'after-attach' && dialog.node.textContent?.includes(asked)) {
          queueMicrotask(() => dialog.resolve(GO_ON_WAITING));
        }
        return true;
      });
    });
  }
};
