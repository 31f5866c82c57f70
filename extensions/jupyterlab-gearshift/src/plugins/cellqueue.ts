/** Cells of notebooks that are open on the server are run there; during a switch they wait until it has ended. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { CodeCell } from '@jupyterlab/cells';
import { INotebookCellExecutor, runCell } from '@jupyterlab/notebook';

import type { CellCosts } from '../models/cellcost.js';
import { heard } from '../models/reattach.js';
import { ended, ServerRuns } from '../models/serverruns.js';
import { IGearshift } from '../tokens.js';

type Options = INotebookCellExecutor.IRunCellOptions;

export const cellQueuePlugin: JupyterFrontEndPlugin<INotebookCellExecutor> = {
  id: 'jupyterlab-gearshift:cell-queue',
  description: 'Has cells run by the server, and holds those that are run during a switch until it has ended.',
  autoStart: true,
  requires: [IGearshift],
  provides: INotebookCellExecutor,
  activate: (app, gearshift: IGearshift) => {
    const { active, gate, client, costs, words } = gearshift;
    const runs = new ServerRuns((kernel, document, cells) => client.execute(kernel, document, cells));
    return {
      runCell: async options => {
        if (gate.isClosed && options.cell.model.type === 'code') {
          (options.cell as CodeCell).setPrompt('*');
          await gate.passed();
          if (options.sessionContext) {
            const { sessionContext } = options;
            await heard(app.serviceManager.sessions, { path: sessionContext.path, sessionContext });
          }
        }
        if (options.cell.isDisposed) {
          return false;
        }
        const document = documentOf(options);
        if (document === null) {
          return active ? runHere(options, costs) : runCell(options);
        }
        return runThere(options, document, runs, reason =>
          showDialog({
            title: words.t('This cell was not run.'),
            body: String(reason instanceof Error ? reason.message : reason),
            buttons: [Dialog.okButton()]
          })
        );
      }
    };
  }
};

/** In the page, with the times that its kernel tells, which its cost follows from. */
async function runHere(options: Options, costs: CellCosts): Promise<boolean> {
  const { cell, notebookConfig, onCellExecutionScheduled } = options;
  let isRun = false;
  try {
    return await runCell({
      ...options,
      notebookConfig: { ...notebookConfig, recordTiming: true },
      onCellExecutionScheduled: scheduled => {
        isRun = true;
        costs.begins(cell.model);
        onCellExecutionScheduled(scheduled);
      }
    });
  } finally {
    if (isRun) {
      void costs.ended(cell.model);
    }
  }
}

/** The shared document of a code cell that has something to run, where its notebook is one. */
function documentOf({ cell, notebook, sessionContext }: Options): string | null {
  const id = notebook.sharedModel.getState('document_id');
  const isCode = cell.model.type === 'code' && cell.model.sharedModel.getSource().trim() !== '';
  const isReady = sessionContext && !sessionContext.isTerminating;
  return isCode && isReady && typeof id === 'string' && id.startsWith('json:notebook:') ? id : null;
}

async function runThere(
  options: Options,
  document: string,
  runs: ServerRuns,
  refused: (reason: unknown) => Promise<unknown>
): Promise<boolean> {
  const { sessionContext, sessionDialogs, onCellExecuted, onCellExecutionScheduled } = options;
  const cell = options.cell as CodeCell;
  if (sessionContext?.hasNoKernel && (await sessionContext.startKernel()) && sessionDialogs) {
    await sessionDialogs.selectKernel(sessionContext);
  }
  const kernel = sessionContext?.session?.kernel?.id;
  if (!kernel) {
    return runCell(options);
  }
  onCellExecutionScheduled({ cell });
  cell.setPrompt('*');
  const end = ended(cell);
  try {
    await runs.order({ kernel, document, id: cell.model.sharedModel.getId(), code: cell.model.sharedModel.getSource() });
  } catch (reason) {
    end.give_up();
    cell.setPrompt('');
    onCellExecuted({ cell, success: false });
    await refused(reason);
    return false;
  }
  const success = await end.promise;
  onCellExecuted({ cell, success });
  return success;
}
