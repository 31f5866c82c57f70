/** The answers of control's API and of our server extension that are no records of the model. */

import type { Chip, Entry, Image, Machine, Text } from './records.js';

export interface Me {
  name: string;
  admin: boolean;
  workspace?: string | null;
  balance_nano: number;
  /** What all that is open costs per hour now. */
  rate_per_hour_nano: number;
  today_nano: number;
  month_nano: number;
  currency: string;
  currency_symbol?: string;
  language?: string;
}

export type IdleAction = 'stop' | 'drop' | 'keep';

/** What becomes of the workspace when nobody uses it. `next` happens at `acts_at`; both null while it is busy or kept. */
export interface Idle {
  action: IdleAction;
  after_hours: number;
  own: boolean;
  bounds: {
    actions: IdleAction[];
    min_hours: number;
    max_hours: number;
    default_action: IdleAction;
    default_hours: number;
    stuck_hours: number;
    warn_seconds: number;
  };
  busy: string[];
  cause: 'idle' | 'stuck' | 'end_of_work' | null;
  next: IdleAction | null;
  acts_at: string | null;
  warned: boolean;
  /** The machine of a drop, where one would be cheaper. */
  drop_to: string | null;
  saves_per_hour_nano: number | null;
  keep_until: string | null;
  end: { action: IdleAction; set_at: string; at: string | null } | null;
  /** The machine it was on before. */
  before: string | null;
}

/** A machine with what is free now; the last fields compare it with where the workspace is. */
export interface CatalogMachine extends Machine {
  free: number;
  total: number;
  price_per_hour_nano: number;
  current: boolean | null;
  runs_image: boolean | null;
  /** A switch to it could be let in now, what the workspace holds given in exchange. */
  fits: boolean | null;
  change_per_hour_nano: number | null;
}

export interface Catalog {
  machines: CatalogMachine[];
  images: Image[];
  currency: string;
  currency_symbol?: string;
}

export interface Gpu {
  index?: number;
  name?: string | null;
  percent: number | null;
  memory_bytes: number | null;
  memory_limit_bytes: number | null;
}

/** What the machine uses. What is not known is null, never 0. */
export interface Metrics {
  cpu_percent: number | null;
  cpus: number | null;
  memory_bytes: number | null;
  memory_limit_bytes: number | null;
  /** The share of it from which on the memory guard warns. */
  memory_warn_share?: number;
  gpus: Gpu[] | null;
  devices?: string[] | null;
  reason?: string | null;
  at?: string;
  /** The newest event of memory; another one than before means that there is something to read. */
  incident?: string | null;
}

/** What was told of this workspace, by page, mail or web hook. */
export interface Told {
  at: string;
  text: string;
  code: string | null;
  incident: string | null;
  path: string;
  en: string;
  zh: string;
}

/** A kept state of this person on a disk that is attached. */
export interface SharedState {
  disk: string;
  state: string;
  digest: string;
  bytes: number;
  workspace: string;
  kernels: { kernel_id: string; path: string; name: string }[];
}

/** What happened to a kernel over memory, or how one ended; kept on the server until it is read. */
export interface Incident {
  id: string;
  at: string;
  code: 'memory_near' | 'memory_interrupted' | 'kernel_oom' | 'kernel_signal' | 'kernel_exit';
  message: string;
  message_zh: string;
  kernel_id: string | null;
  path: string;
  facts: Record<string, unknown>;
  seen: boolean;
}

export interface Memory {
  use_bytes: number | null;
  limit_bytes: number | null;
  /** Whether the cell that grows is interrupted just before the limit. */
  interrupt: boolean;
  incidents: Incident[];
}

/** How our server is, and its kernels. */
export interface Health {
  ok: boolean;
  kernels: { kernel_id: string; state: string | null }[];
}

export type Verdict = 'copy' | 'rerun' | 'cannot' | 'left_out';

export interface Variable {
  name: string;
  type: string;
  where: string;
  bytes: number | null;
  verdict: string;
  why?: string | null;
  why_zh?: string | null;
  seconds?: number | null;
  /** What would have to be run, in words; `cells` are those cells. */
  way_back?: string | null;
  way_back_zh?: string | null;
  /** What running them again may do besides. */
  caution?: string | null;
  caution_zh?: string | null;
  cells?: number[];
  /** No cell brings it back as it was: losing it needs a consent. */
  lost?: boolean;
  /** Running its cells again is proposed. */
  suggested?: boolean;
  /** The chips its memory lies on. */
  device?: string | null;
}

export interface KernelPlan {
  kernel_id: string;
  path: string;
  name: string;
  busy?: boolean;
  variables: Variable[];
  /** Why its variables could not be read. */
  error?: { code: string; text: string } | null;
}

export interface InUse {
  used_bytes: number | null;
  has_bytes: number;
}

export interface Fits {
  memory: InUse;
  chips: InUse | null;
  ok: boolean;
}

/** A switch to one machine, before it is chosen. */
export interface SwitchTime {
  machine: string;
  mode: 'live' | 'restart';
  seconds: number;
  fits: Fits;
}

export interface SwitchSide {
  machine: string;
  image: string;
  price_per_hour_nano: number;
}

export interface SwitchFigures {
  mode: 'live' | 'restart';
  /** What is used now against what the target has; null where nothing has to fit anew. */
  fits: Fits | null;
  /** How many measured switches the seconds are learned from; 0 for a first guess. */
  learned_from: number;
  /** Seconds by step. */
  stages: Record<string, number>;
  bytes: number;
  rerun: Record<string, string[]>;
  from: SwitchSide;
  to: SwitchSide;
  price_before_nano: number;
  price_after_nano: number;
  seconds: number;
  availability: { free: number; total: number };
  rollback: 'frozen' | 'saved' | 'live';
  /** Whether the save is kept as a snapshot, and the room there is for one. */
  snapshot: { asked: boolean; room_bytes: number };
  kernels: KernelPlan[];
}

export interface Plan<F = Record<string, unknown>> {
  id: string;
  kind: string;
  body: Record<string, unknown>;
  figures: F;
  expires_at: string;
}

export type LedgerLine = Entry;

export interface Costs {
  since: string;
  total_nano: number;
  lines: CostLine[];
}

/** One line of today's cost: a workspace on a machine, or a job. */
export interface CostLine {
  subject: string;
  machine: string;
  opened_at: string;
  closed_at: string | null;
  price_per_hour_nano: number;
  amount_nano: number;
}

/** What the workspace cost within a span of time; empty `on` where nothing was charged. */
export interface SpanCost {
  seconds: number;
  amount_nano: number;
  currency: string;
  currency_symbol: string;
  /** The digest of its image. */
  image: string | null;
  on: SpanPart[];
}

/** Time on one machine at one price. */
export interface SpanPart {
  machine: string;
  title: Text | null;
  chip: Chip | null;
  price_per_hour_nano: number;
  seconds: number;
  amount_nano: number;
}

export interface Integrity {
  ok: boolean;
  entries: number;
  checked_at: string;
  first_bad: number | null;
}

export interface LogPage {
  rank: number;
  offset: number;
  text: string;
  done?: boolean;
}

export interface MetricPoint {
  step: number;
  [name: string]: number | string | null;
}

/** How waiting for a machine would be, were it begun now. */
export interface WaitOutlook {
  machine: string;
  position: number;
  of: number;
  starts_at: string | null;
  hold_seconds: number;
  longest_until: string;
  price_per_hour_nano: number;
}

/** The read-only right to this workspace's events. */
export interface Ticket {
  ticket: string;
  expires_at: string;
  url?: string;
}
