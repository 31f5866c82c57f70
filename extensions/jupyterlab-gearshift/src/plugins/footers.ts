/** Under each cell that ran, and one that runs: how long, on what, for how much. Drawn from the cell's own metadata. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { Cell, CodeCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { DisposableDelegate, type IDisposable } from '@lumino/disposable';
import type { Widget } from '@lumino/widgets';

import { CellFooter } from '../components/cellfooter.js';
import { IGearshift } from '../tokens.js';

const OFF = 'gs-mod-no-cellfoot';

export const footersPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:cell-footers',
  description: 'How long a cell ran, on what, and what it cost.',
  autoStart: true,
  requires: [IGearshift],
  activate: (app, gearshift: IGearshift) => {
    if (gearshift.active) {
      app.docRegistry.addWidgetExtension('Notebook', {
        createNew: (panel: NotebookPanel) => footersOf(panel, gearshift)
      });
    }
  }
};

function footersOf({ content }: NotebookPanel, gearshift: IGearshift): IDisposable {
  const followed = new WeakSet<Cell>();
  const follow = (cell: Cell | undefined): void => {
    if (cell?.model.type === 'code' && !followed.has(cell)) {
      followed.add(cell);
      // Its footer is made when it is first drawn.
      void cell.ready.then(() => addTo(cell as CodeCell, gearshift));
    }
  };
  content.model?.cells.changed.connect((_, { newIndex, newValues }) =>
    newValues.forEach((_value, n) => follow(content.widgets[newIndex + n]))
  );
  content.widgets.forEach(follow);
  const show = (): void => void content.toggleClass(OFF, !gearshift.settings.footer);
  gearshift.settingsChanged.connect(show);
  show();
  return new DisposableDelegate(() => void gearshift.settingsChanged.disconnect(show));
}

function addTo(cell: CodeCell, gearshift: IGearshift): void {
  const { widgets } = cell.layout as unknown as { widgets: Widget[] };
  const host = widgets.find(one => one.hasClass('jp-CellFooter'));
  if (host && !cell.isDisposed) {
    const footer = new CellFooter(host.node, cell.model, gearshift);
    cell.disposed.connect(() => footer.dispose());
  }
}
