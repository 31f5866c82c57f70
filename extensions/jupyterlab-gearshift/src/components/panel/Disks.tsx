/** The Disks section: what is attached, in which mode, how full. */

import * as React from 'react';

import type { Disk } from '../../api/records.js';
import { Icon } from '../../icons.js';
import { Commands } from '../../tokens.js';
import { useFormat, useGearshift, usePart, useRun, useStore } from '../context.js';
import { Bar, Fetched, Name } from '../parts.js';
import { rowMenuHandler } from '../rowmenu.js';
import { diskActions } from '../actions.js';
import { modeWord } from '../words.js';
import { Rows } from './Section.js';

const WARN_PERCENT = 90;

export function DisksSection(): React.ReactElement {
  const { store, words } = useGearshift();
  const disks = usePart('disks');
  const attached = useAttachedDisks();
  return (
    <Fetched part={disks} what={words.t('Loading disks…')} retry={() => void store.load('disks')}>
      {() =>
        attached.length ? (
          <Rows label={words.t('Disks')}>
            {attached.map(disk => (
              <DiskRow key={disk.id} disk={disk} />
            ))}
          </Rows>
        ) : (
          <p className="pad gs-small gs-muted" style={{ margin: 0 }}>
            {words.t('Only your home disk is attached. A shared disk keeps files for several workspaces.')}
          </p>
        )
      }
    </Fetched>
  );
}

/** The disks that this workspace holds, or will hold from its next start. */
export function useAttachedDisks(): Disk[] {
  const disks = useStore(state => state.disks.value);
  const held = useStore(state => state.machine.value?.spec.disks);
  return React.useMemo(() => {
    const wanted = new Set((held ?? []).map(mount => mount.disk));
    return (disks ?? []).filter(disk => wanted.has(disk.id) || wanted.has(disk.name) || disk.name === 'home');
  }, [disks, held]);
}

/** Whether the workspace has this disk from its next start on, whatever it has now. */
export function useWanted(disk: Disk): boolean {
  return useStore(state => state.machine.value?.spec.disks.some(({ disk: key }) => [disk.id, disk.name].includes(key)) ?? false);
}

function DiskRow({ disk }: { disk: Disk }): React.ReactElement {
  const { client, commands, words } = useGearshift();
  const run = useRun();
  const people = disk.members.length;
  const mode = modeWord(words, disk.mode_for_me);
  return (
    <li>
      <button
        type="button"
        className="gs-item inset"
        data-roving={disk.name}
        tabIndex={-1}
        onClick={() => run(Commands.disks, { disk: disk.id })}
        onContextMenu={rowMenuHandler(commands, diskActions(disk, client.workspace, useWanted(disk)))}
      >
        <Icon name="disk" />
        <Name>{disk.name}</Name>
        <span className="gs-small gs-muted">
          {people > 1 ? words.n('{mode} · {n}', '{mode} · {n}', people, { mode }) : mode}
        </span>
        <Fullness disk={disk} />
      </button>
    </li>
  );
}

function Fullness({ disk }: { disk: Disk }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  if (disk.used_bytes === null || !disk.quota_bytes) {
    return null;
  }
  const percent = (disk.used_bytes / disk.quota_bytes) * 100;
  const full = percent >= WARN_PERCENT;
  return (
    <span className="two gs-row">
      <span style={{ flex: 1 }}>
        <Bar percent={percent} tone={full ? 'warn' : undefined} />
      </span>
      <span className="gs-small gs-num gs-muted">
        {full ? words.t('{n}% full', { n: Math.floor(percent) }) : format.bytesOf(disk.used_bytes, disk.quota_bytes)}
      </span>
    </span>
  );
}
