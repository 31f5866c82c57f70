/** What the states of the model are called, with tone and icon; nothing else turns a state into a word. */

import type { DatasetStatus, Job, Mode, Operation, Workspace } from '../api/records.js';
import type { Words } from '../i18n.js';
import type { IconName } from '../icons.js';
import { place } from '../models/format.js';
import type { Tone } from './parts.js';

export interface Look {
  tone: Tone;
  icon: IconName;
  word: string;
}

export function machineLook({ t }: Words, workspace: Workspace): Look {
  const looks: Record<Workspace['state'], Look> = {
    ready: { tone: 'good', icon: 'play', word: t('Running') },
    starting: { tone: 'info', icon: 'busy', word: t('Starting') },
    switching: { tone: 'info', icon: 'busy', word: t('Switching') },
    stopping: { tone: 'info', icon: 'busy', word: t('Stopping') },
    stopping_unconfirmed: { tone: 'warn', icon: 'warn', word: t('Stopping, not confirmed') },
    stopped: { tone: 'idle', icon: 'stopped', word: t('Stopped') },
    failed: { tone: 'bad', icon: 'fail', word: t('Failed') },
    needs_attention: { tone: 'warn', icon: 'warn', word: t('Needs attention') }
  };
  return looks[workspace.state];
}

/** Why a workspace is not running, as it is said after `Stopped 11:20:`. */
export function reasonWord({ t }: Words, reason: string | null): string {
  const known: Record<string, string> = {
    asked: t('as asked'),
    idle: t('idle'),
    stuck: t('busy for long without computing'),
    end_of_work: t('at the end of its work'),
    balance: t('the balance was used up'),
    cost_cap: t('the cost cap was reached'),
    shutdown: t('Gearshift was shut down'),
    disabled: t('the account was disabled'),
    gone: t('it ended by itself'),
    disk_removed: t('a disk was taken back by its owner'),
    cancelled: t('cancelled'),
    start_failed: t('the start failed'),
    start_timeout: t('the start took too long')
  };
  return known[reason ?? 'asked'] ?? reason ?? '';
}

export function jobLook(words: Words, job: Job): Look {
  const { t } = words;
  const rank = job.first_failure?.rank;
  const looks: Record<Job['state'], Look> = {
    queued: {
      tone: 'idle',
      icon: 'clock',
      word: job.queue ? t('Queued, {place}', { place: place(job.queue.position, words.language) }) : t('Queued')
    },
    starting: { tone: 'info', icon: 'busy', word: t('Starting') },
    running: { tone: 'info', icon: 'play', word: t('Running') },
    cancelling: { tone: 'info', icon: 'busy', word: t('Cancelling') },
    succeeded: { tone: 'good', icon: 'ok', word: t('Finished') },
    failed: {
      tone: 'bad',
      icon: 'fail',
      word: rank === null || rank === undefined ? t('Failed') : t('Failed, rank {rank}', { rank })
    },
    cancelled: { tone: 'idle', icon: 'stopped', word: t('Cancelled') }
  };
  return looks[job.state];
}

export function datasetLook({ t }: Words, { state, progress }: DatasetStatus): Look {
  const looks: Record<DatasetStatus['state'], Look> = {
    attached: { tone: 'good', icon: 'ok', word: t('Attached') },
    preparing: {
      tone: 'info',
      icon: 'busy',
      word: progress === null ? t('Preparing') : t('Preparing, {n}%', { n: progress })
    },
    ready: { tone: 'idle', icon: 'ring', word: t('Ready to attach') },
    failed: { tone: 'bad', icon: 'fail', word: t('Not attached') }
  };
  return looks[state];
}

export function modeWord({ t }: Words, mode: Mode | null): string {
  return mode === 'rw' ? t('read-write') : mode === 'ro' ? t('read-only') : t('no access');
}

/** The step of a switch or stop as a sentence: what it will do, does, or did. */
export function stepWord({ t }: Words, op: Operation, step: string, phase: 'todo' | 'now' | 'done' | 'failed', names: { to: string; from: string }): string {
  const { to, from } = names;
  const sentences: Record<string, [string, string, string, string]> = {
    wait: [t('Wait for the stop'), t('Stopping, then starting'), t('Stopped'), t('The stop did not end')],
    reserve: [t('Reserve {to}', { to }), t('Reserving {to}', { to }), t('{to} reserved', { to }), t('{to} was not reserved', { to })],
    resize: [t('Change the size'), t('Changing the size'), t('Size changed'), t('The size was not changed')],
    save: [t('Save kernel state'), t('Saving kernel state'), t('Kernel state saved'), t('Kernel state was not saved')],
    stop:
      op.kind === 'switch'
        ? [t('Pause {from}', { from }), t('Pausing {from}', { from }), t('{from} paused', { from }), t('{from} was not paused', { from })]
        : [t('Stop {from}', { from }), t('Stopping {from}', { from }), t('{from} stopped', { from }), t('{from} was not stopped', { from })],
    start: [t('Start {to}', { to }), t('Starting {to}', { to }), t('{to} started', { to }), t('{to} did not start', { to })],
    restore: [t('Restore the variables'), t('Restoring the variables'), t('Variables restored'), t('Variables were not restored')],
    verify: [t('Check every variable'), t('Checking every variable'), t('Every variable checked'), t('The check did not pass')],
    release: [t('Release {from}', { from }), t('Releasing {from}', { from }), t('{from} released', { from }), t('{from} was not released', { from })],
    close: [t('End charging'), t('Ending charging'), t('Charging ended'), t('Charging was not ended')]
  };
  const index = { todo: 0, now: 1, done: 2, failed: 3 }[phase];
  return sentences[step]?.[index] ?? step;
}
