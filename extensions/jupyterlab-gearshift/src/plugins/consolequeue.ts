/** The same for consoles. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleCellExecutor, runCell } from '@jupyterlab/console';

import { IGearshift } from '../tokens.js';

export const consoleQueuePlugin: JupyterFrontEndPlugin<IConsoleCellExecutor> = {
  id: 'jupyterlab-gearshift:console-queue',
  description: 'Holds code that is run in a console during a switch until it has ended.',
  autoStart: true,
  requires: [IGearshift],
  provides: IConsoleCellExecutor,
  activate: (_app, { gate }: IGearshift) => ({
    runCell: async options => {
      await gate.passed();
      return options.cell.isDisposed ? false : runCell(options);
    }
  })
};
