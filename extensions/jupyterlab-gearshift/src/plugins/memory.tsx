/** Memory: a warning before it runs out, and why a kernel ended, in its notebook and in place of Lab's general words. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, Notification, ReactWidget } from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';
import * as React from 'react';

import type { Incident } from '../api/answers.js';
import { Link, Note } from '../components/parts.js';
import { MemoryEvents, isEnd, isOverMemory, largerThan } from '../models/memory.js';
import { Commands, IGearshift } from '../tokens.js';

const HEIGHT = '72px';
const AFTER_MS = [300, 2000, 5000];
/** Incident -> its notification, for the ends of kernels whose notebook was not open when they were told. */
const toasts = new Map<string, string>();

export const memoryPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:memory',
  description: 'Says when memory runs out and why a kernel ended.',
  autoStart: true,
  requires: [IGearshift],
  optional: [INotebookTracker, ICommandPalette],
  activate: (app, gearshift: IGearshift, notebooks: INotebookTracker | null, palette: ICommandPalette | null) => {
    if (!gearshift.active) {
      return;
    }
    const events = new MemoryEvents(gearshift);
    events.told.connect((_, incident) => {
      let shown = false;
      notebooks?.forEach(panel => (shown = showEnd(gearshift, events, panel, incident) || shown));
      if (!shown) {
        notify(gearshift, events, incident);
      }
    });
    notebooks?.widgetAdded.connect((_, panel) => {
      takeOver(panel, events);
      void panel.context.ready.then(() => events.unread.forEach(one => showEnd(gearshift, events, panel, one)));
    });
    addChoice(gearshift, events, palette);
    app.shell.disposed.connect(() => events.dispose());
    void app.restored.then(() => events.read());
  }
};

/** Lab says of every kernel that it "appears to have died"; our server knows what it died of. */
function takeOver(panel: NotebookPanel, events: MemoryEvents): void {
  const { statusChanged } = panel.sessionContext;
  const inner = panel as unknown as { _onSessionStatusChanged?: Parameters<typeof statusChanged.disconnect>[0] };
  if (inner._onSessionStatusChanged) {
    statusChanged.disconnect(inner._onSessionStatusChanged, panel);
  }
  statusChanged.connect((_, status) => {
    if (status === 'autorestarting' || status === 'dead') {
      AFTER_MS.forEach(ms => setTimeout(() => void events.read(), ms));
    }
  });
}

function notify(gearshift: IGearshift, events: MemoryEvents, incident: Incident): void {
  const { words } = gearshift;
  const actions: Notification.IAction[] = isOverMemory(incident)
    ? [{ label: words.t('Larger machine…'), callback: () => larger(gearshift), displayType: 'accent' }]
    : [];
  const toast = Notification.emit(sentence(gearshift, incident), isEnd(incident) ? 'error' : 'warning', { autoClose: false, actions });
  toasts.set(incident.id, toast);
  if (!isEnd(incident)) {
    void events.seen([incident.id]).catch(() => undefined);
  }
}

/** The sentence stands above its notebook until it is dismissed, in every page; whether it does. */
function showEnd(gearshift: IGearshift, events: MemoryEvents, panel: NotebookPanel, incident: Incident): boolean {
  const id = `gearshift-${incident.id}`;
  const header = panel.contentHeader;
  const shown = [...(header as unknown as { widgets: Widget[] }).widgets].some(widget => widget.id === id);
  if (!isEnd(incident) || incident.path !== panel.context.path || shown) {
    return shown;
  }
  const note = ReactWidget.create(<End gearshift={gearshift} incident={incident} dismiss={() => dismiss()} />);
  note.id = id;
  note.node.style.minHeight = HEIGHT; // the header makes room by this, not by what is in it
  note.node.style.overflow = 'auto';
  const dismiss = (): void => {
    note.dispose();
    void events.seen([incident.id]).catch(() => undefined);
  };
  header.addWidget(note);
  const toast = toasts.get(incident.id);
  if (toast !== undefined) {
    Notification.dismiss(toast);
  }
  return true;
}

function End(props: { gearshift: IGearshift; incident: Incident; dismiss: () => void }): React.ReactElement {
  const { gearshift, incident, dismiss } = props;
  const { words } = gearshift;
  return (
    <div className="gs-root" style={{ padding: '8px 12px' }}>
      <Note
        tone="bad"
        icon="warn"
        role="alert"
        action={
          <>
            {isOverMemory(incident) && (
              <Link onClick={() => larger(gearshift)}>{words.t('Larger machine…')}</Link>
            )}{' '}
            <Link onClick={dismiss}>{words.t('Dismiss')}</Link>
          </>
        }
      >
        {sentence(gearshift, incident)}
      </Note>
    </div>
  );
}

function sentence({ words }: IGearshift, incident: Incident): string {
  return words.pick({ en: incident.message, zh: incident.message_zh });
}

/** The switch dialog, with a machine that has more memory chosen. */
function larger({ commands, store }: IGearshift): void {
  const machine = largerThan(store.state.catalog.value?.machines ?? [], store.state.machine.value?.spec.machine);
  void commands.execute(Commands.switchMachine, machine ? { machine } : {});
}

function addChoice(gearshift: IGearshift, events: MemoryEvents, palette: ICommandPalette | null): void {
  const { commands, words } = gearshift;
  const command = Commands.interruptBeforeLimit;
  commands.addCommand(command, {
    label: words.t('Interrupt Cells Before Memory Runs Out'),
    caption: words.t('The cell that grows is interrupted just before the limit, instead of its kernel being ended'),
    describedBy: { args: { type: 'object', properties: {} } },
    isToggled: () => events.interrupt,
    isEnabled: () => gearshift.store.state.contact.state !== 'offline',
    execute: async () => {
      await events.choose(!events.interrupt);
      commands.notifyCommandChanged(command);
    }
  });
  palette?.addItem({ command, category: 'Gearshift' });
}
