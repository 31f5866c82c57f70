/** The side panel: a bar with workspace and state, then the five sections. */

import * as React from 'react';

import { Commands } from '../../tokens.js';
import { useFormat, useGearshift, useNow, useOffline, usePart, useRun, useStore } from '../context.js';
import { Live } from '../Live.js';
import { Button, IconButton, Name, Note, StateWord } from '../parts.js';
import { machineLook } from '../words.js';
import { CostSection } from './Cost.js';
import { DatasetsSection, isHeld } from './Datasets.js';
import { DisksSection, useAttachedDisks } from './Disks.js';
import { JobsSection } from './Jobs.js';
import { MachineSection } from './Machine.js';
import { Section } from './Section.js';

export type SectionId = 'machine' | 'disks' | 'datasets' | 'jobs' | 'cost';

/** Which sections are folded; kept by whoever restores the layout. */
export interface Folds {
  get: () => ReadonlySet<SectionId>;
  toggle: (id: SectionId) => void;
  subscribe: (changed: () => void) => () => void;
}

export function PanelBar(): React.ReactElement {
  const { client, home, store, words } = useGearshift();
  const machine = usePart('machine').value;
  const offline = useOffline() !== null;
  const look = offline
    ? ({ tone: 'idle', icon: 'offline', word: words.t('Offline') } as const)
    : machine && machineLook(words, machine);
  const refresh = (): void =>
    void store.loadAll(['me', 'machine', 'catalog', 'metrics', 'disks', 'datasets', 'jobs', 'operations']);
  return (
    <div className="gs-panel-bar">
      <Name className="gs-strong">{machine?.display_name ?? client.workspace.split('/')[1] ?? ''}</Name>
      {look && (
        <StateWord tone={look.tone} icon={look.icon}>
          {look.word}
        </StateWord>
      )}
      <span className="gs-spring" />
      <IconButton icon="refresh" label={words.t('Refresh')} onClick={refresh} />
      <IconButton
        icon="launch"
        label={words.t('Open all workspaces')}
        onClick={() => window.open(home, '_blank', 'noopener')}
      />
    </div>
  );
}

export function Panel({ folds }: { folds: Folds }): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const shut = React.useSyncExternalStore(folds.subscribe, folds.get);
  const disks = useAttachedDisks();
  const datasets = useStore(state => state.datasets.value?.filter(isHeld).length ?? null);
  const jobs = useStore(state => state.jobs.value?.length ?? null);
  const at = (id: SectionId): { id: string; open: boolean; toggle: () => void } => ({
    id,
    open: !shut.has(id),
    toggle: () => folds.toggle(id)
  });
  return (
    <div className="gs-panel" role="region" aria-label="Gearshift">
      <Offline />
      <Section {...at('machine')} title={words.t('Machine')}>
        <MachineSection />
      </Section>
      <Section
        {...at('disks')}
        list
        title={words.t('Disks')}
        count={disks.length || null}
        action={<IconButton icon="add" label={words.t('New disk')} onClick={() => run(Commands.newDisk)} />}
      >
        <DisksSection />
      </Section>
      <Section
        {...at('datasets')}
        list
        title={words.t('Datasets & models')}
        count={datasets || null}
        action={<IconButton icon="search" label={words.t('Browse')} onClick={() => run(Commands.datasets)} />}
      >
        <DatasetsSection />
      </Section>
      <Section
        {...at('jobs')}
        list
        title={words.t('Jobs')}
        count={jobs || null}
        action={<IconButton icon="launch" label={words.t('Open jobs')} onClick={() => run(Commands.jobs)} />}
      >
        <JobsSection />
      </Section>
      <Section {...at('cost')} title={words.t('Cost')}>
        <CostSection />
      </Section>
      <Live />
    </div>
  );
}

function Offline(): React.ReactElement | null {
  const { events, words } = useGearshift();
  const format = useFormat();
  const contact = useOffline();
  const now = useNow();
  if (!contact) {
    return null;
  }
  const since = contact.last === null ? words.t('the start of this page') : format.moment(contact.last);
  const wait = Math.max(0, ((contact.retryAt ?? now) - now) / 1000);
  return (
    <div style={{ padding: '10px 12px' }} className="gs-stack">
      <Note
        icon="offline"
        more={[
          words.t('Figures below are from {time}.', { time: since }),
          wait > 0 ? words.t('Trying again in {t}.', { t: format.duration(wait) }) : words.t('Trying again.')
        ].join(' ')}
      >
        {words.t('No contact with Gearshift since {time}. Your kernel and jobs keep running.', { time: since })}
      </Note>
      <div>
        <Button icon="refresh" onClick={() => events.tryNow()}>
          {words.t('Try now')}
        </Button>
      </div>
    </div>
  );
}
