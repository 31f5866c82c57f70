/** Cost: its view. */

import { ILayoutRestorer, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import * as React from 'react';

import { CostView } from '../components/views/CostView.js';
import { costIcon } from '../icons.js';
import { Commands, IGearshift } from '../tokens.js';
import { addView } from './mainarea.js';

export const costPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:cost',
  description: 'Cost in the main area.',
  autoStart: true,
  requires: [IGearshift],
  optional: [ILayoutRestorer],
  activate: (app, gearshift: IGearshift, restorer: ILayoutRestorer | null) => {
    if (!gearshift.active) {
      return;
    }
    const { t } = gearshift.words;
    addView(app, gearshift, {
      command: Commands.cost,
      id: 'gearshift-cost',
      argument: 'entry',
      label: t('Open Cost'),
      title: t('Cost'),
      caption: t('Balance, today’s lines and the ledger'),
      icon: costIcon,
      restorer,
      draw: () => React.createElement(CostView)
    });
  }
};
