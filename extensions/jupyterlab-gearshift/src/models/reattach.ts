/** After a switch: wait for our server, then take up its sessions and kernels again. The page is not reloaded. */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Session } from '@jupyterlab/services';

const TRY_MS = 250;
const GIVE_UP_MS = 60_000;
const ONE_MS = 15_000;

export interface Attached {
  /** Where its document is. */
  path: string;
  sessionContext: ISessionContext;
}

/** Ask until it answers; false when it never did. */
export async function answers(ask: () => Promise<unknown>, giveUpMs = GIVE_UP_MS): Promise<boolean> {
  const end = Date.now() + giveUpMs;
  for (;;) {
    try {
      await ask();
      return true;
    } catch {
      if (Date.now() > end) {
        return false;
      }
      await new Promise(resolve => setTimeout(resolve, TRY_MS));
    }
  }
}

/** Reconnect every panel: kernels came back under their old ids; one whose session was dropped is found by its path. */
export async function reattach(sessions: Session.IManager, panels: readonly Attached[]): Promise<void> {
  await sessions.refreshRunning().catch(() => undefined);
  const running = new Map([...sessions.running()].map(model => [model.path, model]));
  await Promise.all(panels.map(panel => withinTime(one(panel, running))));
}

async function one({ path, sessionContext }: Attached, running: Map<string, Session.IModel>): Promise<void> {
  const kernel = sessionContext.session?.kernel;
  if (kernel && !kernel.isDisposed) {
    await kernel.reconnect();
    return;
  }
  const id = running.get(path)?.kernel?.id;
  if (id) {
    await sessionContext.changeKernel({ id });
  }
}

/** One kernel that does not come back keeps no other from it; Lab itself goes on trying. */
function withinTime(work: Promise<void>): Promise<void> {
  const late = new Promise<void>(resolve => setTimeout(resolve, ONE_MS));
  return Promise.race([work.catch(() => undefined), late]);
}
