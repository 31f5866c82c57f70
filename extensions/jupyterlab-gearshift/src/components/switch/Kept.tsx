/** What was kept of this workspace's kernels: take a snapshot, bring one back, delete one; and how the last one went. */

import * as React from 'react';

import { asApiError, type ApiError } from '../../api/errors.js';
import type { KeptState, Operation } from '../../api/records.js';
import type { Words } from '../../i18n.js';
import { useClosed, useFormat, useGearshift, usePart } from '../context.js';
import { Button, Note, Refused } from '../parts.js';
import { useMachineTitle } from '../panel/Machine.js';
import { CopyTo, OnDisks } from './OnDisks.js';
import { causeOf } from './Report.js';

/** A plan to be asked for, and what its confirmation is called. */
export interface Asked {
  body: Record<string, unknown>;
  heading: string;
}

export function Kept({ ask }: { ask: (asked: Asked) => void }): React.ReactElement {
  const { client, store, words } = useGearshift();
  const closed = useClosed();
  const { states, error, read } = useKept();
  const [refused, setRefused] = React.useState<ApiError | null>(null);
  const [copied, setCopied] = React.useState(0);
  const take = (): void => {
    setRefused(null);
    client.takeSnapshot().then(
      operation => store.operation(operation),
      reason => setRefused(asApiError(reason))
    );
  };
  return (
    <section aria-labelledby="gs-kept">
      <div className="gs-row base" style={{ margin: '16px 0 8px' }}>
        <h3 id="gs-kept">{words.t('Kept kernel states')}</h3>
        <span className="gs-spring" />
        <Button size="small" closed={closed} onClick={take}>
          {words.t('Take a snapshot')}
        </Button>
      </div>
      {refused && <Refused error={refused} />}
      <Latest />
      {error ? <Refused error={error} retry={read} /> : <List states={states ?? []} known={states !== null} ask={ask} copied={() => setCopied(copied + 1)} />}
      <OnDisks ask={ask} copied={copied} />
    </section>
  );
}

/** Read when shown, and again whenever an operation has changed. */
function useKept(): { states: KeptState[] | null; error: ApiError | null; read: () => void } {
  const { client } = useGearshift();
  const operations = usePart('operations').value;
  const [states, setStates] = React.useState<KeptState[] | null>(null);
  const [error, setError] = React.useState<ApiError | null>(null);
  const read = React.useCallback(() => {
    client.states().then(
      found => {
        setStates(found);
        setError(null);
      },
      reason => setError(asApiError(reason))
    );
  }, [client]);
  React.useEffect(read, [read, operations]);
  return { states, error, read };
}

/** The last snapshot or restore, in one sentence. */
function Latest(): React.ReactElement | null {
  const { words } = useGearshift();
  const operations = usePart('operations').value ?? [];
  const last = operations.find(op => op.kind === 'snapshot' || op.kind === 'restore');
  if (!last) {
    return null;
  }
  const bad = last.state === 'failed';
  return (
    <div style={{ marginBottom: 8 }}>
      <Note tone={bad ? 'warn' : 'info'} icon={bad ? 'warn' : 'info'} role="status">
        {bad ? causeOf(last, words.language) : wordOf(last, words)}
      </Note>
    </div>
  );
}

function wordOf(op: Operation, { t }: Words): string {
  const running = op.state === 'running';
  if (op.kind === 'snapshot') {
    return running ? t('Taking a snapshot: your kernels go on.') : t('The snapshot is kept. Nothing was stopped.');
  }
  return running ? t('Bringing back what was kept…') : t('What was kept is back in your kernels.');
}

interface Acting {
  ask: (asked: Asked) => void;
  copied: () => void;
}

function List(props: Acting & { states: KeptState[]; known: boolean }): React.ReactElement {
  const { words } = useGearshift();
  if (!props.states.length) {
    return <p className="gs-small gs-muted">{props.known ? words.t('Nothing is kept yet. Each stop keeps one.') : words.t('Loading…')}</p>;
  }
  return (
    <div className="gs-card cut">
      <table className="gs-table dense" aria-label={words.t('Kept kernel states')}>
        <tbody>
          {props.states.map(state => (
            <Line key={state.id} state={state} ask={props.ask} copied={props.copied} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ state, ask, copied }: Acting & { state: KeptState }): React.ReactElement {
  const { client, words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const closed = useClosed();
  const when = format.moment(state.taken_at);
  const count = state.kernels.reduce((sum, kernel) => sum + kernel.variables.length, 0);
  const asked = (kind: string, heading: string): void => ask({ body: { kind, workspace: client.workspace, state: state.id }, heading });
  return (
    <tr>
      <td className="sub">{when}</td>
      <th scope="row">
        {kindOf(state, words)}
        {state.note && (
          <div className="sub">
            <bdi>{state.note}</bdi>
          </div>
        )}
      </th>
      <td>
        {words.n('{n} variable', '{n} variables', count)}
        <div className="sub">
          {format.bytes(state.bytes)} · {title(state.machine)}
        </div>
      </td>
      <td className="sub">{words.t('until {time}', { time: format.moment(state.expires_at) })}</td>
      <td className="gs-r">
        <Button size="small" closed={closed} aria-label={words.t('Bring back {time}…', { time: when })} onClick={() => asked('restore_state', words.t('Bring back?'))}>
          {words.t('Bring back…')}
        </Button>{' '}
        <CopyTo state={state} when={when} done={copied} />
        <Button size="small" look="quiet" closed={closed} aria-label={words.t('Delete {time}…', { time: when })} onClick={() => asked('delete_state', words.t('Delete?'))}>
          {words.t('Delete…')}
        </Button>
      </td>
    </tr>
  );
}

function kindOf(state: KeptState, { t }: Words): string {
  const kinds = { stop: t('Saved with a stop'), snapshot: t('Snapshot'), switch: t('Before a switch') };
  return kinds[state.kind];
}
