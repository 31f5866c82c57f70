/** How a view of ours lives in the main area: one of each, restored with the layout. */

import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import type { LabIcon } from '@jupyterlab/ui-components';
import type { ReactElement } from 'react';

import { rootWidget } from '../components/context.js';
import { Choice } from '../components/views/choice.js';
import type { IGearshift } from '../tokens.js';

export interface ViewOptions {
  command: string;
  id: string;
  /** The argument of the command that chooses something in the view. */
  argument: string;
  label: string;
  title: string;
  caption: string;
  icon: LabIcon;
  restorer: ILayoutRestorer | null;
  draw: (choice: Choice) => ReactElement;
}

export function addView(app: JupyterFrontEnd, gearshift: IGearshift, options: ViewOptions): void {
  const choice = new Choice();
  const tracker = new WidgetTracker<MainAreaWidget>({ namespace: options.id });
  let widget: MainAreaWidget | null = null;
  app.commands.addCommand(options.command, {
    label: args => (args['isLauncher'] ? options.title : options.label),
    caption: options.caption,
    icon: options.icon,
    describedBy: { args: { type: 'object', properties: { [options.argument]: { type: 'string' } } } },
    execute: args => {
      const chosen = args[options.argument];
      if (typeof chosen === 'string') {
        choice.set(chosen);
      }
      if (!widget || widget.isDisposed) {
        widget = make(gearshift, options, choice);
        void tracker.add(widget);
      }
      if (!widget.isAttached) {
        app.shell.add(widget, 'main');
      }
      app.shell.activateById(widget.id);
    }
  });
  void options.restorer?.restore(tracker, { command: options.command, name: () => options.id });
}

function make(gearshift: IGearshift, options: ViewOptions, choice: Choice): MainAreaWidget {
  const content = rootWidget(gearshift, options.draw(choice), 'gs-main-host');
  content.addClass('gs-main-host');
  const widget = new MainAreaWidget({ content });
  widget.id = options.id;
  widget.title.label = options.title;
  widget.title.icon = options.icon;
  widget.title.closable = true;
  return widget;
}
