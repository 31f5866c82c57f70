/** Making a disk and sharing one. */

import * as React from 'react';

import { asApiError } from '../../api/errors.js';
import type { Disk, Mode } from '../../api/records.js';
import { Commands } from '../../tokens.js';
import { useGearshift, usePart, useRun } from '../context.js';
import { DialogBody, useFirstFocus, type DialogProps } from '../dialog.js';
import { Button, IconButton, Name, Note } from '../parts.js';
import { modeWord } from '../words.js';

const GB = 1_000_000_000;

export function NewDiskDialog({ close }: DialogProps): React.ReactElement {
  const { client, store, words } = useGearshift();
  const [name, setName] = React.useState('');
  const [size, setSize] = React.useState('1');
  const [wrong, setWrong] = React.useState<string | null>(null);
  const closed = !name.trim() || !(Number(size) > 0) ? words.t('Give it a name and a size.') : null;
  const make = async (): Promise<void> => {
    try {
      await client.newDisk(name.trim(), Math.round(Number(size) * GB));
      await store.load('disks');
      close();
    } catch (reason) {
      setWrong(asApiError(reason).sentence(words.language));
    }
  };
  const submit = (event: React.FormEvent): void => {
    event.preventDefault();
    if (!closed) {
      void make();
    }
  };
  return (
    <DialogBody
      title={words.t('New disk')}
      close={close}
      buttons={
        <>
          <PlainCancel close={close} />
          <Button look="primary" size="large" closed={closed} onClick={() => void make()}>
            {words.t('Make disk')}
          </Button>
        </>
      }
    >
      <form className="gs-stack" onSubmit={submit}>
        <NameField name={name} change={setName} wrong={wrong} />
        <div>
          <label className="gs-label" htmlFor="gs-disk-size">
            {words.t('Quota in GB')}
          </label>
          <div className="gs-field" style={{ width: 120 }}>
            <input id="gs-disk-size" type="number" min="0.1" step="any" value={size} onChange={event => setSize(event.target.value)} />
          </div>
        </div>
        <button type="submit" hidden tabIndex={-1} />
      </form>
    </DialogBody>
  );
}

function NameField(props: { name: string; change: (name: string) => void; wrong: string | null }): React.ReactElement {
  const { words } = useGearshift();
  const first = useFirstFocus<HTMLInputElement>();
  return (
    <div>
      <label className="gs-label" htmlFor="gs-disk-name">
        {words.t('Name')}
      </label>
      <div className="gs-field">
        <input
          id="gs-disk-name"
          ref={first}
          value={props.name}
          autoComplete="off"
          aria-describedby="gs-disk-wrong"
          aria-invalid={props.wrong !== null}
          onChange={event => props.change(event.target.value)}
        />
      </div>
      <p id="gs-disk-wrong" className="gs-wrong" role={props.wrong ? 'alert' : undefined}>
        {props.wrong}
      </p>
    </div>
  );
}

function PlainCancel({ close }: { close: () => void }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <Button look="plain" size="large" onClick={close}>
      {words.t('Cancel')}
    </Button>
  );
}

export function ShareDialog({ close, disk: id }: DialogProps & { disk: string }): React.ReactElement | null {
  const { words } = useGearshift();
  const disk = usePart('disks').value?.find(one => one.id === id);
  if (!disk) {
    return null;
  }
  return (
    <DialogBody
      title={words.t('Share {name}', { name: disk.name })}
      close={close}
      say={words.t('Only the owner sees this dialog. Changes apply at once.')}
      buttons={
        <Button look="plain" size="large" onClick={close}>
          {words.t('Done')}
        </Button>
      }
    >
      <Sharing disk={disk} close={close} />
    </DialogBody>
  );
}

function Sharing({ disk, close }: { disk: Disk; close: () => void }): React.ReactElement {
  const { client, store, words } = useGearshift();
  const [wrong, setWrong] = React.useState<string | null>(null);
  const share = async (user: string, mode: Mode): Promise<boolean> => {
    try {
      await client.share(disk.id, user, mode);
      await store.load('disks');
      setWrong(null);
      return true;
    } catch (reason) {
      setWrong(asApiError(reason).sentence(words.language));
      return false;
    }
  };
  return (
    <div className="gs-stack" style={{ gap: 12 }}>
      <Add share={share} />
      {wrong && (
        <p className="gs-wrong" role="alert" style={{ margin: 0 }}>
          {wrong}
        </p>
      )}
      <MemberTable disk={disk} share={share} close={close} />
      <Note icon="info">{words.t('Members with read-write can change each other’s files.')}</Note>
    </div>
  );
}

function Add({ share }: { share: (user: string, mode: Mode) => Promise<boolean> }): React.ReactElement {
  const { words } = useGearshift();
  const [user, setUser] = React.useState('');
  const [mode, setMode] = React.useState<Mode>('ro');
  const first = useFirstFocus<HTMLInputElement>();
  const add = (event: React.FormEvent): void => {
    event.preventDefault();
    if (user.trim()) {
      void share(user.trim(), mode).then(done => done && setUser(''));
    }
  };
  return (
    <form className="gs-row" onSubmit={add}>
      <div className="gs-field" style={{ flex: 1 }}>
        <input
          ref={first}
          placeholder={words.t('Person')}
          aria-label={words.t('Person')}
          autoComplete="off"
          value={user}
          onChange={event => setUser(event.target.value)}
        />
      </div>
      <ModeField label={words.t('Access')} mode={mode} change={setMode} />
      <button type="submit" className="gs-btn">
        {words.t('Add')}
      </button>
    </form>
  );
}

function ModeField(props: { label: string; mode: Mode; change: (mode: Mode) => void }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <div className="gs-field" style={{ width: 130 }}>
      <select aria-label={props.label} value={props.mode} onChange={event => props.change(event.target.value as Mode)}>
        <option value="ro">{modeWord(words, 'ro')}</option>
        <option value="rw">{modeWord(words, 'rw')}</option>
      </select>
    </div>
  );
}

function MemberTable(props: {
  disk: Disk;
  share: (user: string, mode: Mode) => Promise<boolean>;
  close: () => void;
}): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const { disk } = props;
  return (
    <div className="gs-card cut">
      <table className="gs-table dense">
        <thead>
          <tr>
            <th scope="col">{words.t('Member')}</th>
            <th scope="col">{words.t('Access')}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">
              <Name>{disk.owner}</Name>
            </th>
            <td className="gs-muted">{words.t('Owner')}</td>
            <td />
          </tr>
          {disk.members
            .filter(member => member.user !== disk.owner)
            .map(({ user, mode }) => (
              <tr key={user}>
                <th scope="row">
                  <Name>{user}</Name>
                </th>
                <td style={{ width: 150 }}>
                  <ModeField
                    label={words.t('Access of {user}', { user })}
                    mode={mode}
                    change={next => void props.share(user, next)}
                  />
                </td>
                <td style={{ width: 30 }}>
                  <IconButton
                    icon="x"
                    label={words.t('Remove {user}…', { user })}
                    onClick={() => {
                      props.close();
                      run(Commands.removeMember, { disk: disk.id, user });
                    }}
                  />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}
