/** The switch: its moves, and what is read out of plans and journals. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { Signal } from '@lumino/signaling';

import type { SwitchFigures, Variable } from '../api/answers.js';
import { Client } from '../api/client.js';
import { errorFrom } from '../api/errors.js';
import type { Operation } from '../api/records.js';
import { goBack } from '../models/goback.js';
import { KernelRuns, type Heard } from '../models/kernelruns.js';
import { cameFrom, canGoBack, machineOf } from '../models/operations.js';
import { Store } from '../models/store.js';
import { SwitchFlow, type Stage } from '../models/switchflow.js';
import { changesOf, lostOf, rowsOf } from '../models/variables.js';
import type { Request, RequestOptions } from '../request.js';

const FIGURES = { to: { machine: 'sim-1' }, from: { machine: 'cpu-small' }, seconds: 3, kernels: [], rerun: {} };
const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0));

/** The plan that shows; fails where another part does. */
function planOf(held: SwitchFlow): Extract<Stage, { at: 'plan' }> {
  const { stage } = held;
  assert.equal(stage.at, 'plan');
  return stage;
}

function refusal(code: string): Error {
  return errorFrom(409, { error: { code, message: code } });
}

/** A flow over a server that answers in turn; an Error in the script is a refusal. */
function flow(script: unknown[]): { flow: SwitchFlow; asked: [string, RequestOptions | undefined][] } {
  const asked: [string, RequestOptions | undefined][] = [];
  const request: Request = <T>(path: string, options?: RequestOptions): Promise<T> => {
    asked.push([path, options]);
    const answer = script.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T);
  };
  const t = (text: string, values: Record<string, string | number> = {}): string =>
    text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all));
  const world = { client: new Client(request, 'mei/a'), words: { t, language: 'en' as const }, began: () => undefined };
  return { flow: new SwitchFlow(world, {}), asked };
}

test('choose, plan, confirm, follow', async () => {
  const { flow: held, asked } = flow([{ id: 'p1', figures: FIGURES }, { id: 'op1' }]);
  held.plan('sim-1');
  assert.equal(held.stage.at, 'planning');
  await settled();
  await held.confirm(planOf(held).plan);
  assert.deepEqual(held.stage, { at: 'operation', id: 'op1' });
  assert.deepEqual(asked[1], ['api/plans/p1/confirm', { method: 'POST', body: { press: true }, press: true }]);
  assert.deepEqual(held.planned, { to: 'sim-1', from: 'cpu-small', seconds: 3 });
});

test('a plan that changed is made anew, says so, and is not confirmed by the old press', async () => {
  const { flow: held } = flow([{ id: 'p1', figures: FIGURES }, refusal('plan_stale'), { id: 'p2', figures: FIGURES }]);
  held.plan('sim-1');
  await settled();
  await held.confirm(planOf(held).plan);
  await settled();
  assert.equal(planOf(held).plan.id, 'p2');
  assert.equal(planOf(held).note, 'plan_stale');
});

test('sold out at the plan or at the press shows what is free instead', async () => {
  const { flow: early } = flow([refusal('sold_out')]);
  early.plan('sim-4');
  await settled();
  assert.equal(early.stage.at, 'soldout');
  const { flow: late } = flow([{ id: 'p', figures: FIGURES }, refusal('sold_out')]);
  late.plan('sim-1');
  await settled();
  await late.confirm(planOf(late).plan);
  assert.equal(late.stage.at, 'soldout');
});

test('only the answer to the latest question counts', async () => {
  const { flow: held, asked } = flow([{ id: 'first', figures: FIGURES }, { id: 'second', figures: FIGURES }]);
  held.plan('sim-1');
  held.toggle({ kernel: 'k', name: 'big', kind: 'copy' });
  await settled();
  assert.equal(planOf(held).plan.id, 'second');
  assert.deepEqual((asked[1]?.[1]?.body as { leave_out: unknown }).leave_out, { k: ['big'] });
});

function variable(name: string, verdict: string, bytes: number, cells: number[] = []): Variable {
  return { name, verdict, bytes, type: 't', where: 'cpu', cells, lost: verdict === 'cannot_move' && !cells.length };
}

function figures(variables: Variable[], more: object = {}): SwitchFigures {
  const kernels = [{ kernel_id: 'k', path: 'a.ipynb', name: 'python3', variables, ...more }];
  return { ...FIGURES, price_before_nano: 1, price_after_nano: 2, kernels } as unknown as SwitchFigures;
}

test('a plan is read again when a kernel ran, and names what is different; the press is on the new one', async () => {
  const { flow: held } = flow([
    { id: 'p1', figures: figures([variable('x', 'copy', 1)]) },
    { id: 'p2', figures: figures([], { busy: true }) },
    { id: 'p3', figures: figures([variable('x', 'copy', 1), variable('y', 'copy', 2)]) }
  ]);
  held.plan('sim-1');
  await settled();
  held.ran();
  await settled();
  assert.equal(planOf(held).note, null, 'what a busy kernel holds is not known, and so not different');
  held.ran();
  await settled();
  assert.equal(planOf(held).plan.id, 'p3');
  assert.equal(planOf(held).note, 'Plan updated: y changed. Check and press again.');
});

