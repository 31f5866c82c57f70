/** The command that runs cells of a notebook again, by their execution counts: the way back of what did not move. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';

import { Commands, IGearshift } from '../tokens.js';

export const runCellsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:run-cells',
  description: 'Runs cells again that rebuild what did not move.',
  autoStart: true,
  requires: [IGearshift, INotebookTracker],
  activate: (app, { words }: IGearshift, notebooks: INotebookTracker) => {
    app.commands.addCommand(Commands.runCells, {
      label: words.t('Run Cells Again'),
      describedBy: {
        args: {
          type: 'object',
          properties: { path: { type: 'string' }, cells: { type: 'array', items: { type: 'number' } } },
          required: ['path', 'cells']
        }
      },
      execute: async args => {
        const panel = await opened(app, notebooks, args['path'] as string);
        if (!panel) {
          return false;
        }
        const cells = cellsOf(panel, args['cells'] as number[]);
        return cells.length > 0 && NotebookActions.runCells(panel.content, cells, panel.sessionContext);
      }
    });
  }
};

async function opened(app: JupyterFrontEnd, notebooks: INotebookTracker, path: string): Promise<NotebookPanel | null> {
  const here = notebooks.find(panel => panel.context.path === path);
  if (!here) {
    await app.commands.execute('docmanager:open', { path });
  }
  const panel = here ?? notebooks.find(one => one.context.path === path) ?? null;
  if (panel) {
    app.shell.activateById(panel.id);
    await panel.context.ready;
    await panel.sessionContext.ready;
  }
  return panel;
}

/** In the order of their counts, as they ran before. */
function cellsOf(panel: NotebookPanel, counts: readonly number[]): Cell[] {
  const count = (cell: Cell): number => (cell as CodeCell).model.executionCount ?? -1;
  return panel.content.widgets
    .filter(cell => cell.model.type === 'code' && counts.includes(count(cell)))
    .sort((a, b) => count(a) - count(b));
}
