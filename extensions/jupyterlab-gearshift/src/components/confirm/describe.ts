/** What a confirmation says for each kind of plan: object, price or loss, and what survives. */

import type { Plan } from '../../api/answers.js';
import type { Words } from '../../i18n.js';
import { numeric } from '../../models/progress.js';
import type { Format } from '../context.js';

export interface Description {
  title: string;
  text?: string;
  rows: [string, string][];
  note?: string;
  press: string;
  cancel?: string;
  look: 'primary' | 'danger';
  /** The person types this name first. */
  type?: string;
  /** The person ticks this first: consent to a later charge. */
  tick?: string;
}

type Describe = (figures: Record<string, unknown>, words: Words, format: Format, title: (id: string) => string) => Description;

export function describe(plan: Plan, words: Words, format: Format, title: (id: string) => string): Description {
  return (KINDS[plan.kind] ?? other)({ ...plan.body, ...plan.figures }, words, format, title);
}

const KINDS: Record<string, Describe> = {
  stop: stop,
  job: job,
  cancel_job: cancelJob,
  reshape_job: reshapeJob,
  wait: waitByItself,
  delete_disk: deleteDisk,
  remove_member: removeMember,
  restore_state: restoreState,
  import_state: importState,
  delete_state: deleteState
};

function stop(figures: Record<string, unknown>, { t, n }: Words, _format: Format, title: (id: string) => string): Description {
  const machine = title(text(figures['machine']) ?? '');
  const jobs = numeric(figures['live_jobs']) ?? 0;
  const kernels = Array.isArray(figures['kernels']) ? (figures['kernels'] as { state?: string }[]) : [];
  return {
    title: t('Stop {machine}?', { machine }),
    text: n(
      'The kernel is saved first and the file is kept for {n} day. Open files are saved.',
      'The kernel is saved first and the file is kept for {n} days. Open files are saved.',
      numeric(figures['keep_days']) ?? 0
    ),
    rows: [
      [t('Charging'), t('stops when the machine is confirmed gone')],
      [t('Disks'), t('stay')],
      ...(jobs ? [[t('Jobs'), n('{n} job goes on', '{n} jobs go on', jobs)] as [string, string]] : [])
    ],
    note: kernels.some(kernel => kernel.state === 'busy') ? t('A cell is running and will be interrupted.') : undefined,
    press: t('Stop'),
    look: 'danger'
  };
}

function job(figures: Record<string, unknown>, { t }: Words, format: Format, title: (id: string) => string): Description {
  const spec = (figures['spec'] ?? {}) as Record<string, unknown>;
  const nodes = numeric(figures['nodes'] ?? spec['nodes']) ?? 1;
  const procs = numeric(figures['procs'] ?? spec['procs']) ?? 1;
  const machine = title(text(figures['machine'] ?? spec['machine']) ?? '');
  const price = numeric(figures['price_per_hour_nano']);
  const cap = numeric(figures['max_cost_nano']);
  const after = numeric(figures['balance_after_nano']);
  const [estimate, seconds] = [numeric(figures['estimate_nano']), numeric(figures['seconds'])];
  const position = numeric((figures['queue'] as Record<string, unknown> | null)?.['position'] ?? figures['position']);
  const sent = list(figures['sent'] ?? figures['sends'] ?? figures['variables']);
  const resumed = numeric(figures['resume_step']);
  const rows: ([string, string] | null)[] = [
    [t('Machines'), `${nodes} × ${machine}`],
    procs > 1 ? [t('Processes on each'), String(procs)] : null,
    resumed === null ? null : [t('Goes on from'), t('step {step} of {job}', { step: resumed, job: text(spec['resume']) ?? '' })],
    price === null ? null : [t('Price'), t('{price}, per second', { price: format.perHour(price) })],
    estimate === null || seconds === null
      ? null
      : [t('Estimate'), t('about {t}, {amount}', { t: format.duration(seconds), amount: format.money(estimate) })],
    cap === null ? null : [t('Stop at the latest'), format.money(cap)],
    after === null ? null : [t('After this'), t('balance about {amount}', { amount: format.money(after) })],
    sent.length ? [t('Sent along'), sent.join(', ')] : null
  ];
  return {
    title: t('Start job {name}?', { name: text(figures['name'] ?? spec['name']) ?? '' }),
    rows: rows.filter((row): row is [string, string] => row !== null),
    note: position
      ? t('{n} in line now; waiting is free.', { n: position })
      : figures['simulated']
        ? t('Simulated chip: real prices and queue, no hardware.')
        : undefined,
    press: t('Start job'),
    look: 'primary'
  };
}

/** The same job in another shape: its place in line stays. */
function reshapeJob(figures: Record<string, unknown>, words: Words, format: Format, title: (id: string) => string): Description {
  const { t } = words;
  return {
    ...job(figures, words, format, title),
    title: t('Change job {name}?', { name: text(figures['name']) ?? '' }),
    note: figures['starts'] === 'now' ? t('It starts at once.') : t('Its place in line stays.'),
    press: t('Change job')
  };
}

/** Consent to a later switch: a cap, an end, and once. */
function waitByItself(figures: Record<string, unknown>, { t }: Words, format: Format, title: (id: string) => string): Description {
  const machine = title(text(figures['machine']) ?? '');
  return {
    title: t('Switch by itself to {machine}?', { machine }),
    text: t('When {machine} is free, Gearshift switches once without asking again.', { machine }),
    rows: [
      [t('At most'), format.perHour(numeric(figures['price_per_hour_nano']) ?? 0)],
      [t('Until'), format.moment(text(figures['until']) ?? '')],
      [t('Only if'), t('no cell is running, and nothing would be lost')]
    ],
    tick: t('I agree to be charged when it happens'),
    press: t('Agree'),
    look: 'primary'
  };
}

