/** Requests of the page while a switch takes its server away: what came back unanswered is asked again when there is one.
 *
 * Lab and its extensions ask all the time, for a file or for what runs, and few of them expect that nobody answers. */

import type { ServerConnection } from '@jupyterlab/services';

import type { Gate } from './gate.js';

/** The hub's answer for a server that is not there: it was never asked. */
const NOT_ASKED = new Set([424, 503]);
/** The proxy's: what the server did of it is not known. */
const UNKNOWN = new Set([502, 504]);
const HARMLESS_TWICE = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);

type Fetch = ServerConnection.ISettings['fetch'];

/** The browser's fetch; requests below `base` that find nobody while `lines` is closed are made
 * again when it opens. */
export function patientFetch(plain: Fetch, base: string, lines: Pick<Gate, 'isClosed' | 'passed'>): Fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const again = request.url.startsWith(base) ? request.clone() : null;
    const wasAway = lines.isClosed;
    const answer = plain(request);
    if (!again || !(await isLost(answer, request.method)) || !(wasAway || lines.isClosed)) {
      return answer;
    }
    await lines.passed();
    return plain(again);
  };
}

async function isLost(answer: Promise<Response>, method: string): Promise<boolean> {
  const status = await answer.then(({ status }) => status, () => 502);
  return NOT_ASKED.has(status) || (UNKNOWN.has(status) && HARMLESS_TWICE.has(method));
}
