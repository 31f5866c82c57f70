/** The same for consoles. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleCellExecutor, runCell } from '@jupyterlab/console';

import { heard } from '../models/reattach.js';
import { IGearshift } from '../tokens.js';

export const consoleQueuePlugin: JupyterFrontEndPlugin<IConsoleCellExecutor> = {
  id: 'jupyterlab-gearshift:console-queue',
  description: 'Holds code that is run in a console during a switch until it has ended.',
  autoStart: true,
  requires: [IGearshift],
  provides: IConsoleCellExecutor,
  activate: (app, { gate }: IGearshift) => ({
    runCell: async options => {
      if (gate.isClosed) {
        await gate.passed();
        const { sessionContext } = options;
        await heard(app.serviceManager.sessions, { path: sessionContext.path, sessionContext });
      }
      return options.cell.isDisposed ? false : runCell(options);
    }
  })
};
