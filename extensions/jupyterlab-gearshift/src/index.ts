/** The plugins of this extension. */

import { cellQueuePlugin } from './plugins/cellqueue.js';
import { chipPlugin } from './plugins/chip.js';
import { commandsPlugin } from './plugins/commands.js';
import { connectionLostPlugin } from './plugins/connectionlost.js';
import { consoleQueuePlugin } from './plugins/consolequeue.js';
import { costPlugin } from './plugins/cost.js';
import { datasetsPlugin } from './plugins/datasets.js';
import { disksPlugin } from './plugins/disks.js';
import { footersPlugin } from './plugins/footers.js';
import { idlePlugin } from './plugins/idle.js';
import { jobsPlugin } from './plugins/jobs.js';
import { kernelRunsPlugin } from './plugins/kernelruns.js';
import { loadingPlugin } from './plugins/loading.js';
import { memoryPlugin } from './plugins/memory.js';
import { outputsPlugin } from './plugins/outputs.js';
import { panelPlugin } from './plugins/panel.js';
import { questionsPlugin } from './plugins/questions.js';
import { reattachPlugin } from './plugins/reattach.js';
import { runCellsPlugin } from './plugins/runcells.js';
import { statePlugin } from './plugins/state.js';
import { statusPlugin } from './plugins/status.js';
import { switchingPlugin } from './plugins/switching.js';
import { waitsPlugin } from './plugins/waits.js';

export default [
  statePlugin,
  panelPlugin,
  chipPlugin,
  footersPlugin,
  statusPlugin,
  commandsPlugin,
  switchingPlugin,
  idlePlugin,
  disksPlugin,
  datasetsPlugin,
  jobsPlugin,
  costPlugin,
  waitsPlugin,
  memoryPlugin,
  outputsPlugin,
  connectionLostPlugin,
  loadingPlugin,
  cellQueuePlugin,
  consoleQueuePlugin,
  questionsPlugin,
  reattachPlugin,
  kernelRunsPlugin,
  runCellsPlugin
];
