/** Jobs: their view, cancelling, and confirming the plan that a magic proposed. */

import { ILayoutRestorer, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import * as React from 'react';

import { ConfirmDialog } from '../components/confirm/ConfirmDialog.js';
import { showGearshiftDialog } from '../components/dialog.js';
import { JobsView } from '../components/views/JobsView.js';
import { jobsIcon } from '../icons.js';
import { Commands, IGearshift } from '../tokens.js';
import { addView } from './mainarea.js';

const NARROW = 430;

export const jobsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:jobs',
  description: 'Jobs in the main area.',
  autoStart: true,
  requires: [IGearshift],
  optional: [ILayoutRestorer],
  activate: (app, gearshift: IGearshift, restorer: ILayoutRestorer | null) => {
    if (!gearshift.active) {
      return;
    }
    const { t } = gearshift.words;
    addView(app, gearshift, {
      command: Commands.jobs,
      id: 'gearshift-jobs',
      argument: 'job',
      label: t('Open Jobs'),
      title: t('Jobs'),
      caption: t('Your jobs, running ones first'),
      icon: jobsIcon,
      restorer,
      draw: choice => React.createElement(JobsView, { choice })
    });
    addCancel(gearshift);
    addAgain(gearshift, Commands.resumeJob, t('Go on from the checkpoint…'), true);
    addAgain(gearshift, Commands.rerunJob, t('Run from the start…'), false);
    addReshape(gearshift);
  }
};

function addCancel(gearshift: IGearshift): void {
  const { commands, store, words } = gearshift;
  commands.addCommand(Commands.cancelJob, {
    label: words.t('Cancel…'),
    describedBy: { args: { type: 'object', properties: { job: { type: 'string' } } } },
    execute: args => {
      const body = { kind: 'cancel_job', job: args['job'] as string };
      const heading = words.t('Cancel job?');
      return showGearshiftDialog(gearshift, { title: heading, width: NARROW }, ({ close }) =>
        React.createElement(ConfirmDialog, { close, body, heading, done: () => void store.load('jobs') })
      );
    }
  });
}

/** The same spec once more, from the newest complete checkpoint or from the start; the new job is shown when confirmed. */
function addAgain(gearshift: IGearshift, command: string, label: string, fromCheckpoint: boolean): void {
  const { client, commands, store, words } = gearshift;
  commands.addCommand(command, {
    label,
    describedBy: { args: { type: 'object', properties: { job: { type: 'string' } } } },
    execute: async args => {
      const { id, spec } = await client.job(args['job'] as string);
      const body = { kind: 'job', spec: { ...spec, resume: fromCheckpoint ? id : null, attached: false } };
      const heading = words.t('Start job again?');
      const done = (answer: unknown): void => {
        void store.load('jobs');
        void commands.execute(Commands.jobs, { job: (answer as { id: string }).id });
      };
      return showGearshiftDialog(gearshift, { title: heading, width: NARROW }, ({ close }) =>
        React.createElement(ConfirmDialog, { close, body, heading, done })
      );
    }
  });
}

/** A queued job in a shape that would start now; its place in line stays. */
function addReshape(gearshift: IGearshift): void {
  const { commands, store, words } = gearshift;
  commands.addCommand(Commands.reshapeJob, {
    label: words.t('Change the Shape…'),
    describedBy: {
      args: {
        type: 'object',
        properties: { job: { type: 'string' }, machine: { type: 'string' }, nodes: { type: 'integer' } },
        required: ['job', 'machine', 'nodes']
      }
    },
    execute: args => {
      const body = { kind: 'reshape_job', ...args };
      const heading = words.t('Change job?');
      return showGearshiftDialog(gearshift, { title: heading, width: NARROW }, ({ close }) =>
        React.createElement(ConfirmDialog, { close, body, heading, done: () => void store.load('jobs') })
      );
    }
  });
}
