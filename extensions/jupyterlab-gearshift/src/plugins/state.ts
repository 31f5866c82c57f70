/** The plugin that knows this workspace: its client, its state and its event stream, given to all others. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';

import type { Ticket } from '../api/answers.js';
import { Client } from '../api/client.js';
import { Words } from '../i18n.js';
import { CellCosts } from '../models/cellcost.js';
import { JobFeeds } from '../models/feed.js';
import { Gate } from '../models/gate.js';
import { KernelRuns } from '../models/kernelruns.js';
import { Meters } from '../models/meters.js';
import { SharedEvents } from '../models/shared.js';
import { Store } from '../models/store.js';
import { requester } from '../request.js';
import { IGearshift, type Settings } from '../tokens.js';

const ID = 'jupyterlab-gearshift:plugin';
const MONEY_MS = 15_000;
const MONEY_HIDDEN_MS = 60_000;
const DISKS_MS = 60_000;

class Gearshift implements IGearshift {
  constructor(app: JupyterFrontEnd, translator: ITranslator) {
    const [user, server] = [PageConfig.getOption('hubUser'), PageConfig.getOption('hubServerName')];
    this.active = Boolean(user && server);
    this.words = new Words(translator);
    this.commands = app.commands;
    this.client = new Client(requester(app.serviceManager.serverSettings), `${user}/${server}`);
    this.store = new Store(this.client);
    this.feeds = new JobFeeds(this.client);
    this.meters = new Meters(this.store, this.settings.meterSeconds);
    this.costs = new CellCosts(this.client, this.gate);
    this.home = URLExt.join(hubBase(), 'services/gearshift/');
    this.events = new SharedEvents(`gearshift-events:${user}/${server}`, {
      fetch: (url, init) => fetch(url, init),
      ticket: () => this.client.ticket(),
      url: ticket => eventsUrl(ticket, this.home),
      now: Date.now,
      wait
    });
  }

  get settings(): Settings {
    return this._settings;
  }

  get settingsChanged(): Signal<IGearshift, Settings> {
    return this._settingsChanged;
  }

  start(): void {
    this.events.event.connect((_, event) => {
      this.store.apply(event);
      this.feeds.apply(event);
    });
    this.events.contactChanged.connect((_, contact) => {
      const was = this.store.state.contact.state;
      this.store.contact(contact);
      if (was === 'offline' && contact.state === 'online') {
        void this.store.loadAll(['me', 'machine', 'operations', 'disks', 'datasets', 'jobs']);
        this.feeds.reload();
      }
    });
    this.events.start();
    this.meters.start();
    void this.store.loadAll(['me', 'machine', 'operations', 'catalog']);
    every(() => (document.hidden ? MONEY_HIDDEN_MS : MONEY_MS), () => this._quietly('me'));
    every(() => DISKS_MS, () => this._quietly('disks'));
  }

  applySettings(settings: ISettingRegistry.ISettings): void {
    const held = settings.composite as Partial<Settings>;
    this._settings = {
      meterSeconds: held.meterSeconds ?? this._settings.meterSeconds,
      status: { ...this._settings.status, ...held.status },
      footer: held.footer ?? this._settings.footer
    };
    this.meters.setSeconds(this._settings.meterSeconds);
    this._settingsChanged.emit(this._settings);
  }

  /** What is only refreshed is asked for while there is contact, and not while our server is away. */
  private _quietly(part: 'me' | 'disks'): void {
    const { state, running } = this.store;
    const here = state.machine.value?.state === 'ready';
    if (here && state.contact.state === 'online' && !running && (part === 'me' || state.disks.value)) {
      void this.store.load(part);
    }
  }

  readonly active: boolean;
  readonly client: Client;
  readonly store: Store;
  readonly events: SharedEvents;
  readonly feeds: JobFeeds;
  readonly meters: Meters;
  readonly gate = new Gate();
  readonly runs = new KernelRuns();
  readonly costs: CellCosts;
  readonly words: Words;
  readonly commands: IGearshift['commands'];
  readonly home: string;
  private _settings: Settings = { meterSeconds: 2, status: { use: true, price: true, balance: true }, footer: true };
  private readonly _settingsChanged = new Signal<IGearshift, Settings>(this);
}

/** The hub's base URL; `/hub/` is dropped from its prefix. */
function hubBase(): string {
  return PageConfig.getOption('hubPrefix').replace(/hub\/?$/, '') || '/';
}

/** Events come from our own host, whatever address the ticket names. */
function eventsUrl(ticket: Ticket, home: string): string {
  const path = ticket.url ? new URL(ticket.url, location.origin).pathname : URLExt.join(home, 'api/v1/events');
  return `${location.origin}${path}`;
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function every(ms: () => number, act: () => void): void {
  setTimeout(() => {
    act();
    every(ms, act);
  }, ms());
}

export const statePlugin: JupyterFrontEndPlugin<IGearshift> = {
  id: ID,
  description: 'The state of this Gearshift workspace.',
  autoStart: true,
  provides: IGearshift,
  optional: [ISettingRegistry, ITranslator],
  activate: (app, registry: ISettingRegistry | null, translator: ITranslator | null) => {
    const gearshift = new Gearshift(app, translator ?? nullTranslator);
    if (gearshift.active) {
      void app.restored.then(() => gearshift.start()); // Lab is drawn first: nothing of ours stands in its way
      void registry?.load(ID).then(settings => {
        gearshift.applySettings(settings);
        settings.changed.connect(() => gearshift.applySettings(settings));
      });
    }
    return gearshift;
  }
};
