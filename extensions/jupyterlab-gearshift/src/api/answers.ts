/** The answers of control's API and of our server extension that are no records of the model. */

import type { Disk, Entry, Image, Machine, Operation, Text } from './records.js';

export interface Me {
  name: string;
  admin: boolean;
  workspace?: string | null;
  balance_nano: number;
  today_nano: number;
  month_nano: number;
  currency: string;
  currency_symbol?: string;
  language?: string;
}

/** A machine with what is free now and, for one workspace, whether a switch to it is possible. */
export interface CatalogMachine extends Machine {
  free: number;
  total: number;
  price_per_hour_nano: number;
  fits?: Fit | boolean | null;
  change_nano?: number | null;
  seconds?: number | null;
  current?: boolean;
}

export interface Fit {
  ok: boolean;
  reason?: Text | string | null;
  mode?: 'live' | 'restart' | 'refused' | null;
}

export interface Catalog {
  machines: CatalogMachine[];
  images: Image[];
  currency: string;
  currency_symbol?: string;
}

export interface Gpu {
  index?: number;
  name?: string;
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
  gpus: Gpu[] | null;
  devices?: string[] | null;
  reason?: string | null;
  at?: string;
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
  rebuild?: string | null;
}

export interface KernelPlan {
  kernel_id: string;
  path: string;
  name: string;
  busy?: boolean;
  variables: Variable[];
}

export interface SwitchFigures {
  mode: 'live' | 'restart' | 'refused';
  price_before_nano: number;
  price_after_nano: number;
  price_per_hour_nano?: number;
  seconds?: number | null;
  availability?: { free: number; total: number } | null;
  rollback?: 'frozen' | 'saved' | null;
  kernels?: KernelPlan[];
  machine?: string;
  from_machine?: string;
  reason?: string | null;
}

export interface Plan<F = Record<string, unknown>> {
  id: string;
  kind: string;
  body: Record<string, unknown>;
  figures: F;
  expires_at: string;
}

export interface LedgerLine extends Omit<Entry, 'seq' | 'hash' | 'prev_hash'> {
  seq?: number | null;
  running?: boolean;
  balance_nano?: number | null;
}

export interface Today {
  total_nano?: number;
  lines: CostLine[];
}

/** One line of today's cost: a workspace on a machine, or a job. */
export interface CostLine {
  subject: string;
  machine: string;
  opened_at: string;
  closed_at: string | null;
  seconds?: number;
  price_per_hour_nano: number;
  amount_nano: number;
}

export interface Integrity {
  intact: boolean;
  entries: number;
  checked_at: string;
  first_bad?: number | null;
}

export interface LogLine {
  at?: string | null;
  rank: number;
  node?: number | null;
  text: string;
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

export type Confirmed = Operation & { job?: string };

export type { Disk, Operation };
