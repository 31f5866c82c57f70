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
  await Promise.all(panels.map(panel => withinTime(takeUp(sessions, panel))));
}

/**
 * Until the kernel of a panel hears us. What is sent over a connection that is still being made is dropped without a word
 * should it break; a cell that waited for a switch is sent only after this.
 */
export async function heard(sessions: Session.IManager, panel: Attached): Promise<void> {
  if (!hears(panel)) {
    await takeUp(sessions, panel);
  }
}

async function takeUp(sessions: Session.IManager, panel: Attached, giveUpMs = GIVE_UP_MS): Promise<void> {
  const end = Date.now() + giveUpMs;
  do {
    const found = await once(sessions, panel).catch(() => true); // it broke while it was being made: once more
    if (!found || hears(panel)) {
      return;
    }
    await new Promise(resolve => setTimeout(resolve, TRY_MS));
  } while (Date.now() < end && !panel.sessionContext.isDisposed);
}

/** False when there is no kernel to be had. */
async function once(sessions: Session.IManager, { path, sessionContext }: Attached): Promise<boolean> {
  const kernel = sessionContext.session?.kernel;
  if (kernel && !kernel.isDisposed) {
    await kernel.reconnect();
    return true;
  }
  await sessions.refreshRunning();
  const id = [...sessions.running()].find(model => model.path === path)?.kernel?.id;
  if (id) {
    await sessionContext.changeKernel({ id });
  }
  return id !== undefined;
}

function hears({ sessionContext }: Attached): boolean {
  const kernel = sessionContext.session?.kernel;
  return !!kernel && !kernel.isDisposed && kernel.connectionStatus === 'connected';
}

/** One kernel that does not come back keeps no other from it; Lab itself goes on trying. */
function withinTime(work: Promise<void>): Promise<void> {
  const late = new Promise<void>(resolve => setTimeout(resolve, ONE_MS));
  return Promise.race([work.catch(() => undefined), late]);
}
