/** Which commands a row offers; the same list for its `…`, its context menu and its keys. */

import type { DatasetStatus, Disk, Job } from '../api/records.js';
import { Commands } from '../tokens.js';
import type { RowAction } from './rowmenu.js';

/** `wanted`: the workspace is to have it, now or from its next start. */
export function diskActions(disk: Disk, workspace: string, wanted: boolean): RowAction[] {
  const args = { disk: disk.id };
  return [
    { command: Commands.disks, args },
    ...(disk.owner === workspace.split('/')[0] ? [{ command: Commands.shareDisk, args }] : []),
    wanted
      ? { command: Commands.detachDisk, args }
      : { command: Commands.attachDisk, args: { ...args, mode: disk.mode_for_me ?? 'ro' } }
  ];
}

export function datasetActions({ card, state }: DatasetStatus): RowAction[] {
  const args = { dataset: card.id };
  const toggle = state === 'attached' ? Commands.detachDataset : Commands.attachDataset;
  return [{ command: Commands.datasets, args }, ...(state === 'preparing' ? [] : [{ command: toggle, args }])];
}

export function jobActions(job: Job): RowAction[] {
  const args = { job: job.id };
  const live = ['queued', 'starting', 'running'].includes(job.state);
  return [
    { command: Commands.jobs, args },
    ...(live ? [{ command: Commands.cancelJob, args }] : []),
    ...(canResume(job) ? [{ command: Commands.resumeJob, args }] : [])
  ];
}

/** It ended before its work was done, and kept a complete checkpoint. */
export function canResume(job: Job): boolean {
  return ['failed', 'cancelled'].includes(job.state) && job.checkpoint_step !== null;
}
