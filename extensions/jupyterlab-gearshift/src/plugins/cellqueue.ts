/** Cells of notebooks that are run during a switch are sent when it has ended. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { CodeCell } from '@jupyterlab/cells';
import { INotebookCellExecutor, runCell } from '@jupyterlab/notebook';

import { heard } from '../models/reattach.js';
import { IGearshift } from '../tokens.js';

export const cellQueuePlugin: JupyterFrontEndPlugin<INotebookCellExecutor> = {
  id: 'jupyterlab-gearshift:cell-queue',
  description: 'Holds cells that are run during a switch until it has ended.',
  autoStart: true,
  requires: [IGearshift],
  provides: INotebookCellExecutor,
  activate: (app, { gate }: IGearshift) => ({
    runCell: async options => {
      if (gate.isClosed && options.cell.model.type === 'code') {
        (options.cell as CodeCell).setPrompt('*');
        await gate.passed();
        if (options.sessionContext) {
          const { sessionContext } = options;
          await heard(app.serviceManager.sessions, { path: sessionContext.path, sessionContext });
        }
      }
      return options.cell.isDisposed ? false : runCell(options);
    }
  })
};
