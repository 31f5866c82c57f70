/** Datasets and models: their view, and attaching, which is free and needs no dialog. */

import { ILayoutRestorer, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import * as React from 'react';

import { asApiError } from '../api/errors.js';
import { DatasetsView } from '../components/views/DatasetsView.js';
import { dataIcon } from '../icons.js';
import { Commands, IGearshift } from '../tokens.js';
import { addView } from './mainarea.js';

const DATASET = { type: 'object', properties: { dataset: { type: 'string' } } } as const;

export const datasetsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:datasets',
  description: 'Datasets and models in the main area.',
  autoStart: true,
  requires: [IGearshift],
  optional: [ILayoutRestorer],
  activate: (app, gearshift: IGearshift, restorer: ILayoutRestorer | null) => {
    if (!gearshift.active) {
      return;
    }
    const { t } = gearshift.words;
    addView(app, gearshift, {
      command: Commands.datasets,
      id: 'gearshift-datasets',
      argument: 'dataset',
      label: t('Browse Datasets & Models'),
      title: t('Datasets & models'),
      caption: t('Public data and models that cost nothing to attach'),
      icon: dataIcon,
      restorer,
      draw: choice => React.createElement(DatasetsView, { choice })
    });
    addAttaching(gearshift);
  }
};

function addAttaching({ client, commands, store, words }: IGearshift): void {
  const then = (work: Promise<unknown>): Promise<unknown> =>
    work
      .catch(reason => Notification.error(asApiError(reason).sentence(words.language)))
      .then(() => store.load('datasets'));
  commands.addCommand(Commands.attachDataset, {
    label: words.t('Attach'),
    describedBy: { args: DATASET },
    execute: args => then(client.attachDataset(args['dataset'] as string))
  });
  commands.addCommand(Commands.detachDataset, {
    label: words.t('Detach'),
    describedBy: { args: DATASET },
    execute: args => then(client.detachDataset(args['dataset'] as string))
  });
}
