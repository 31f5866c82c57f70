/** The machine in the status bar; a press opens the Machine section over it. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStatusBar, showPopup, type Popup } from '@jupyterlab/statusbar';
import * as React from 'react';

import { StatusText } from '../components/Chip.js';
import { rootWidget } from '../components/context.js';
import { MachineSection } from '../components/panel/Machine.js';
import { IGearshift } from '../tokens.js';

export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:status',
  description: 'The machine in the status bar.',
  autoStart: true,
  requires: [IGearshift],
  optional: [IStatusBar],
  activate: (_app, gearshift: IGearshift, statusBar: IStatusBar | null) => {
    if (!statusBar || !gearshift.active) {
      return;
    }
    let popup: Popup | null = null;
    const open = (): void => {
      popup?.dispose();
      const body = rootWidget(gearshift, React.createElement(MachineSection), 'gs-popup');
      popup = showPopup({ body, anchor: item, align: 'left' });
      requestAnimationFrame(() => body.node.querySelector<HTMLElement>('button')?.focus());
    };
    const item = rootWidget(gearshift, React.createElement(StatusText, { open }));
    statusBar.registerStatusItem('gearshift:machine', { item, align: 'left', rank: 5 });
  }
};
