/* The start form: totals follow the choice, machine and image are kept fitting, inventory is live. */
import { follow } from './stream.js';

const data = JSON.parse(document.getElementById('gs-data').textContent);
const form = document.getElementById('gs-start');
const byId = id => document.getElementById(id);
const fill = (text, facts) => text.replace(/\{(\w+)\}/g, (_, key) => facts[key]);
const chosen = name => form.querySelector(`input[name="${name}"]:checked`);

function total() {
  const machine = data.machines[chosen('machine')?.value];
  if (!machine) return;
  byId('gs-line-machine').textContent = machine.title;
  byId('gs-line-size').textContent = machine.line;
  byId('gs-line-price').textContent = machine.per_hour;
  byId('gs-total').firstChild.data = machine.price;
  byId('gs-button').textContent = machine.button;
  byId('gs-lasts').textContent = machine.lasts;
  byId('gs-seen-price').value = machine.price_nano;
}

function tell(text) {
  const place = byId('gs-coupled');
  place.textContent = text;
  place.hidden = !text;
}

function machineChosen() {
  const machine = data.machines[chosen('machine').value];
  const image = chosen('image')?.value;
  tell('');
  if (!machine.images.includes(image)) {
    const needed = machine.images[0];
    form.querySelector(`input[name="image"][value="${CSS.escape(needed)}"]`).checked = true;
    tell(fill(data.words.image_changed, { image: data.images[needed], machine: machine.title }));
  }
  total();
}

function imageChosen() {
  const image = chosen('image').value;
  const now = chosen('machine')?.value;
  tell('');
  if (now && !data.machines[now].images.includes(image)) {
    const fits = [...form.querySelectorAll('input[name="machine"]:not(:disabled)')];
    const other = fits.find(input => data.machines[input.value].images.includes(image));
    if (!other) return;
    other.checked = true;
    const facts = { machine: data.machines[other.value].title, image: data.images[image] };
    tell(fill(data.words.machine_changed, facts));
  }
  total();
}

let updatedAt = performance.now();
let live = false;

function inventory(machines) {
  for (const [id, { free, total: all }] of Object.entries(machines)) {
    const row = document.querySelector(`[data-machine="${CSS.escape(id)}"]`);
    if (!row) continue;
    const input = row.querySelector('input');
    row.classList.toggle('off', !free);
    row.querySelector('.gs-free').hidden = !free;
    row.querySelector('.gs-sold').hidden = Boolean(free);
    row.querySelector('.gs-words').textContent = fill(data.words.free, { free, total: all });
    row.querySelector('rect').setAttribute('width', `${all ? Math.round((100 * free) / all) : 0}%`);
    input.disabled = !free && !input.checked;
  }
  updatedAt = performance.now();
}

function age() {
  const seconds = Math.round((performance.now() - updatedAt) / 1000);
  if (live) byId('gs-age').textContent = fill(data.words.inventory_live, { n: seconds });
}

function findable() {
  const box = byId('gs-find');
  const input = box.querySelector('input');
  const items = [...byId('gs-datasets').children];
  box.hidden = items.length < 2;
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const item of items) {
      const shown = item.querySelector('input').checked || words.every(word => item.dataset.words.includes(word));
      item.hidden = !shown;
      n += shown ? 1 : 0;
    }
    const said = n ? data.words.found : data.words.none_found;
    box.querySelector('[role="status"]').textContent = fill(said, { n, q: input.value });
  });
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter') event.preventDefault();
  });
}

form.addEventListener('change', event => {
  if (event.target.name === 'machine') machineChosen();
  if (event.target.name === 'image') imageChosen();
});
form.addEventListener('submit', event => {
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = 'yes';
});
addEventListener('pageshow', () => delete form.dataset.sent);
findable();
total();
setInterval(age, 1000);
follow(
  data,
  (kind, body) => {
    if (kind === 'inventory') inventory(body.machines);
  },
  connected => {
    if (!connected && live) {
      const at = new Date().toLocaleTimeString(document.documentElement.lang, { hour12: false });
      byId('gs-age').textContent = fill(data.words.inventory_lost, { time: at });
    }
    live = connected;
    age();
  }
);
