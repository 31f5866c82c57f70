/** The machine in a toolbar and in the status bar: name, use, price; or what is going on with it. */

import * as React from 'react';

import { Icon, type IconName } from '../icons.js';
import { isSwitch, tookSeconds } from '../models/operations.js';
import { Commands, type IGearshift, type Settings } from '../tokens.js';
import { useFormat, useGearshift, useNow, useOffline, usePart, useRun, useSignal, useStore } from './context.js';
import type { Tone } from './parts.js';
import { useMachine } from './panel/Machine.js';
import { Spark, useUse } from './spark.js';
import { useNames } from './switch/names.js';
import { machineLook } from './words.js';

interface Shown {
  icon: IconName;
  tone?: Tone;
  /** What is said first, and what drops when there is little room. */
  text: string;
  more: string[];
  use: boolean;
}

function useShown(parts: Settings['status']): Shown | null {
  const { words } = useGearshift();
  const format = useFormat();
  const contact = useOffline();
  const workspace = usePart('machine').value;
  const balance = useStore(state => state.me.value?.balance_nano ?? null);
  const machine = useMachine(workspace?.spec.machine);
  const op = useStore(state => state.operations.value?.find(one => one.state === 'running') ?? null);
  const names = useNames(op);
  const use = useUse();
  const now = useNow();
  if (!workspace) {
    return null;
  }
  const name = words.pick(machine?.title) || workspace.spec.machine;
  if (contact) {
    const since = contact.last === null ? '' : format.moment(contact.last);
    return { icon: 'offline', text: name, more: [words.t('offline since {time}', { time: since })], use: false };
  }
  if (op && isSwitch(op)) {
    const text = words.t('Switching to {machine}', { machine: names.to });
    return { icon: 'busy', tone: 'info', text, more: [format.duration(tookSeconds(op, now))], use: false };
  }
  if (workspace.state !== 'ready') {
    const { icon, tone, word } = machineLook(words, workspace);
    const when = workspace.state === 'stopped' ? ` ${format.moment(workspace.since)}` : '';
    return { icon, tone, text: `${word}${when}`, more: [], use: false };
  }
  const price = workspace.price_per_hour_nano;
  const more = [
    parts.use && use !== null && `${Math.round(use)}%`,
    parts.price && price !== null && format.perHour(price),
    parts.balance && balance !== null && words.t('balance {amount}', { amount: format.money(balance) })
  ];
  return { icon: machine?.chip ? 'gpu' : 'cpu', text: name, more: more.filter((one): one is string => !!one), use: true };
}

export function ToolbarChip(): React.ReactElement | null {
  const { store, words } = useGearshift();
  const run = useRun();
  const shown = useShown({ use: true, price: false, balance: false });
  if (!shown) {
    return null;
  }
  const running = store.running;
  const open = (): void =>
    running && isSwitch(running) ? run(Commands.switchMachine, { operation: running.id }) : run(Commands.panel);
  return (
    <button
      type="button"
      className={`gs-chip ${shown.tone && shown.tone !== 'idle' ? `gs-${shown.tone}` : ''}`}
      title={words.t('Machine: {said}', { said: [shown.text, ...shown.more].join(', ') })}
      onClick={open}
    >
      <Icon name={shown.icon} size={14} />
      <span>{shown.text}</span>
      {shown.use && <Spark className="u" spanMs={120_000} />}
      <span className="gs-num">{shown.more.join(' · ')}</span>
    </button>
  );
}

export function StatusText({ open }: { open: () => void }): React.ReactElement | null {
  const gearshift = useGearshift();
  const settings = useSignal<IGearshift, Settings, Settings>(gearshift.settingsChanged, () => gearshift.settings);
  const shown = useShown(settings.status);
  if (!shown) {
    return null;
  }
  const text = [shown.text, ...shown.more];
  return (
    <button
      type="button"
      className="gs-status"
      aria-haspopup="dialog"
      title={gearshift.words.t('Machine: {said}', { said: text.join(', ') })}
      onClick={open}
    >
      <Icon name={shown.icon} size={14} />
      <span>{text.slice(0, 2).join(' · ')}</span>
      {text.length > 2 && <span className="gs-status-more">· {text.slice(2).join(' · ')}</span>}
    </button>
  );
}
