/** Listens to the kernels of open notebooks and consoles, so that a plan can tell that it is old. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';

import { IGearshift } from '../tokens.js';

export const kernelRunsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:kernel-runs',
  description: 'Knows when a kernel ran a cell.',
  autoStart: true,
  requires: [IGearshift],
  optional: [INotebookTracker, IConsoleTracker],
  activate: (
    _app,
    { active, runs }: IGearshift,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null
  ) => {
    if (!active) {
      return;
    }
    for (const tracker of [notebooks, consoles]) {
      tracker?.forEach(widget => runs.watch(widget.sessionContext));
      tracker?.widgetAdded.connect((_, widget) => runs.watch(widget.sessionContext));
    }
  }
};
