/* A page that follows its workspaces: on each event the server draws it again and the living parts are exchanged. */
import { follow } from './stream.js';

const data = JSON.parse(document.getElementById('gs-data').textContent);
let drawing = false;
let again = false;
let leaving = false;
let drawnAt = performance.now();

/* Once: a second reload would break off the first one's navigation. */
function leave() {
  leaving = true;
  location.reload();
}

function exchange(fresh) {
  const living = document.querySelectorAll('[data-live]');
  const parts = [...living].map(old => [old, fresh.querySelector(`[data-live="${old.dataset.live}"]`)]);
  if (parts.some(([, part]) => !part) || fresh.body.querySelectorAll('[data-live]').length !== living.length) {
    leave();
    return;
  }
  const label = document.activeElement?.getAttribute('aria-label');
  for (const [old, part] of parts) old.replaceWith(document.adoptNode(part));
  if (label && document.activeElement === document.body) {
    document.querySelector(`[aria-label="${CSS.escape(label)}"]`)?.focus();
  }
  drawnAt = performance.now();
  announce();
}

function announce() {
  const place = document.getElementById('gs-say');
  const said = document.querySelector('[data-say]')?.dataset.say;
  if (place && said && place.textContent !== said) place.textContent = said;
}

async function draw() {
  if (leaving) return;
  if (drawing) {
    again = true;
    return;
  }
  drawing = true;
  try {
    const response = await fetch(location.href, { redirect: 'manual', cache: 'no-store' });
    if (response.type === 'opaqueredirect' || response.status === 404) leave();
    else if (response.ok) exchange(new DOMParser().parseFromString(await response.text(), 'text/html'));
  } catch (error) {
    console.error('page', error);
  } finally {
    drawing = false;
  }
  if (again) {
    again = false;
    await draw();
  }
}

function tick() {
  const since = (performance.now() - drawnAt) / 1000;
  for (const element of document.querySelectorAll('[data-tick]')) {
    const seconds = Math.floor(Number(element.dataset.tick) + since);
    element.textContent = element.dataset.text.replace('{n}', String(seconds));
  }
}

announce();
setInterval(tick, 1000);
const watched = new Set(['workspace.state', 'operation.step', 'operation.done', 'operation.failed', 'balance', 'wait.state']);
let missed = false;
follow(
  data,
  kind => {
    if (watched.has(kind)) draw();
  },
  connected => {
    if (connected && missed) draw();
    missed = !connected;
  }
);
setInterval(() => {
  if (missed && !document.hidden) draw();
}, 2000);
