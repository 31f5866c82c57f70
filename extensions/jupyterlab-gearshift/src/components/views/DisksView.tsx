/** Disks in the main area: the table, and the members of the disk that is chosen. */

import * as React from 'react';

import type { Disk } from '../../api/records.js';
import { Icon } from '../../icons.js';
import { Commands } from '../../tokens.js';
import { diskActions } from '../actions.js';
import { useWanted } from '../panel/Disks.js';
import { useClosedOffline, useFormat, useGearshift, usePart, useRun } from '../context.js';
import { Bar, Button, Fetched, IconButton, Name, StateWord } from '../parts.js';
import { useRoving } from '../roving.js';
import { openRowMenu, rowMenuHandler } from '../rowmenu.js';
import { modeWord } from '../words.js';
import type { Choice } from './choice.js';
import { useChoice } from './choice.js';

const WARN_PERCENT = 90;

export function DisksView({ choice }: { choice: Choice }): React.ReactElement {
  const { store, words } = useGearshift();
  const run = useRun();
  const disks = usePart('disks');
  const [filter, setFilter] = React.useState('');
  const [chosen, choose] = useChoice(choice);
  const shown = (disks.value ?? []).filter(disk => disk.name.includes(filter.trim().toLowerCase()));
  const detail = disks.value?.find(disk => disk.id === chosen) ?? null;
  return (
    <div className="gs-main">
      <div className="top">
        <h1 className="gs-h1">{words.t('Disks')}</h1>
        <span className="gs-spring" />
        <div className="gs-field" style={{ width: 200 }}>
          <Icon name="search" />
          <input
            type="search"
            placeholder={words.t('Filter disks')}
            aria-label={words.t('Filter disks')}
            value={filter}
            onChange={event => setFilter(event.target.value)}
          />
        </div>
        <Button look="primary" icon="add" closed={useClosedOffline()} onClick={() => run(Commands.newDisk)}>
          {words.t('New disk…')}
        </Button>
      </div>
      <div className="scroll">
        <Fetched part={disks} what={words.t('Loading disks…')} retry={() => void store.load('disks')}>
          {() => <DiskTable disks={shown} chosen={chosen} choose={choose} />}
        </Fetched>
        {detail && detail.name !== 'home' && <Members disk={detail} />}
      </div>
    </div>
  );
}

