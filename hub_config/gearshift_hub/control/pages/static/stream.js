/* Control's events by fetch: begins after the id the page was drawn at, resumes after the last one seen,
   waits 2, 4, 8, 15, 30 s between tries. */
const WAITS = [2, 4, 8, 15, 30];

const pause = seconds => new Promise(resolve => setTimeout(resolve, seconds * 1000));

function* messages(text) {
  for (const block of text.split('\n\n')) {
    const message = { id: '', kind: '', data: '' };
    for (const line of block.split('\n')) {
      if (line.startsWith('id:')) message.id = line.slice(3).trim();
      else if (line.startsWith('event:')) message.kind = line.slice(6).trim();
      else if (line.startsWith('data:')) message.data += line.slice(5).trim();
    }
    if (message.kind) yield message;
  }
}

async function read(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value.replaceAll('\r\n', '\n');
    const end = rest.lastIndexOf('\n\n');
    if (end < 0) continue;
    for (const message of messages(rest.slice(0, end))) take(message);
    rest = rest.slice(end + 2);
  }
}

const shown = () =>
  document.hidden
    ? new Promise(resolve => document.addEventListener('visibilitychange', resolve, { once: true })).then(shown)
    : undefined;

function untilHidden() {
  const stop = new AbortController();
  const check = () => {
    if (document.hidden) stop.abort();
  };
  document.addEventListener('visibilitychange', check);
  stop.signal.addEventListener('abort', () => document.removeEventListener('visibilitychange', check));
  return stop;
}

/** Call `onEvent(kind, data)` for each event and `onState(connected)` when the stream comes and goes.
    A page that is not seen holds no connection: a browser has six for all its tabs; it goes on where it was. */
export async function follow({ events, after }, onEvent, onState = () => {}) {
  let last = String(after);
  for (let tries = 0; ; tries += 1) {
    await shown();
    const stop = untilHidden();
    try {
      const headers = { 'Last-Event-ID': last };
      const options = { headers, cache: 'no-store', credentials: 'same-origin', signal: stop.signal };
      const response = await fetch(events, options);
      if (!response.ok) throw new Error(String(response.status));
      tries = 0;
      onState(true);
      await read(response, ({ id, kind, data }) => {
        if (id) last = id;
        onEvent(kind, JSON.parse(data || 'null'));
      });
    } catch (error) {
      if (!stop.signal.aborted) console.error('event stream', error);
    }
    stop.abort();
    onState(false);
    if (!document.hidden) await pause(WAITS[Math.min(tries, WAITS.length - 1)]);
  }
}
