/** The records of gearshift.model as JSON. Written by scripts/records.py; do not edit. */

export interface App {
  id: string;
  title: Text;
  command: string[];
  listens: 'socket' | 'port';
  sees_base: boolean;
  ready: string;
  starter: string;
  starter_name: string;
  env: Record<string, string>;
}

export interface AttemptEnd {
  attempt: number;
  reason: EndReason;
  counts_as: Retry | null;
  first_failure: FirstFailure | null;
  ended_at: string;
}

export interface Card {
  id: string;
  title: Text;
  kind: 'dataset' | 'model';
  licence: string;
  licence_url: string;
  source: Source;
  files: DatasetFile[];
  size_bytes: number;
  samples: number | null;
  homepage: string | null;
  description: Text;
  tags: string[];
}

export interface Chip {
  vendor: string;
  model: string;
  count: number;
  memory_bytes: number;
  share_milli: number;
}

export interface DatasetFile {
  path: string;
  sha256: string;
  bytes: number;
}

export type DatasetState = 'ready' | 'preparing' | 'attached' | 'failed';

export interface DatasetStatus {
  card: Card;
  state: DatasetState;
  progress: number | null;
  path: string | null;
  error: Record<string, unknown> | null;
}

export interface Diagnosis {
  id: string;
  cause: Text;
  remedy: Text;
}

export interface Disk {
  id: string;
  name: string;
  owner: string;
  quota_bytes: number;
  used_bytes: number | null;
  members: Member[];
  mode_for_me: Mode | null;
  path_hint: string | null;
  attached_to: string[];
  created_at: string | null;
}

export interface DiskMount {
  disk: string;
  mode: Mode;
}

export type EndReason = 'succeeded' | 'user_error' | 'signal' | 'oom' | 'no_answer' | 'node_lost' | 'interrupted' | 'cancelled' | 'did_not_join' | 'deadline' | 'budget' | 'lost' | 'start_failed';

export interface Entry {
  at: string;
  account: string;
  kind: EntryKind;
  amount_nano: number;
  source: string;
  period_from: string | null;
  period_to: string | null;
  price_per_hour_nano: number | null;
  note: string;
  seq: number;
  prev_hash: string;
  hash: string;
}

export type EntryKind = 'credit' | 'usage' | 'correction';

export interface FirstFailure {
  rank: number | null;
  node: number | null;
  exit_code: number | null;
  signal: number | null;
  message: string;
  lines: string[];
  diagnosis: Diagnosis | null;
  at: string;
}

export interface Hindrance {
  whose: 'person' | 'team';
  name: string;
  what: 'chips' | 'nodes';
  limit: number;
  used: number;
}

export interface Image {
  id: string;
  title: Text;
  subtitle: Text;
  runtime: Runtime;
  python: string;
  packages: string[];
  digest: string;
  catalog: string;
  locked: string;
  versions: Record<string, string>;
  chips: string[];
  minimum_driver: string;
  licence: string;
  prebuilt: string[];
  size_bytes: number | null;
  deprecated: string | null;
  needs: Text | null;
  app: App | null;
  minimum_memory_bytes: number;
}

export interface Job {
  id: string;
  owner: string;
  spec: JobSpec;
  state: JobState;
  reason: EndReason | null;
  attempt: number;
  attempts: AttemptEnd[];
  ranks: RankStatus[];
  first_failure: FirstFailure | null;
  metrics_last: Record<string, unknown> | null;
  checkpoint_step: number | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  price_per_hour_nano: number;
  cost_nano: number;
  queue: QueuePlace | null;
  use: JobUse | null;
}

export interface JobSpec {
  name: string;
  machine: string;
  image: string;
  plan: Plan;
  nodes: number;
  procs: number;
  launch: Launch;
  code: string;
  argv: string[];
  env: Record<string, string>;
  disks: DiskMount[];
  datasets: string[];
  max_restarts: number;
  max_interruptions: number;
  max_no_capacity: number;
  grace_seconds: number;
  group_timeout_seconds: number;
  deadline_seconds: number | null;
  expected_seconds: number | null;
  priority: number;
  budget_nano: number | null;
  workspace: string | null;
  attached: boolean;
  resume: string | null;
}

export type JobState = 'queued' | 'starting' | 'running' | 'cancelling' | 'succeeded' | 'failed' | 'cancelled';

export interface JobUse {
  memory_bytes: number;
  memory_has_bytes: number;
  cores: number | null;
  cores_has: number;
}

export interface KeptKernel {
  kernel_id: string;
  path: string;
  name: string;
  variables: string[];
  lost: number;
}

