/** How components reach the state, the words and the commands. */

import { ReactWidget } from '@jupyterlab/ui-components';
import type { ISignal } from '@lumino/signaling';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import * as React from 'react';

import { bytes, bytesOf, duration, moment, money, type MoneyStyle } from '../models/format.js';
import type { Loaded } from '../models/loaded.js';
import type { Contact } from '../models/shared.js';
import type { Part, Parts, State } from '../models/store.js';
import type { IGearshift } from '../tokens.js';

const Context = React.createContext<IGearshift | null>(null);

export function useGearshift(): IGearshift {
  const gearshift = React.useContext(Context);
  if (!gearshift) {
    throw new Error('a Gearshift component outside its root');
  }
  return gearshift;
}

/** The root of each tree of ours: state, language and our class. */
export function Root(props: { gearshift: IGearshift; className?: string; children: React.ReactNode }): React.ReactElement {
  return (
    <Context.Provider value={props.gearshift}>
      <div className={`gs-root ${props.className ?? ''}`} lang={props.gearshift.words.lang}>
        {props.children}
      </div>
    </Context.Provider>
  );
}

/** A Lumino widget around a component of ours. */
export function rootWidget(gearshift: IGearshift, child: React.ReactElement, className = ''): ReactWidget {
  const widget = ReactWidget.create(
    <Root gearshift={gearshift} className={className}>
      {child}
    </Root>
  );
  widget.node.style.minHeight = '0';
  return widget;
}

function useSignal<S, A, T>(signal: ISignal<S, A>, read: () => T): T {
  const subscribe = React.useCallback(
    (changed: () => void) => {
      signal.connect(changed);
      return () => void signal.disconnect(changed);
    },
    [signal]
  );
  return React.useSyncExternalStore(subscribe, read);
}

export { useSignal };

export function useStore<T>(select: (state: State) => T): T {
  const { store } = useGearshift();
  return useSignal(store.changed, () => select(store.state));
}

/** A part of the state; it is fetched when first looked at. */
export function usePart<P extends Part>(part: P): Loaded<Parts[P]> {
  const { store } = useGearshift();
  React.useEffect(() => {
    if (store.state[part].value === null) {
      void store.load(part);
    }
  }, [store, part]);
  return useStore(state => state[part] as Loaded<Parts[P]>);
}

export function useContact(): Contact {
  return useStore(state => state.contact);
}

/** No contact, and that is not because the workspace was stopped, which ends this page's credential too. */
export function useOffline(): Extract<Contact, { state: 'offline' }> | null {
  return useStore(state => {
    const stopped = state.machine.value?.state === 'stopped';
    return state.contact.state === 'offline' && !stopped ? state.contact : null;
  });
}

/** Why what spends or destroys cannot be pressed now; null when it can. */
export function useClosed(): string | null {
  const { words } = useGearshift();
  const offline = useOffline() !== null;
  const busy = useStore(state => state.operations.value?.some(op => op.state === 'running') ?? false);
  if (offline) {
    return words.t('Switch and stop are available again when online.');
  }
  return busy ? words.t('Available again when the running operation has ended.') : null;
}

/** The same for what goes on beside an operation of the workspace, such as a job. */
export function useClosedOffline(): string | null {
  const { words } = useGearshift();
  return useOffline() ? words.t('Available again when online.') : null;
}

export interface Format {
  money(nano: number, style?: Partial<MoneyStyle>): string;
  perHour(nano: number): string;
  duration(seconds: number, exact?: boolean): string;
  moment(iso: string | number, seconds?: boolean): string;
  bytes(value: number): string;
  bytesOf(used: number, whole: number): string;
}

export const SYMBOLS: Record<string, string> = { CNY: '¥', USD: '$', EUR: '€', GBP: '£', JPY: '¥' };

export function formatFor(gearshift: IGearshift, state: State): Format {
  const source = state.me.value ?? state.catalog.value;
  const symbol = source?.currency_symbol ?? SYMBOLS[source?.currency ?? 'CNY'] ?? `${source?.currency ?? ''} `;
  const { language } = gearshift.words;
  const write = (nano: number, style: Partial<MoneyStyle> = {}): string => money(nano, { symbol, ...style });
  return {
    money: write,
    perHour: nano => `${write(nano)}/h`,
    duration: (seconds, exact) => duration(seconds, language, exact),
    moment: (iso, seconds) => moment(new Date(iso), language, new Date(), seconds),
    bytes,
    bytesOf
  };
}

export function useFormat(): Format {
  const gearshift = useGearshift();
  const me = useStore(state => state.me);
  return React.useMemo(() => formatFor(gearshift, gearshift.store.state), [gearshift, me]); // eslint-disable-line react-hooks/exhaustive-deps
}

/** The time, told each `ms` while mounted; elapsed times and countdowns tick locally. */
export function useNow(ms = 1000): number {
  const [now, setNow] = React.useState(() => Date.now());
  React.useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return now;
}

export function useRun(): (command: string, args?: ReadonlyJSONObject) => void {
  const { commands } = useGearshift();
  return React.useCallback((command, args) => void commands.execute(command, args), [commands]);
}
