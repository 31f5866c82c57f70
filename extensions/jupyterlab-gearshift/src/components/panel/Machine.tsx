/** The Machine section: what it is, what it costs, how it is used, switch and stop. */

import * as React from 'react';

import type { CatalogMachine, Gpu, Metrics } from '../../api/answers.js';
import type { Workspace } from '../../api/records.js';
import { largerThan } from '../../models/memory.js';
import { cameFrom, isSwitch } from '../../models/operations.js';
import { Commands } from '../../tokens.js';
import { useClosed, useFormat, useGearshift, useNow, usePart, useRun, useStore } from '../context.js';
import { IdleLine } from '../idle/IdleLine.js';
import { Button, Fetched, Link, Meter, Note } from '../parts.js';
import { Spark } from '../spark.js';
import { reasonWord } from '../words.js';

export function MachineSection(): React.ReactElement {
  const { store, words } = useGearshift();
  const machine = usePart('machine');
  usePart('catalog');
  return (
    <Fetched part={machine} what={words.t('Loading the machine…')} retry={() => void store.load('machine')}>
      {workspace => (isOver(workspace) ? <Stopped workspace={workspace} /> : <Live workspace={workspace} />)}
    </Fetched>
  );
}

function isOver({ state }: Workspace): boolean {
  return state === 'stopped' || state === 'failed';
}

/** The machine of the catalog that a workspace is on; null before the catalog is there. */
export function useMachine(id: string | undefined): CatalogMachine | null {
  return useStore(state => state.catalog.value?.machines.find(machine => machine.id === id) ?? null);
}

export function useMachineTitle(): (id: string | null | undefined) => string {
  const { words } = useGearshift();
  const machines = useStore(state => state.catalog.value?.machines ?? null);
  return React.useCallback(
    id => words.pick(machines?.find(machine => machine.id === id)?.title) || (id ?? ''),
    [machines, words]
  );
}

function Live({ workspace }: { workspace: Workspace }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const machine = useMachine(workspace.spec.machine);
  const price = workspace.price_per_hour_nano ?? machine?.price_per_hour_nano;
  return (
    <>
      <div className="gs-row base">
        <span className="gs-machine-name gs-clip">{words.pick(machine?.title) || workspace.spec.machine}</span>
        <span className="gs-spring" />
        {price !== undefined && price !== null && <span className="gs-num">{format.perHour(price)}</span>}
      </div>
      {workspace.state === 'stopping_unconfirmed' && (
        <Note tone="warn" icon="warn">
          {words.t('Stopping, not confirmed. Not charged after {time}.', { time: format.moment(workspace.since) })}
        </Note>
      )}
      <SubLine workspace={workspace} simulated={machine?.simulated ?? false} />
      <Use machine={machine} />
      <Actions />
    </>
  );
}

function SubLine({ workspace, simulated }: { workspace: Workspace; simulated: boolean }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const now = useNow(15_000);
  const image = useStore(state => state.catalog.value?.images.find(one => one.id === workspace.spec.image) ?? null);
  const since = Math.max(0, (now - Date.parse(workspace.since)) / 1000);
  const up = workspace.state === 'ready' ? words.t('up {time}', { time: format.duration(since) }) : null;
  const text = [words.pick(image?.title) || workspace.spec.image, up].filter(Boolean).join(' · ');
  return (
    <div className="gs-row gs-small gs-muted" style={{ margin: '1px 0 8px' }}>
      <span className="gs-clip" title={text}>
        {text}
      </span>
      {simulated && <span className="gs-tag">{words.t('simulated')}</span>}
    </div>
  );
}

function Use({ machine }: { machine: CatalogMachine | null }): React.ReactElement {
  const { store, words } = useGearshift();
  const metrics = usePart('metrics');
  const { value } = metrics;
  const gpus = value?.gpus ?? [];
  return (
    <>
      <NoGpu machine={machine} gpus={gpus} />
      <Spark
        className=""
        label={gpus.length ? words.t('GPU use, last 10 minutes') : words.t('CPU use, last 10 minutes')}
      />
      <div style={{ margin: '6px 0 12px' }}>
        {metrics.error && !value && store.state.contact.state !== 'offline' ? (
          <p className="gs-small gs-muted">{metrics.error.sentence(words.language)}</p>
        ) : (
          <Meters metrics={value} gpus={gpus} memory={machine?.memory_bytes ?? null} />
        )}
      </div>
    </>
  );
}

function NoGpu({ machine, gpus }: { machine: CatalogMachine | null; gpus: Gpu[] }): React.ReactElement | null {
  const { words } = useGearshift();
  if (!machine || gpus.length) {
    return null;
  }
  return (
    <div style={{ marginBottom: 10 }}>
      <Note icon="info">
        {machine.chip
          ? words.t('Simulated chip: real prices and queue, no hardware.')
          : words.t('No GPU on this machine. CPU and memory work as usual.')}
      </Note>
    </div>
  );
}