export interface KeptState {
  id: string;
  owner: string;
  workspace: string;
  kind: StateKind;
  note: string;
  reason: string | null;
  machine: string;
  image: string;
  taken_at: string;
  expires_at: string;
  bytes: number;
  kernels: KeptKernel[];
}

export type Launch = 'env' | 'torchrun' | 'deepspeed' | 'accelerate';

export interface Machine {
  id: string;
  title: Text;
  chip: Chip | null;
  cores_milli: number;
  memory_bytes: number;
  pool: string;
  capacity: number;
  prices_per_hour_nano: Record<string, number>;
  good_for: Text;
  images: string[];
  simulated: boolean;
}

export interface Member {
  user: string;
  mode: Mode;
}

export type Mode = 'ro' | 'rw';

export interface Operation {
  id: string;
  kind: OperationKind;
  owner: string;
  workspace: string | null;
  state: OperationState;
  direction: 'forward' | 'back';
  step: string | null;
  steps: Step[];
  error: Record<string, unknown> | null;
  failed_step: string | null;
  cancelled_by: string | null;
  created_at: string;
  ended_at: string | null;
  deadline_at: string | null;
  result: Record<string, unknown> | null;
  from_machine: string | null;
  to_machine: string | null;
  expected: Record<string, number> | null;
}

export type OperationKind = 'start' | 'stop' | 'switch' | 'resize' | 'shutdown' | 'snapshot' | 'restore' | 'delete_workspace' | 'cancel_job' | 'delete_disk' | 'remove_member' | 'delete_user';

export type OperationState = 'running' | 'done' | 'failed' | 'cancelled';

export type Plan = 'on_demand';

export interface QueuePlace {
  position: number;
  of: number;
  needs: number;
  free: number;
  after: string | null;
  after_name: string | null;
  after_owner: string | null;
  starts_at: string | null;
  seconds: number | null;
  cost_nano: number | null;
  quota: Hindrance | null;
  shapes: Shape[];
}

export type RankState = 'waiting' | 'running' | 'succeeded' | 'failed' | 'stopped';

export interface RankStatus {
  rank: number;
  node: number;
  local_rank: number;
  state: RankState;
  pid: number | null;
  exit_code: number | null;
  signal: number | null;
  device: string | null;
}

export type Retry = 'no-capacity' | 'error' | 'interruption';

export type Runtime = 'cpu' | 'cuda' | 'rocm' | 'cann' | 'xla';

export interface Shape {
  machine: string;
  nodes: number;
  price_per_hour_nano: number;
  seconds: number | null;
  cost_nano: number | null;
}

export interface Source {
  package: string;
  version: string;
  files: string[];
  maker: string | null;
  [key: string]: unknown;
}

export type StateKind = 'stop' | 'snapshot' | 'switch';

export interface Step {
  name: string;
  state: StepState;
  started_at: string | null;
  ended_at: string | null;
  note: Record<string, unknown> | null;
}

export type StepState = 'pending' | 'running' | 'done' | 'failed' | 'passed' | 'undoing' | 'undone' | 'stuck';

export interface Text {
  en: string;
  zh: string;
}

export interface Wait {
  id: string;
  owner: string;
  workspace: string;
  kind: WaitKind;
  spec: WorkspaceSpec;
  mode: WaitMode;
  cap_nano: number | null;
  until: string;
  state: WaitState;
  position: number | null;
  of: number | null;
  starts_at: string | null;
  held_until: string | null;
  others_wait: boolean;
  why: string | null;
  why_zh: string | null;
  error: Record<string, unknown> | null;
  operation: string | null;
  created_at: string;
  ended_at: string | null;
}

export type WaitKind = 'start' | 'switch';

export type WaitMode = 'ask' | 'itself';

export type WaitState = 'waiting' | 'held' | 'begun' | 'done' | 'passed' | 'lapsed' | 'over' | 'withdrawn' | 'failed';

export interface Workspace {
  owner: string;
  name: string;
  display_name: string;
  spec: WorkspaceSpec;
  state: WorkspaceState;
  reason: string | null;
  since: string;
  operation: string | null;
  url: string | null;
  interval_open: boolean;
  price_per_hour_nano: number | null;
}

export interface WorkspaceSpec {
  image: string;
  machine: string;
  plan: Plan;
  disks: DiskMount[];
  datasets: string[];
}

export type WorkspaceState = 'stopped' | 'starting' | 'ready' | 'switching' | 'stopping' | 'stopping_unconfirmed' | 'failed' | 'needs_attention';
