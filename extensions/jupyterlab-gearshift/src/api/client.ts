/** One method per thing that the front end asks of its server; shapes are settled here and nowhere else. */

import type { Request } from '../request.js';
import type {
  Catalog,
  Costs,
  Idle,
  IdleAction,
  Health,
  Integrity,
  LedgerLine,
  LogPage,
  Me,
  Memory,
  Metrics,
  MetricPoint,
  Plan,
  SpanCost,
  SharedState,
  SwitchTime,
  Told,
  Ticket,
  WaitOutlook
} from './answers.js';
import type { DatasetStatus, Disk, Job, KeptState, Mode, Operation, Wait, Workspace } from './records.js';

/** Control answers a list as such or as the one field of an object. */
function list<T>(answer: unknown): T[] {
  if (Array.isArray(answer)) {
    return answer as T[];
  }
  const found = Object.values((answer ?? {})).find(Array.isArray);
  return (found ?? []) as T[];
}

const part = encodeURIComponent;

export class Client {
  /** `workspace` is `owner/name`. */
  constructor(
    private readonly _request: Request,
    readonly workspace: string
  ) {
    this._here = `api/workspaces/${workspace.split('/').map(part).join('/')}`;
  }

  me(): Promise<Me> {
    return this._request('api/me');
  }

  machine(): Promise<Workspace> {
    return this._request(this._here);
  }

  catalog(): Promise<Catalog> {
    return this._request(`api/catalog?workspace=${part(this.workspace)}`);
  }

  switchTimes(): Promise<SwitchTime[]> {
    return this._request(`${this._here}/switch-times`);
  }

  states(): Promise<KeptState[]> {
    return this._request(`${this._here}/states`);
  }

  takeSnapshot(): Promise<Operation> {
    return this._request(`${this._here}/states`, { method: 'POST', body: {} });
  }

  async notices(): Promise<Told[]> {
    return list(await this._request(`${this._here}/notices`));
  }

  async statesOnDisks(): Promise<SharedState[]> {
    return list(await this._request('state/shared'));
  }

  copyState(state: string, disk: string): Promise<SharedState> {
    return this._request('state/shared', { method: 'POST', body: { state, disk } });
  }

  idle(): Promise<Idle> {
    return this._request(`${this._here}/idle`);
  }

  chooseIdle(action: IdleAction, after_hours: number): Promise<Idle> {
    return this._request(`${this._here}/idle`, { method: 'PUT', body: { action, after_hours } });
  }

  unchooseIdle(): Promise<Idle> {
    return this._request(`${this._here}/idle`, { method: 'DELETE' });
  }

  keep(hours: number): Promise<Idle> {
    return this._request(`${this._here}/idle/keep`, { method: 'POST', body: { hours } });
  }

  endOfWork(action: IdleAction, at: string | null): Promise<Idle> {
    return this._request(`${this._here}/idle/end`, { method: 'PUT', body: { action, at } });
  }

  /** Tell our server that a person is here. */
  used(): Promise<unknown> {
    return this._request('used', { method: 'POST' });
  }

  /** Have cells run by our server, in this order; the shared document tells what becomes of them. */
  execute(kernel_id: string, document_id: string, cells: { id: string; code: string }[]): Promise<unknown> {
    return this._request('documents/execute', { method: 'POST', body: { kernel_id, document_id, cells } });
  }

  /** To the `input()` of a running cell. */
  answer(kernel_id: string, question: string, value: string): Promise<unknown> {
    return this._request('documents/answer', { method: 'POST', body: { kernel_id, question, value } });
  }

  metrics(): Promise<Metrics> {
    return this._request('metrics');
  }

  memory(): Promise<Memory> {
    return this._request('memory');
  }

  interruptBeforeLimit(interrupt: boolean): Promise<Memory> {
    return this._request('memory', { method: 'PUT', body: { interrupt } });
  }

  memorySeen(ids: string[]): Promise<Memory> {
    return this._request('memory/seen', { method: 'POST', body: { ids } });
  }

  health(): Promise<Health> {
    return this._request('health');
  }