/** `memory` is what the machine has by its catalog; a box that sets no limit does not say. */
function Meters(props: { metrics: Metrics | null; gpus: Gpu[]; memory: number | null }): React.ReactElement {
  const { metrics, gpus } = props;
  const { words } = useGearshift();
  const format = useFormat();
  const share = (used: number | null, whole: number | null): [number | null, string | null] =>
    used === null || !whole ? [null, null] : [(used / whole) * 100, format.bytesOf(used, whole)];
  const use = mean(gpus.map(gpu => gpu.percent));
  const [vram, vramText] = share(sum(gpus.map(gpu => gpu.memory_bytes)), sum(gpus.map(gpu => gpu.memory_limit_bytes)));
  const [ram, ramText] = share(metrics?.memory_bytes ?? null, metrics?.memory_limit_bytes ?? props.memory);
  const warn = (metrics?.memory_warn_share ?? 1) * 100;
  const full = ram !== null && ram >= warn ? words.t('{n}% full', { n: Math.round(ram) }) : null;
  const cpu = metrics?.cpu_percent ?? null;
  const unread = words.t('not reported here');
  return (
    <>
      <div className="gs-meters">
        {gpus.length > 0 && <Meter label="GPU" percent={use} text={use === null ? null : `${Math.round(use)}%`} />}
        {gpus.length > 0 && <Meter label={words.t('VRAM')} percent={vram} text={vramText} />}
        <Meter label="CPU" percent={cpu} text={cpu === null ? null : `${Math.round(cpu)}%`} why={unread} />
        <Meter label={words.t('RAM')} percent={ram} text={ramText} why={unread} warning={full} />
      </div>
      {full && <Larger />}
    </>
  );
}

/** Where memory is nearly full: the plan of a switch to one that has more, live where nothing else differs. */
function Larger(): React.ReactElement {
  const { store, words } = useGearshift();
  const run = useRun();
  const { catalog, machine } = store.state;
  const larger = largerThan(catalog.value?.machines ?? [], machine.value?.spec.machine);
  return (
    <div className="gs-small" style={{ marginTop: 6 }}>
      <Link onClick={() => run(Commands.switchMachine, larger ? { machine: larger } : {})}>{words.t('Larger machine…')}</Link>
    </div>
  );
}

function mean(values: (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
}

function sum(values: (number | null)[]): number | null {
  return values.some(value => value === null) ? null : values.reduce<number>((a, b) => a + (b ?? 0), 0);
}

function Actions(): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const closed = useClosed();
  return (
    <>
      <div className="gs-row">
        <Button look="primary" icon="swap" grow closed={closed} onClick={() => run(Commands.switchMachine)}>
          {words.t('Switch machine…')}
        </Button>
        <Button closed={closed} onClick={() => run(Commands.stop)}>
          {words.t('Stop…')}
        </Button>
      </div>
      <div className="gs-small gs-muted" style={{ marginTop: 8 }}>
        {closed ?? <IdleLine />}
        {closed === null && <Before />}
      </div>
    </>
  );
}

/** Where it was before with the way back, and the reports that are kept. */
function Before(): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const run = useRun();
  const title = useMachineTitle();
  const operations = usePart('operations').value ?? [];
  const switches = operations.filter(op => isSwitch(op) && op.state !== 'running');
  const last = switches.find(op => op.state === 'done');
  const from = last && cameFrom(last, operations);
  return (
    <>
      {last && from && (
        <div>
          {words.t('Before this: {machine}, until {time}.', {
            machine: title(from),
            time: format.moment(last.ended_at ?? last.created_at)
          })}{' '}
          <Link onClick={() => run(Commands.switchMachine, { machine: from })}>{words.t('Switch back…')}</Link>
        </div>
      )}
      <div>
        <Link onClick={() => run(Commands.history)}>{words.t('History')}</Link>
      </div>
    </>
  );
}

function Stopped({ workspace }: { workspace: Workspace }): React.ReactElement {
  const { home, words } = useGearshift();
  const format = useFormat();
  return (
    <div className="gs-stack">
      <Note icon="stopped">
        {words.t('Stopped {time}: {reason}.', {
          time: format.moment(workspace.since),
          reason: reasonWord(words, workspace.reason)
        })}
      </Note>
      <span className="gs-small gs-muted">{words.t('This workspace has no machine.')}</span>
      <a className="gs-btn" href={home}>
        {words.t('Start…')}
      </a>
    </div>
  );
}
