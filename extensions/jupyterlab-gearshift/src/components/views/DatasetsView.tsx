/** Datasets and models in the main area: search, facets, cards, detail. Attaching is free and takes effect at once. */

import * as React from 'react';

import type { DatasetStatus } from '../../api/records.js';
import { Icon } from '../../icons.js';
import { count } from '../../models/format.js';
import { Commands } from '../../tokens.js';
import { useFormat, useGearshift, usePart, useRun } from '../context.js';
import { Button, CopyLine, Fetched, IconButton, StateWord } from '../parts.js';
import { useRoving } from '../roving.js';
import { datasetLook } from '../words.js';
import { useChoice, type Choice } from './choice.js';

const DEBOUNCE_MS = 250;

interface Filter {
  text: string;
  datasets: boolean;
  models: boolean;
  attached: boolean;
}

export function DatasetsView({ choice }: { choice: Choice }): React.ReactElement {
  const { store, words } = useGearshift();
  const all = usePart('datasets');
  React.useEffect(() => void store.load('datasets'), [store]);
  const [typed, setTyped] = React.useState('');
  const [filter, setFilter] = React.useState<Filter>({ text: '', datasets: true, models: true, attached: false });
  React.useEffect(() => {
    const timer = setTimeout(() => setFilter(held => ({ ...held, text: typed })), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const [chosen, choose] = useChoice(choice);
  const shown = (all.value ?? []).filter(status => matches(status, filter));
  const detail = all.value?.find(status => status.card.id === chosen) ?? null;
  const search = words.n('Search {n} dataset or model', 'Search {n} datasets and models', all.value?.length ?? 0);
  return (
    <div className="gs-main">
      <div className="top line">
        <h1 className="gs-h1">{words.t('Datasets & models')}</h1>
        <div className="gs-field" style={{ width: 320, marginLeft: 14 }}>
          <Icon name="search" />
          <input type="search" placeholder={search} aria-label={search} value={typed} onChange={event => setTyped(event.target.value)} />
        </div>
        <span className="gs-spring" />
        <span className="gs-small gs-muted">{words.t('Read-only. Attaching copies nothing and costs nothing.')}</span>
      </div>
      <div className="gs-data" style={detail ? undefined : { gridTemplateColumns: '180px minmax(0, 1fr)' }}>
        <Facets all={all.value ?? []} filter={filter} change={setFilter} />
        <div>
          <Fetched part={all} what={words.t('Loading datasets and models…')} retry={() => void store.load('datasets')}>
            {() => <Found shown={shown} text={filter.text} chosen={chosen} choose={choose} />}
          </Fetched>
        </div>
        {detail && <Detail status={detail} close={() => choose(null)} />}
      </div>
    </div>
  );
}

function matches({ card, state }: DatasetStatus, filter: Filter): boolean {
  const where = [card.id, card.title.en, card.title.zh, card.description.en, card.description.zh, card.licence, ...card.tags];
  const hay = where.join(' ').toLowerCase();
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const kind = card.kind === 'model' ? filter.models : filter.datasets;
  return kind && (!filter.attached || state === 'attached') && words.every(word => hay.includes(word));
}

function Facets(props: { all: DatasetStatus[]; filter: Filter; change: (filter: Filter) => void }): React.ReactElement {
  const { words } = useGearshift();
  const { all, filter, change } = props;
  const box = (key: 'datasets' | 'models' | 'attached', label: string, n: number): React.ReactElement => (
    <label className="gs-check">
      <input type="checkbox" checked={filter[key]} onChange={event => change({ ...filter, [key]: event.target.checked })} />
      <span className="gs-clip">{label}</span>
      <span className="gs-spring" />
      <span className="gs-small gs-muted gs-num">{n}</span>
    </label>
  );
  const of = (kind: string): number => all.filter(({ card }) => card.kind === kind).length;
  return (
    <div className="facets" role="group" aria-label={words.t('Filters')}>
      <div className="gs-small gs-strong">{words.t('Kind')}</div>
      {box('datasets', words.t('Datasets'), of('dataset'))}
      {box('models', words.t('Models'), of('model'))}
      <div className="gs-small gs-strong" style={{ marginTop: 14 }}>
        {words.t('State')}
      </div>
      {box('attached', words.t('Attached'), all.filter(({ state }) => state === 'attached').length)}
    </div>
  );
}

function Found(props: { shown: DatasetStatus[]; text: string; chosen: string | null; choose: (id: string) => void }): React.ReactElement {
  const { words } = useGearshift();
  const ref = useRoving<HTMLDivElement>({ grid: true });
  const { shown } = props;
  return (
    <>
      <div className="gs-small gs-muted" style={{ marginBottom: 10 }} role="status">
        {shown.length
          ? words.n('{n} found', '{n} found', shown.length)
          : words.t('Nothing found for “{q}”. Remove a filter, or ask the team lead to add it.', { q: props.text })}
      </div>
      <div ref={ref} className="gs-cards" role="group" aria-label={words.t('Datasets & models')}>
        {shown.map(status => (
          <CardOf key={status.card.id} status={status} on={status.card.id === props.chosen} choose={() => props.choose(status.card.id)} />
        ))}
      </div>
    </>
  );
}

function CardOf({ status, on, choose }: { status: DatasetStatus; on: boolean; choose: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { card } = status;
  const { tone, icon, word } = datasetLook(words, status);
  return (
    <article className={`gs-card ${on ? 'on' : ''}`}>
      <button type="button" className="name" data-roving={card.id} tabIndex={-1} aria-pressed={on} onClick={choose}>
        <span className="gs-muted" style={{ paddingTop: 1 }}>
          <Icon name={card.kind === 'model' ? 'model' : 'data'} />
        </span>
        <span style={{ minWidth: 0 }}>
          <span className="gs-strong gs-clip" style={{ display: 'block' }}>
            {card.id}
          </span>
          <span className="gs-small gs-muted gs-clip" style={{ display: 'block' }}>
            {words.pick(card.title)}
          </span>
        </span>
      </button>
      <p>{words.pick(card.description)}</p>
      <div className="gs-row gs-small gs-muted">
        <span className="gs-tag">{card.licence}</span>
        <span className="gs-num">{format.bytes(card.size_bytes)}</span>
      </div>
      <div className="gs-row" style={{ minHeight: 24 }}>
        <StateWord tone={tone} icon={icon}>
          {word}
        </StateWord>
        <span className="gs-spring" />
        <Attach status={status} />
      </div>
    </article>
  );
}

function Attach({ status }: { status: DatasetStatus }): React.ReactElement | null {
  const { words } = useGearshift();
  const run = useRun();
  const [busy, setBusy] = React.useState(false);
  const { id } = status.card;
  React.useEffect(() => setBusy(false), [status.state]);
  if (status.state === 'preparing') {
    return null;
  }
  const held = status.state === 'attached';
  const press = (): void => {
    setBusy(true);
    run(held ? Commands.detachDataset : Commands.attachDataset, { dataset: id });
  };
  return (
    <Button
      size="small"
      aria-busy={busy}
      aria-label={held ? words.t('Detach {name}', { name: id }) : words.t('Attach {name}', { name: id })}
      onClick={press}
    >
      {held ? words.t('Detach') : words.t('Attach')}
    </Button>
  );
}

function Detail({ status, close }: { status: DatasetStatus; close: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const { card } = status;
  const { tone, icon, word } = datasetLook(words, status);
  const path = status.path ?? `~/datasets/${card.id}`;
  return (
    <aside aria-label={card.id}>
      <div className="gs-row">
        <span className="gs-muted">
          <Icon name={card.kind === 'model' ? 'model' : 'data'} />
        </span>
        <span className="gs-strong gs-clip" style={{ fontSize: 15 }} title={card.id}>
          {card.id}
        </span>
        <span className="gs-spring" />
        <StateWord tone={tone} icon={icon}>
          {word}
        </StateWord>
        <IconButton icon="x" label={words.t('Close')} onClick={close} />
      </div>
      <Facts status={status} path={path} />
      <div className="gs-label">{words.t('In a cell')}</div>
      <CopyLine text={`%gearshift mount ${card.id}`} />
      <div className="gs-label" style={{ marginTop: 10 }}>
        {words.t('Path')}
      </div>
      <CopyLine text={path} />
      <div className="gs-label" style={{ marginTop: 14 }}>
        {words.t('Files')}
      </div>
      <Files status={status} />
    </aside>
  );
}

function Facts({ status, path }: { status: DatasetStatus; path: string }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { card } = status;
  const size = words.n('{size}, {n} file', '{size}, {n} files', card.files.length, { size: format.bytes(card.size_bytes) });
  return (
    <dl className="gs-dl" style={{ margin: '12px 0 14px' }}>
      <dt>{words.t('Mounted at')}</dt>
      <dd className="gs-mono">{path}</dd>
      <dt>{words.t('Size')}</dt>
      <dd className="gs-num">{size}</dd>
      {card.samples !== null && (
        <>
          <dt>{words.t('Samples')}</dt>
          <dd className="gs-num">{count(card.samples)}</dd>
        </>
      )}
      <dt>{words.t('Version')}</dt>
      <dd className="gs-mono">
        {card.source.package} {card.source.version}
      </dd>
      <dt>{words.t('Licence')}</dt>
      <dd>
        {card.licence}{' '}
        <a href={card.licence_url} target="_blank" rel="noreferrer" className="gs-out">
          {words.t('text')}
        </a>
      </dd>
      <dt>{words.t('Cost')}</dt>
      <dd className="gs-num">{words.t('{amount} · no traffic fee', { amount: format.money(0) })}</dd>
    </dl>
  );
}

function Files({ status }: { status: DatasetStatus }): React.ReactElement {
  const format = useFormat();
  return (
    <ul className="gs-card gs-small" style={{ listStyle: 'none', margin: 0, padding: 0 }}>
      {status.card.files.map(file => (
        <li key={file.path} className="gs-row" style={{ padding: '5px 10px' }}>
          <span className="gs-clip" title={file.path}>
            {file.path}
          </span>
          <span className="gs-spring" />
          <span className="gs-muted gs-num" style={{ whiteSpace: 'nowrap' }}>
            {format.bytes(file.bytes)}
          </span>
        </li>
      ))}
    </ul>
  );
}