test('price and variables that changed are named, many are cut', () => {
  const before = figures(['a', 'b', 'c'].map(name => variable(name, 'copy', 1)));
  const after = { ...figures([variable('a', 'copy', 2), variable('d', 'copy', 1)]), price_after_nano: 3 };
  assert.deepEqual(changesOf(before, after), { price: true, names: ['a', 'b', 'c', 'd'] });
  assert.deepEqual(changesOf(before, before), { price: false, names: [] });
});

test('what runs again is what the plan suggests until somebody chooses', async () => {
  const suggested = { ...figures([variable('loader', 'rerun', 0, [5])]), rerun: { k: ['loader'] } };
  const { flow: held, asked } = flow([{ id: 'p1', figures: suggested }, { id: 'p2', figures: figures([]) }]);
  held.plan('sim-1');
  await settled();
  assert.deepEqual(held.rerun, { k: ['loader'] });
  held.toggle({ kernel: 'k', name: 'loader', kind: 'rerun' });
  assert.deepEqual(held.rerun, {});
  const bodies = asked.map(([, options]) => (options?.body as { rerun: unknown }).rerun);
  assert.deepEqual(bodies, ['suggested', {}]);
});

test('only runs with an input make a plan old, not the questions that we ask ourselves', () => {
  const runs = new KernelRuns();
  const iopub = new Signal<object, Heard>({});
  let told = 0;
  runs.changed.connect(() => (told += 1));
  runs.watch({ iopubMessage: iopub });
  const hear = (msg_type: string, cell: string, content: object = {}): void =>
    iopub.emit({ header: { msg_type }, parent_header: { msg_id: cell }, content });
  hear('status', 'silent', { execution_state: 'busy' });
  hear('status', 'silent', { execution_state: 'idle' });
  assert.equal(told, 0);
  hear('execute_input', 'cell');
  hear('status', 'silent', { execution_state: 'idle' });
  assert.equal(told, 1);
  hear('status', 'cell', { execution_state: 'idle' });
  assert.equal(told, 2);
});

test('copies come first, the largest on top; what no cell rebuilds is lost', () => {
  const variables = [
    variable('conn', 'cannot_move', 0, [6]),
    variable('gen', 'cannot_move', 0),
    variable('small', 'copy', 1),
    variable('loader', 'rerun', 0, [5]),
    variable('big', 'copy', 9)
  ];
  const rows = rowsOf([{ kernel_id: 'k', path: 'a.ipynb', name: 'python3', variables }]);
  assert.deepEqual(
    rows.map(row => row.name),
    ['big', 'small', 'loader', 'conn', 'gen']
  );
  assert.deepEqual(
    lostOf(rows).map(row => row.name),
    ['gen']
  );
});

function journal(id: string, kind: Operation['kind'], machine: string, state: Operation['state'] = 'done'): Operation {
  const step = { name: 'reserve', state: 'done' as const, started_at: null, ended_at: null, note: { machine } };
  return { id, kind, state, steps: [step], step: null, direction: 'forward', created_at: id, result: null } as unknown as Operation;
}

test('where a switch came from is where the one before it went', () => {
  const journals = [journal('3', 'switch', 'sim-1'), journal('2', 'switch', 'sim-4', 'failed'), journal('1', 'start', 'cpu-small')];
  assert.equal(machineOf(journals[0]!), 'sim-1');
  assert.equal(cameFrom(journals[0]!, journals), 'cpu-small');
  assert.equal(cameFrom(journals[2]!, journals), null);
});

test('going back is possible until the check begins', () => {
  const at = (step: string): Operation => ({ ...journal('1', 'switch', 'sim-1', 'running'), step });
  assert.equal(canGoBack(at('restore')), true);
  assert.equal(canGoBack(at('verify')), false);
  assert.equal(canGoBack({ ...at('save'), direction: 'back' }), false);
});

test('going back is asked again while our server is away, until it is heard', async () => {
  const running = { ...journal('1', 'switch', 'sim-1', 'running'), step: 'save', workspace: 'mei/a' };
  const script: unknown[] = [errorFrom(403, null), errorFrom(424, null), { ...running, direction: 'back' }];
  let asked = 0;
  const request: Request = <T>(): Promise<T> => {
    asked += 1;
    const answer = script.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T);
  };
  const client = new Client(request, 'mei/a');
  const store = new Store(client);
  store.operation(running);
  await goBack(client, store, '1');
  assert.equal(asked, 3);
  assert.equal(store.running?.direction, 'back');
});
