/** The Datasets & models section: what is attached or on its way. */

import * as React from 'react';

import type { DatasetStatus } from '../../api/records.js';
import { Icon } from '../../icons.js';
import { Commands } from '../../tokens.js';
import { datasetActions } from '../actions.js';
import { useGearshift, usePart, useRun } from '../context.js';
import { Button, Fetched, Name, StateWord } from '../parts.js';
import { rowMenuHandler } from '../rowmenu.js';
import { datasetLook } from '../words.js';
import { Rows } from './Section.js';

export function DatasetsSection(): React.ReactElement {
  const { store, words } = useGearshift();
  const datasets = usePart('datasets');
  return (
    <Fetched
      part={datasets}
      what={words.t('Loading datasets and models…')}
      retry={() => void store.load('datasets')}
    >
      {all => <Attached datasets={all.filter(isHeld)} />}
    </Fetched>
  );
}

export function isHeld({ state }: DatasetStatus): boolean {
  return state === 'attached' || state === 'preparing';
}

function Attached({ datasets }: { datasets: DatasetStatus[] }): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  if (!datasets.length) {
    return (
      <div className="pad">
        <p className="gs-small gs-muted" style={{ margin: '0 0 8px' }}>
          {words.t('Nothing attached. Public data and models cost nothing to attach.')}
        </p>
        <Button icon="search" onClick={() => run(Commands.datasets)}>
          {words.t('Browse…')}
        </Button>
      </div>
    );
  }
  return (
    <Rows label={words.t('Datasets & models')}>
      {datasets.map(status => (
        <DatasetRow key={status.card.id} status={status} />
      ))}
    </Rows>
  );
}

function DatasetRow({ status }: { status: DatasetStatus }): React.ReactElement {
  const { commands, words } = useGearshift();
  const run = useRun();
  const { tone, icon, word } = datasetLook(words, status);
  const { id, kind } = status.card;
  return (
    <li>
      <button
        type="button"
        className="gs-item inset"
        data-roving={id}
        tabIndex={-1}
        onClick={() => run(Commands.datasets, { dataset: id })}
        onContextMenu={rowMenuHandler(commands, datasetActions(status))}
      >
        <Icon name={kind === 'model' ? 'model' : 'data'} />
        <Name>{id}</Name>
        <StateWord tone={tone} icon={icon}>
          {word}
        </StateWord>
      </button>
    </li>
  );
}