  ticket(): Promise<Ticket> {
    return this._request('ticket', { method: 'POST' });
  }

  async operations(): Promise<Operation[]> {
    return list(await this._request(`api/operations?workspace=${part(this.workspace)}`));
  }

  operation(id: string): Promise<Operation> {
    return this._request(`api/operations/${part(id)}`);
  }

  goBack(id: string): Promise<Operation> {
    return this._request(`api/operations/${part(id)}/cancel`, { method: 'POST', press: true });
  }

  plan<F>(body: Record<string, unknown>): Promise<Plan<F>> {
    return this._request('api/plans', { method: 'POST', body });
  }

  confirm<T>(plan: string): Promise<T> {
    return this._request(`api/plans/${part(plan)}/confirm`, { method: 'POST', body: { press: true }, press: true });
  }

  async disks(): Promise<Disk[]> {
    return list(await this._request('api/disks'));
  }

  newDisk(name: string, quota_bytes: number): Promise<Disk> {
    return this._request('api/disks', { method: 'POST', body: { name, quota_bytes } });
  }

  share(disk: string, user: string, mode: Mode): Promise<Disk> {
    return this._request(`api/disks/${part(disk)}/members/${part(user)}`, { method: 'PUT', body: { mode } });
  }

  attachDisk(disk: string, mode: Mode): Promise<unknown> {
    return this._request(`${this._here}/disks`, { method: 'POST', body: { disk, mode } });
  }

  detachDisk(disk: string): Promise<unknown> {
    return this._request(`${this._here}/disks/${part(disk)}`, { method: 'DELETE' });
  }

  async datasets(): Promise<DatasetStatus[]> {
    return list(await this._request(`api/datasets?workspace=${part(this.workspace)}`));
  }

  attachDataset(dataset: string): Promise<unknown> {
    return this._request(`${this._here}/datasets`, { method: 'POST', body: { dataset } });
  }

  detachDataset(dataset: string): Promise<unknown> {
    return this._request(`${this._here}/datasets/${part(dataset)}`, { method: 'DELETE' });
  }

  async jobs(): Promise<Job[]> {
    return list(await this._request('api/jobs'));
  }

  job(id: string): Promise<Job> {
    return this._request(`api/jobs/${part(id)}`);
  }

  jobLog(id: string, rank: number, offset: number): Promise<LogPage> {
    return this._request(`api/jobs/${part(id)}/logs?rank=${rank}&offset=${offset}`);
  }

  async jobMetrics(id: string): Promise<MetricPoint[]> {
    return list(await this._request(`api/jobs/${part(id)}/metrics?points=600`));
  }

  async waits(): Promise<Wait[]> {
    return list(await this._request('api/waitlist'));
  }

  waitOutlook(machine: string): Promise<WaitOutlook> {
    return this._request(`api/waitlist/outlook?machine=${part(machine)}`);
  }

  /** In line for another machine, to be asked when it is free. */
  joinWaitlist(machine: string): Promise<Wait> {
    return this._request('api/waitlist', { method: 'POST', body: { what: 'switch', workspace: this.workspace, machine } });
  }

  keepWait(id: string): Promise<Wait> {
    return this._request(`api/waitlist/${part(id)}/keep`, { method: 'POST', body: {} });
  }

  withdrawWait(id: string): Promise<Wait> {
    return this._request(`api/waitlist/${part(id)}`, { method: 'DELETE' });
  }

  costs(): Promise<Costs> {
    return this._request('api/costs/today');
  }

  /** What this workspace cost from one instant to another, or to now. */
  cost(from: string, to: string | null): Promise<SpanCost> {
    const until = to === null ? '' : `&to=${part(to)}`;
    return this._request(`${this._here}/cost?from=${part(from)}${until}`);
  }

  async ledger(from: string): Promise<LedgerLine[]> {
    return list(await this._request(`api/ledger?from=${part(from)}`));
  }

  integrity(): Promise<Integrity> {
    return this._request('api/ledger/verify');
  }

  private readonly _here: string;
}
