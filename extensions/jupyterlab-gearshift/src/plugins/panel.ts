/** The side panel, its place in the layout and which of its sections are folded. */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStateDB } from '@jupyterlab/statedb';
import { SidePanel } from '@jupyterlab/ui-components';
import { Panel as LuminoPanel } from '@lumino/widgets';
import * as React from 'react';

import { rootWidget } from '../components/context.js';
import { Panel, PanelBar, type Folds, type SectionId } from '../components/panel/Panel.js';
import { gateIcon } from '../icons.js';
import { Commands, IGearshift } from '../tokens.js';

const PANEL = 'gearshift-panel';
const FOLDED = 'gearshift:folded-sections';

class KeptFolds implements Folds {
  constructor(private readonly _db: IStateDB | null) {
    void _db?.fetch(FOLDED).then(held => {
      if (Array.isArray(held)) {
        this._set(new Set(held as SectionId[]));
      }
    });
  }

  readonly get = (): ReadonlySet<SectionId> => this._shut;

  readonly subscribe = (changed: () => void): (() => void) => {
    this._listeners.add(changed);
    return () => this._listeners.delete(changed);
  };

  toggle(id: SectionId): void {
    const next = new Set(this._shut);
    if (!next.delete(id)) {
      next.add(id);
    }
    this._set(next);
    void this._db?.save(FOLDED, [...next]);
  }

  unfold(id: SectionId): void {
    if (this._shut.has(id)) {
      this.toggle(id);
    }
  }

  private _set(shut: ReadonlySet<SectionId>): void {
    this._shut = shut;
    this._listeners.forEach(changed => changed());
  }

  private _shut: ReadonlySet<SectionId> = new Set();
  private readonly _listeners = new Set<() => void>();
}

export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:panel',
  description: 'The Gearshift side panel.',
  autoStart: true,
  requires: [IGearshift],
  optional: [ILayoutRestorer, IStateDB],
  activate: (app, gearshift: IGearshift, restorer: ILayoutRestorer | null, db: IStateDB | null) => {
    if (!gearshift.active) {
      return;
    }
    const folds = new KeptFolds(db);
    const panel = build(gearshift, folds);
    app.shell.add(panel, 'left', { rank: 150 });
    restorer?.add(panel, PANEL);
    showCommand(app, gearshift, panel, folds);
  }
};

function build(gearshift: IGearshift, folds: Folds): SidePanel {
  const panel = new SidePanel({ content: new LuminoPanel() });
  panel.id = PANEL;
  panel.addClass('gs-sidepanel');
  panel.title.icon = gateIcon;
  panel.title.caption = 'Gearshift';
  const bar = rootWidget(gearshift, React.createElement(PanelBar), 'gs-bar-host');
  bar.addClass('gs-bar-host');
  panel.toolbar.addItem('gearshift', bar);
  const content = rootWidget(gearshift, React.createElement(Panel, { folds }), 'gs-panel-host');
  content.addClass('gs-panel-host');
  panel.content.addWidget(content);
  return panel;
}

function showCommand(app: JupyterFrontEnd, gearshift: IGearshift, panel: SidePanel, folds: KeptFolds): void {
  const { t } = gearshift.words;
  app.commands.addCommand(Commands.panel, {
    label: t('Show Gearshift Panel'),
    caption: t('Show the machine, its use and its price'),
    icon: gateIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => {
      folds.unfold('machine');
      app.shell.activateById(PANEL);
      requestAnimationFrame(() => panel.node.querySelector<HTMLElement>('#gs-head-machine')?.focus());
    }
  });
}
