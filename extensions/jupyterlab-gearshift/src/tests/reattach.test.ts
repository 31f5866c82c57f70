/** After a switch: a kernel is taken up until it hears us, and not before is anything sent to it. */

import assert from 'node:assert/strict';
import test from 'node:test';

import type { Session } from '@jupyterlab/services';

import { heard, reattach, type Attached } from '../models/reattach.js';

const PATH = 'a.ipynb';

/** A panel whose connection breaks as often as told, each time for good; and how it was asked. */
function panelThatBreaks(times: number): { panel: Attached; sessions: Session.IManager; asked: string[] } {
  const asked: string[] = [];
  const kernel = (): object => {
    const one = {
      isDisposed: false,
      connectionStatus: 'connecting',
      reconnect: (): Promise<void> => {
        asked.push('reconnect');
        if (times-- > 0) {
          one.isDisposed = true;
          return Promise.reject(new Error('Kernel connection disconnected'));
        }
        one.connectionStatus = 'connected';
        return Promise.resolve();
      }
    };
    return one;
  };
  const session = { kernel: kernel() };
  const sessionContext = {
    session,
    isDisposed: false,
    changeKernel: ({ id }: { id: string }): Promise<void> => {
      asked.push(`change to ${id}`);
      session.kernel = kernel();
      return Promise.resolve();
    }
  };
  const running = (): object[] => [{ path: PATH, kernel: { id: 'k1' } }];
  const sessions = { refreshRunning: () => Promise.resolve(), running };
  return {
    panel: { path: PATH, sessionContext } as unknown as Attached,
    sessions: sessions as unknown as Session.IManager,
    asked
  };
}

test('a connection that breaks while it is being made is made anew', async () => {
  const { panel, sessions, asked } = panelThatBreaks(1);
  await reattach(sessions, [panel]);
  assert.deepEqual(asked, ['reconnect', 'change to k1', 'reconnect']);
  await heard(sessions, panel);
  assert.equal(asked.length, 3, 'who is heard is not asked again');
});

test('a cell that waited is not sent to a kernel that does not hear us yet', async () => {
  const { panel, sessions, asked } = panelThatBreaks(0);
  await heard(sessions, panel);
  assert.deepEqual(asked, ['reconnect']);
});

test('where no kernel runs nobody waits for one', async () => {
  const { panel, sessions } = panelThatBreaks(0);
  const none = { ...panel, path: 'b.ipynb', sessionContext: { ...panel.sessionContext, session: null } };
  await heard(sessions, none);
});
