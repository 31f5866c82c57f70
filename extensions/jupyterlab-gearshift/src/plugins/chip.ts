/** The machine's chip in the toolbars of notebooks and consoles; the settings schema says where. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import * as React from 'react';

import { ToolbarChip } from '../components/Chip.js';
import { rootWidget } from '../components/context.js';
import { IGearshift } from '../tokens.js';

export const chipPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:chip',
  description: 'The machine in the toolbar of notebooks and consoles.',
  autoStart: true,
  requires: [IGearshift, IToolbarWidgetRegistry],
  activate: (_app, gearshift: IGearshift, registry: IToolbarWidgetRegistry) => {
    const make = (): ReturnType<typeof rootWidget> => {
      const child = gearshift.active ? React.createElement(ToolbarChip) : React.createElement(React.Fragment);
      const widget = rootWidget(gearshift, child, 'gs-toolbar-chip');
      widget.addClass('gs-toolbar-item');
      return widget;
    };
    for (const factory of ['Notebook', 'ConsolePanel']) {
      registry.addFactory(factory, 'gearshift-chip', make);
    }
  }
};
