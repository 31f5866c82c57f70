/** Kept states on the disks of this workspace: copied there, and brought in from there by a press that sees what it is. */

import * as React from 'react';

import { asApiError, type ApiError } from '../../api/errors.js';
import type { SharedState } from '../../api/answers.js';
import type { Disk, KeptState } from '../../api/records.js';
import { useClosed, useFormat, useGearshift, usePart } from '../context.js';
import { Button, Name, Note, Refused } from '../parts.js';
import { useAttachedDisks } from '../panel/Disks.js';
import type { Asked } from './Kept.js';

/** Under which name a disk lies in the home. */
function linkOf(disk: Disk): string {
  return disk.path_hint?.replace('~/disks/', '') ?? disk.name;
}

/** The disks that this workspace has, but for the home. */
export function useOtherDisks(): Disk[] {
  const attached = useAttachedDisks();
  return React.useMemo(() => attached.filter(disk => disk.id !== 'home'), [attached]);
}

export function OnDisks({ ask, copied }: { ask: (asked: Asked) => void; copied: number }): React.ReactElement | null {
  const { words } = useGearshift();
  const disks = useOtherDisks();
  const { states, error, read } = useOnDisks(copied, disks.length > 0);
  if (!disks.length) {
    return null;
  }
  return (
    <section aria-labelledby="gs-on-disks">
      <h3 id="gs-on-disks" style={{ margin: '16px 0 8px' }}>
        {words.t('On your disks')}
      </h3>
      <p className="gs-small gs-muted">
        {words.t('A copy on a disk can be read by everybody who has the disk. Only you can load it, and only by a press here.')}
      </p>
      {error && <Refused error={error} retry={read} />}
      {states.length > 0 && (
        <div className="gs-card cut">
          <table className="gs-table dense" aria-label={words.t('On your disks')}>
            <tbody>
              {states.map(state => (
                <Line key={`${state.disk}/${state.state}`} state={state} disks={disks} ask={ask} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function useOnDisks(copied: number, wanted: boolean): { states: SharedState[]; error: ApiError | null; read: () => void } {
  const { client } = useGearshift();
  const operations = usePart('operations').value;
  const [states, setStates] = React.useState<SharedState[]>([]);
  const [error, setError] = React.useState<ApiError | null>(null);
  const read = React.useCallback(() => {
    if (!wanted) {
      return;
    }
    client.statesOnDisks().then(
      found => {
        setStates(found);
        setError(null);
      },
      reason => setError(asApiError(reason))
    );
  }, [client, wanted]);
  React.useEffect(read, [read, operations, copied]);
  return { states, error, read };
}

function Line(props: { state: SharedState; disks: Disk[]; ask: (asked: Asked) => void }): React.ReactElement {
  const { client, words } = useGearshift();
  const format = useFormat();
  const closed = useClosed();
  const { state } = props;
  const disk = props.disks.find(one => linkOf(one) === state.disk)?.id ?? state.disk;
  const bring = (): void =>
    props.ask({
      body: { kind: 'import_state', workspace: client.workspace, disk, state: state.state },
      heading: words.t('Bring in?')
    });
  return (
    <tr>
      <th scope="row">
        <Name>{state.disk}</Name>
        <div className="sub">
          <bdi>{state.workspace}</bdi>
        </div>
      </th>
      <td>
        {words.n('{n} kernel', '{n} kernels', state.kernels.length)}
        <div className="sub">
          {format.bytes(state.bytes)} · {state.state}
        </div>
      </td>
      <td className="gs-r">
        <Button size="small" closed={closed} aria-label={words.t('Bring in {state}…', { state: state.state })} onClick={bring}>
          {words.t('Bring in…')}
        </Button>
      </td>
    </tr>
  );
}

/** Copies one kept state onto a disk; nothing is loaded by it. */
export function CopyTo({ state, when, done }: { state: KeptState; when: string; done: () => void }): React.ReactElement | null {
  const { client, words } = useGearshift();
  const disks = useOtherDisks().filter(disk => disk.mode_for_me === 'rw');
  const [told, tell] = React.useState<ApiError | string | null>(null);
  if (!disks.length) {
    return null;
  }
  const copy = (disk: string): void => {
    tell(words.t('Copying to {disk}…', { disk }));
    client.copyState(state.id, disk).then(
      () => {
        tell(words.t('Copied to {disk}.', { disk }));
        done();
      },
      reason => tell(asApiError(reason))
    );
  };
  return (
    <>
      <select aria-label={words.t('Copy {time} to a disk', { time: when })} value="" onChange={event => copy(event.target.value)}>
        <option value="" disabled>
          {words.t('Copy to…')}
        </option>
        {disks.map(disk => (
          <option key={disk.id} value={linkOf(disk)}>
            {linkOf(disk)}
          </option>
        ))}
      </select>{' '}
      {typeof told === 'string' && (
        <Note icon="info" role="status">
          {told}
        </Note>
      )}
      {told !== null && typeof told !== 'string' && <Refused error={told} />}
    </>
  );
}
