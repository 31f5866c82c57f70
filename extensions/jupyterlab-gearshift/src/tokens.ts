/** What the plugins of this extension give each other. */

import type { CommandRegistry } from '@lumino/commands';
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';

import type { Client } from './api/client.js';
import type { Words } from './i18n.js';
import type { CellCosts } from './models/cellcost.js';
import type { JobFeeds } from './models/feed.js';
import type { Gate } from './models/gate.js';
import type { KernelRuns } from './models/kernelruns.js';
import type { Meters } from './models/meters.js';
import type { SharedEvents } from './models/shared.js';
import type { Store } from './models/store.js';

export interface Settings {
  /** Seconds between two readings of the meters. */
  meterSeconds: number;
  /** Which parts the status item shows. */
  status: { use: boolean; price: boolean; balance: boolean };
  /** Whether a line stands under each cell that ran. */
  footer: boolean;
}

export interface IGearshift {
  /** Whether this page belongs to a workspace of a hub; elsewhere nothing of ours is drawn. */
  readonly active: boolean;
  readonly client: Client;
  readonly store: Store;
  readonly events: SharedEvents;
  readonly feeds: JobFeeds;
  readonly meters: Meters;
  readonly gate: Gate;
  readonly runs: KernelRuns;
  readonly costs: CellCosts;
  readonly words: Words;
  readonly commands: CommandRegistry;
  readonly settings: Settings;
  readonly settingsChanged: ISignal<IGearshift, Settings>;
  /** Address of Gearshift's own pages (home, start). */
  readonly home: string;
}

export const IGearshift = new Token<IGearshift>(
  'jupyterlab-gearshift:IGearshift',
  'The state of this workspace, its client and its words.'
);

/** The commands, by what they do. */
export const Commands = {
  panel: 'gearshift:show-panel',
  switchMachine: 'gearshift:switch-machine',
  dropToCpu: 'gearshift:drop-to-cpu',
  stop: 'gearshift:stop-machine',
  interruptBeforeLimit: 'gearshift:interrupt-before-limit',
  announce: 'gearshift:announce',
  disks: 'gearshift:open-disks',
  datasets: 'gearshift:open-datasets',
  jobs: 'gearshift:open-jobs',
  cost: 'gearshift:open-cost',
  history: 'gearshift:switch-history',
  idle: 'gearshift:idle',
  keep: 'gearshift:keep',
  whenCellEnds: 'gearshift:when-cell-ends',
  backTo: 'gearshift:back-to',
  runCells: 'gearshift:run-cells',
  newDisk: 'gearshift:new-disk',
  shareDisk: 'gearshift:share-disk',
  deleteDisk: 'gearshift:delete-disk',
  removeMember: 'gearshift:remove-member',
  attachDisk: 'gearshift:attach-disk',
  detachDisk: 'gearshift:detach-disk',
  attachDataset: 'gearshift:attach-dataset',
  detachDataset: 'gearshift:detach-dataset',
  cancelJob: 'gearshift:cancel-job',
  resumeJob: 'gearshift:resume-job',
  rerunJob: 'gearshift:rerun-job',
  reshapeJob: 'gearshift:reshape-job',
  agreeWait: 'gearshift:agree-wait',
  confirmPlan: 'gearshift:confirm-plan'
} as const;