function cancelJob(figures: Record<string, unknown>, { t }: Words, format: Format): Description {
  const step = numeric(figures['step']);
  const spent = numeric(figures['cost_nano'] ?? figures['spent_nano']);
  return {
    title: t('Cancel job {name}?', { name: text(figures['name']) ?? text(figures['job']) ?? '' }),
    text: t('All its processes are ended. What was logged stays.'),
    rows: [
      ...(step === null ? [] : [[t('Step'), String(step)] as [string, string]]),
      ...(spent === null ? [] : [[t('Spent'), format.money(spent)] as [string, string]])
    ],
    press: t('Cancel job'),
    cancel: t('Keep running'),
    look: 'danger'
  };
}

function deleteDisk(figures: Record<string, unknown>, { t, n }: Words, format: Format): Description {
  const name = text(figures['name']) ?? '';
  const used = numeric(figures['used_bytes']);
  const members = list(figures['members']);
  return {
    title: t('Delete {name}?', { name }),
    rows: [
      ...(used === null ? [] : [[t('Used'), format.bytes(used)] as [string, string]]),
      [t('Members'), members.length ? n('{n} person uses it', '{n} people use it', members.length) : t('Nobody else uses it.')]
    ],
    note: t('It can be brought back for {n} days, then never.', { n: numeric(figures['undo_days']) ?? 7 }),
    press: t('Delete'),
    look: 'danger',
    type: name
  };
}

function removeMember(figures: Record<string, unknown>, { t }: Words): Description {
  const stops = list(figures['stops']);
  return {
    title: t('Remove {user} from {name}?', { user: text(figures['user']) ?? '', name: text(figures['name']) ?? '' }),
    text: t('The files stay. Access ends at once.'),
    rows: stops.length ? [[t('Workspaces that are stopped'), stops.join(', ')]] : [],
    press: t('Remove'),
    look: 'danger'
  };
}

interface KeptFigures {
  taken_at: string;
  bytes: number;
  kernels: { variables: string[] }[];
}

interface MetKernel {
  path: string;
  name: string;
  running: boolean | null;
  overwritten: string[] | null;
}

function restoreState(figures: Record<string, unknown>, words: Words, format: Format): Description {
  const { t } = words;
  const kernels = (figures['kernels'] ?? []) as MetKernel[];
  return {
    title: t('Bring back what was kept?'),
    text: t('Names that are there now and are not part of it stay as they are.'),
    rows: [...keptRows(figures['state'] as KeptFigures, words, format), ...kernels.map(kernel => metRow(kernel, words))],
    press: t('Bring back'),
    look: 'danger'
  };
}

interface SharedFigures {
  disk: { name: string; others: string[] };
  from: string;
  bytes: number;
  kernels: { path: string; name: string }[];
}

/** Others can write to where it lies, and loading it runs what is in it: the press is consent to this one state. */
function importState(given: Record<string, unknown>, { t, n, language }: Words, format: Format): Description {
  const { disk, from, bytes, kernels } = given as unknown as SharedFigures;
  const others = disk.others.join(language === 'zh' ? '、' : ', ');
  return {
    title: t('Bring in kernel state from {disk}?', { disk: disk.name }),
    text: t(
      'Loading it runs what is in it. It comes in only if it is, to the byte, what you saved; names of the same spelling are overwritten.'
    ),
    rows: [
      [t('Saved in'), from],
      [t('Size'), format.bytes(bytes)],
      ...kernels.map((kernel): [string, string] => [kernel.path || kernel.name, t('kernel')]),
      [t('Who else has this disk'), others || t('nobody')]
    ],
    note: others
      ? n('{n} other person has this disk. Your consent holds once, for two minutes.', '{n} other people have this disk. Your consent holds once, for two minutes.', disk.others.length)
      : undefined,
    press: t('Bring in'),
    look: 'danger'
  };
}

function metRow({ path, name, running, overwritten }: MetKernel, { t, language }: Words): [string, string] {
  const label = path || name;
  if (running === false) {
    return [label, t('is started again')];
  }
  if (overwritten === null) {
    return [label, t('a cell is running: names of the same spelling are overwritten when it ends')];
  }
  const names = overwritten.join(language === 'zh' ? '、' : ', ');
  return [label, names ? t('overwritten: {names}', { names }) : t('nothing is overwritten')];
}

function deleteState(figures: Record<string, unknown>, words: Words, format: Format): Description {
  const { t } = words;
  return {
    title: t('Delete what was kept?'),
    text: t('It cannot be brought back afterwards. Your files stay.'),
    rows: keptRows(figures['state'] as KeptFigures, words, format),
    press: t('Delete'),
    look: 'danger'
  };
}

function keptRows(state: KeptFigures, { t, n }: Words, format: Format): [string, string][] {
  const count = state.kernels.reduce((sum, kernel) => sum + kernel.variables.length, 0);
  return [
    [t('Kept'), format.moment(state.taken_at)],
    [t('Variables'), `${n('{n} variable', '{n} variables', count)}, ${format.bytes(state.bytes)}`]
  ];
}

function other(_figures: Record<string, unknown>, { t }: Words): Description {
  return { title: t('Confirm?'), rows: [], press: t('Confirm'), look: 'danger' };
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function list(value: unknown): string[] {
  return Array.isArray(value) ? value.map(item => (typeof item === 'string' ? item : String((item as { name?: string })?.name ?? ''))) : [];
}
