/** "Take a snapshot first": what the switch saves is kept, to be brought back later. On unless there is no room for it. */

import * as React from 'react';

import type { SwitchFigures } from '../../api/answers.js';
import type { SwitchFlow } from '../../models/switchflow.js';
import { useFormat, useGearshift, useSignal } from '../context.js';

export function SnapshotTick({ flow, figures }: { flow: SwitchFlow; figures: SwitchFigures }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const wanted = useSignal(flow.changed, () => flow.snapshot);
  const { room_bytes: room } = figures.snapshot;
  const fits = figures.bytes <= room;
  const { setSnapshot } = flow;
  React.useEffect(() => {
    if (wanted && !fits) {
      setSnapshot(false);
    }
  }, [wanted, fits, setSnapshot]);
  if (figures.mode === 'live') {
    return null;
  }
  return (
    <label className="gs-check" style={{ marginTop: 12 }}>
      <input type="checkbox" checked={wanted && fits} disabled={!fits} onChange={event => setSnapshot(event.target.checked)} />
      <span>
        {words.t('Take a snapshot first')}{' '}
        <span className="gs-muted">
          {fits
            ? words.t('kept under Machine › History; disks are not part of it')
            : words.t('no room: {room} of your kept kernel states are left. Delete one under Machine › History.', { room: format.bytes(room) })}
        </span>
      </span>
    </label>
  );
}
