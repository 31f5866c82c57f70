/** During a switch: cells, sockets of kernels and requests wait. After it: sessions and kernels are taken up again and all is
 * read anew. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleTracker } from '@jupyterlab/console';
import { URLExt } from '@jupyterlab/coreutils';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { ServerConnection } from '@jupyterlab/services';

import type { Operation } from '../api/records.js';
import { patientFetch } from '../models/fetching.js';
import { Gate } from '../models/gate.js';
import { answers, reattach, type Attached } from '../models/reattach.js';
import { patient } from '../models/socket.js';
import { IGearshift } from '../tokens.js';

type Replaced = 'WebSocket' | 'fetch';

export const reattachPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:reattach',
  description: 'Takes kernels up again after a switch, without a reload.',
  autoStart: true,
  requires: [IGearshift],
  optional: [INotebookTracker, IConsoleTracker],
  activate: (app, gearshift: IGearshift, notebooks: INotebookTracker | null, consoles: IConsoleTracker | null) => {
    const panels = (): Attached[] => {
      const found: Attached[] = [];
      notebooks?.forEach(({ sessionContext, context }) => found.push({ path: context.path, sessionContext }));
      consoles?.forEach(({ sessionContext }) => found.push({ path: sessionContext.path, sessionContext }));
      return found;
    };
    const lines = new Gate();
    const network = app.serviceManager.serverSettings as { -readonly [key in Replaced]: ServerConnection.ISettings[key] };
    network.WebSocket = patient(network.WebSocket, () => lines.passed());
    network.fetch = patientFetch(network.fetch, URLExt.join(app.serviceManager.serverSettings.baseUrl, 'api/'), lines);
    let held: Operation | null = null;
    gearshift.store.changed.connect(() => {
      const running = gearshift.store.running;
      if (running?.kind === 'switch') {
        held = running;
        gearshift.gate.close();
        lines.close();
        return;
      }
      const ended = held && gearshift.store.state.operations.value?.find(op => op.id === held?.id);
      if (ended) {
        held = null;
        void comeBack(app, gearshift, lines, panels());
      }
    });
  }
};

async function comeBack(app: JupyterFrontEnd, gearshift: IGearshift, lines: Gate, panels: Attached[]): Promise<void> {
  const { client, feeds, gate, meters, store } = gearshift;
  meters.reset();
  const isThere = await answers(() => client.health());
  lines.open();
  if (isThere) {
    await reattach(app.serviceManager.sessions, panels);
  }
  gate.open();
  if (isThere) {
    await store.loadAll(['me', 'machine', 'catalog', 'metrics', 'operations', 'disks', 'datasets', 'jobs']);
    feeds.reload();
  }
}