function DiskTable(props: { disks: Disk[]; chosen: string | null; choose: (id: string) => void }): React.ReactElement {
  const { words } = useGearshift();
  const ref = useRoving<HTMLTableSectionElement>();
  if (!props.disks.length) {
    return <p className="gs-muted">{words.t('No disk has this name.')}</p>;
  }
  return (
    <div className="gs-card cut">
      <table className="gs-table" aria-label={words.t('Disks')}>
        <thead>
          <tr>
            <th scope="col">{words.t('Disk')}</th>
            <th scope="col">{words.t('Your access')}</th>
            <th scope="col">{words.t('Used')}</th>
            <th scope="col">{words.t('Mounted at')}</th>
            <td />
          </tr>
        </thead>
        <tbody ref={ref}>
          {props.disks.map(disk => (
            <DiskRow key={disk.id} disk={disk} on={disk.id === props.chosen} choose={() => props.choose(disk.id)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DiskRow({ disk, on, choose }: { disk: Disk; on: boolean; choose: () => void }): React.ReactElement {
  const { client, commands, words } = useGearshift();
  const format = useFormat();
  const actions = diskActions(disk, client.workspace, useWanted(disk));
  const percent = disk.used_bytes === null ? null : (disk.used_bytes / (disk.quota_bytes || 1)) * 100;
  const full = percent !== null && percent >= WARN_PERCENT;
  const yours = disk.owner === client.workspace.split('/')[0];
  return (
    <tr className={on ? 'on' : ''} onContextMenu={rowMenuHandler(commands, actions)}>
      <th scope="row">
        <button type="button" className="gs-link gs-medium" style={{ color: 'inherit' }} data-roving={disk.name} tabIndex={-1} aria-pressed={on} onClick={choose}>
          <Name>{disk.name}</Name>
        </button>
        <div className="sub" style={{ paddingLeft: 2 }}>
          {yours ? words.t('yours') : words.t('of {owner}', { owner: disk.owner })}
        </div>
      </th>
      <td>{modeWord(words, disk.mode_for_me)}</td>
      <td style={{ width: 190 }}>
        <span className="gs-num">
          {disk.used_bytes === null ? words.t('not measured yet') : format.bytesOf(disk.used_bytes, disk.quota_bytes)}
          {full && <span style={{ color: 'var(--gs-warn)' }}> · {words.t('{n}% full', { n: Math.floor(percent) })}</span>}
        </span>
        {percent !== null && <Bar percent={percent} tone={full ? 'warn' : undefined} />}
      </td>
      <td className="sub">
        <Mounted disk={disk} />
      </td>
      <td className="gs-r">
        {disk.name !== 'home' && (
          <IconButton
            icon="more"
            label={words.t('More actions for {name}', { name: disk.name })}
            onClick={event => openRowMenu(commands, actions, event.currentTarget)}
          />
        )}
      </td>
    </tr>
  );
}

function Mounted({ disk }: { disk: Disk }): React.ReactElement {
  const { client, words } = useGearshift();
  const run = useRun();
  const wanted = useWanted(disk);
  const held = disk.attached_to.includes(client.workspace);
  if (disk.name === 'home') {
    return <code>~</code>;
  }
  const attach = (): void => run(Commands.attachDisk, { disk: disk.id, mode: disk.mode_for_me ?? 'ro' });
  return (
    <>
      <code>{disk.path_hint ?? `~/disks/${disk.name}`}</code>
      <div className="gs-row">
        {held ? (
          <StateWord tone="good" icon="ok">
            {wanted ? words.t('Attached') : words.t('Attached until the next start')}
          </StateWord>
        ) : wanted ? (
          <StateWord tone="info" icon="clock">
            {words.t('From the next start or switch')}
          </StateWord>
        ) : (
          <>
            <StateWord tone="idle" icon="ring">
              {words.t('Not attached')}
            </StateWord>
            <Button size="small" aria-label={words.t('Attach {name}', { name: disk.name })} onClick={attach}>
              {words.t('Attach')}
            </Button>
          </>
        )}
      </div>
    </>
  );
}

function Members({ disk }: { disk: Disk }): React.ReactElement {
  const { client, words } = useGearshift();
  const run = useRun();
  const mine = disk.owner === client.workspace.split('/')[0];
  const people = [{ user: disk.owner, mode: null }, ...disk.members.filter(member => member.user !== disk.owner)];
  return (
    <section className="gs-card" style={{ maxWidth: 420, marginTop: 16 }} aria-label={words.t('Members of {name}', { name: disk.name })}>
      <header>
        <Icon name="users" />
        <span>{words.t('Members')}</span>
        <span className="gs-muted">{people.length}</span>
        <span className="gs-spring" />
        {mine && (
          <>
            <Button size="small" onClick={() => run(Commands.shareDisk, { disk: disk.id })}>
              {words.t('Share…')}
            </Button>
            <Button size="small" onClick={() => run(Commands.deleteDisk, { disk: disk.id })}>
              {words.t('Delete…')}
            </Button>
          </>
        )}
      </header>
      <ul style={{ padding: '6px 14px 10px', margin: 0, listStyle: 'none' }}>
        {people.map(({ user, mode }) => (
          <li key={user} className="gs-row" style={{ padding: '7px 0' }}>
            <Name>{user}</Name>
            <span className="gs-spring" />
            <span className="gs-small gs-muted">{mode === null ? words.t('owner') : modeWord(words, mode)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
