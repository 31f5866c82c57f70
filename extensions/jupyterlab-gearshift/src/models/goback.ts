/** Going back from a switch: asked for through our own server, which may be away just now; asked again while it is possible. */

import type { Client } from '../api/client.js';
import { asApiError } from '../api/errors.js';
import { canGoBack } from './operations.js';
import type { Store } from './store.js';

const AGAIN_MS = 250;
const HANGS_MS = 1500; // a server that is paused takes a request and does not answer

/** Ends when it was heard, or when it is too late. */
export async function goBack(client: Client, store: Store, id: string): Promise<void> {
  for (;;) {
    const op = store.state.operations.value?.find(one => one.id === id);
    if (!op || !canGoBack(op) || (await heard(client, store, id))) {
      return;
    }
    await new Promise(resolve => setTimeout(resolve, AGAIN_MS));
  }
}

async function heard(client: Client, store: Store, id: string): Promise<boolean> {
  const asked = client.goBack(id).then(
    after => {
      store.operation(after);
      return true;
    },
    reason => asApiError(reason).code === 'too_late'
  );
  const late = new Promise<boolean>(resolve => setTimeout(() => resolve(false), HANGS_MS));
  return Promise.race([asked, late]);
}
