/** Switch, first part: the machines with what is free, what fits, time and price. Nothing happens yet. */

import * as React from 'react';

import type { CatalogMachine, SwitchTime } from '../../api/answers.js';
import { useFormat, useGearshift, useNow, usePart, useStore } from '../context.js';
import { Button, Fetched, Link, StateWord } from '../parts.js';
import { DialogBody } from '../dialog.js';
import { useRoving } from '../roving.js';

interface ChooseProps {
  selected: string | null;
  select: (machine: string) => void;
  close: () => void;
  next: () => void;
  /** Ask for a machine that is sold out: what is said then leads to the waitlist. */
  wait: (machine: string) => void;
}

const Times = React.createContext<ReadonlyMap<string, SwitchTime>>(new Map());

/** What a switch to each machine takes; the kernels are looked at once, when the dialog opens. */
function useTimes(): ReadonlyMap<string, SwitchTime> {
  const { client } = useGearshift();
  const [times, setTimes] = React.useState<ReadonlyMap<string, SwitchTime>>(new Map());
  React.useEffect(() => {
    const told = (found: SwitchTime[]): void => setTimes(new Map(found.map(one => [one.machine, one])));
    void client.switchTimes().then(told, () => undefined);
  }, [client]);
  return times;
}

const Wait = React.createContext<(machine: string) => void>(() => undefined);

export function Choose(props: ChooseProps): React.ReactElement {
  const { store, words } = useGearshift();
  const catalog = usePart('catalog');
  const times = useTimes();
  React.useEffect(() => void store.load('catalog'), [store]);
  return (
    <DialogBody
      title={words.t('Switch machine')}
      close={props.close}
      say={words.t('Next: a plan of every variable. Nothing happens yet.')}
      buttons={
        <>
          <Button look="plain" size="large" onClick={props.close}>
            {words.t('Cancel')}
          </Button>
          <Button
            look="primary"
            size="large"
            closed={props.selected ? null : words.t('Choose a machine first.')}
            onClick={props.next}
          >
            {words.t('Show plan')}
          </Button>
        </>
      }
    >
      <Fetched part={catalog} what={words.t('Loading machines…')} retry={() => void store.load('catalog')}>
        {({ machines }) => (
          <Times.Provider value={times}>
            <Wait.Provider value={props.wait}>
              <Machines machines={machines} {...props} />
            </Wait.Provider>
          </Times.Provider>
        )}
      </Fetched>
      <Age at={catalog.at} />
    </DialogBody>
  );
}

function Age({ at }: { at: number | null }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const now = useNow();
  if (at === null) {
    return null;
  }
  return (
    <div className="gs-small gs-muted" style={{ marginTop: 8 }}>
      {words.t('Live inventory, {t} ago. Prices include CPU and RAM.', { t: format.duration((now - at) / 1000) })}
    </div>
  );
}

function Machines({ machines, selected, select, next }: { machines: CatalogMachine[] } & ChooseProps): React.ReactElement {
  const { words } = useGearshift();
  const ref = useRoving<HTMLDivElement>({ choose: true });
  useFirstChoice(machines, selected, select);
  const same = machines.filter(machine => machine.runs_image !== false);
  const other = machines.filter(machine => !same.includes(machine));
  const keys = (event: React.KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.target as HTMLElement).tagName === 'INPUT' && selected) {
      event.preventDefault();
      next();
    }
  };
  const row = (machine: CatalogMachine): React.ReactElement => (
    <MachineRow
      key={machine.id}
      machine={machine}
      on={machine.id === selected}
      select={() => select(machine.id)}
    />
  );
  return (
    <div
      ref={ref}
      className="gs-card cut"
      role="radiogroup"
      tabIndex={-1}
      aria-label={words.t('Machine')}
      onKeyDown={keys}
    >
      <table className="gs-table dense">
        <Head />
        <tbody>
          {same.map(row)}
          {other.length > 0 && (
            <tr className="group">
              <td />
              <td colSpan={6}>{words.t('Other chips: need another image, so cells are re-run instead of copied')}</td>
            </tr>
          )}
          {other.map(row)}
        </tbody>
      </table>
    </div>
  );
}

function Head(): React.ReactElement {
  const { words } = useGearshift();
  return (
    <thead>
      <tr>
        <td />
        <th scope="col">{words.t('Machine')}</th>
        <th scope="col">{words.t('Free now')}</th>
        <th scope="col">{words.t('Fits this kernel')}</th>
        <th scope="col" className="gs-r">
          {words.t('Switch takes')}
        </th>
        <th scope="col" className="gs-r">
          {words.t('Per hour')}
        </th>
        <th scope="col" className="gs-r">
          {words.t('Change')}
        </th>
      </tr>
    </thead>
  );
}

function MachineRow(props: { machine: CatalogMachine; on: boolean; select: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { machine, on } = props;
  const fit = useFit(machine);
  const time = React.useContext(Times).get(machine.id);
  const closed = !isOpen(machine, fit);
  const change = machine.change_per_hour_nano;
  const id = `gs-machine-${machine.id}`;
  return (
    // The radio in the row is what is operated; a press anywhere in the row is a convenience of the mouse.
     
    <tr className={on ? 'on' : closed ? 'off' : ''} onClick={closed ? undefined : props.select}>
      <td style={{ width: 22 }}>
        <input
          type="radio"
          name="gs-machine"
          value={machine.id}
          checked={on}
          disabled={closed}
          data-roving={closed ? undefined : words.pick(machine.title)}
          aria-labelledby={id}
          onChange={props.select}
        />
      </td>
      <th scope="row" id={id}>
        <span>{words.pick(machine.title)}</span> {machine.simulated && <span className="gs-tag">{words.t('simulated')}</span>}
        <div className="sub">
          {machine.cores_milli / 1000} vCPU · {format.bytes(machine.memory_bytes)}
        </div>
      </th>
      <td>
        <Free machine={machine} />
      </td>
      <td>
        <Fits machine={machine} fit={fit} closed={closed} />
      </td>
      <td className="gs-r">{machine.current || !time ? '–' : format.duration(time.seconds, true)}</td>
      <td className="gs-r">{format.money(machine.price_per_hour_nano)}</td>
      <td className="gs-r">{machine.current || change === null ? '' : format.money(change, { signed: true })}</td>
    </tr>
  );
}

function Free({ machine }: { machine: CatalogMachine }): React.ReactElement {
  const { words } = useGearshift();
  const wait = React.useContext(Wait);
  if (!machine.current && machine.fits === false) {
    const label = words.t('Wait for {machine}', { machine: words.pick(machine.title) });
    return (
      <>
        <StateWord tone="idle" icon="none">
          {words.t('Sold out')}
        </StateWord>{' '}
        <Link className="gs-small" aria-label={label} onClick={() => wait(machine.id)}>
          {words.t('Wait…')}
        </Link>
      </>
    );
  }
  return <>{words.t('{free} of {total} free', { free: machine.free, total: machine.total })}</>;
}

interface Fit {
  ok: boolean;
  used: number;
  has: number;
}

/** Does what the kernels use now fit into the machine, its memory and that of its chips? null where that is not known. */
function useFit(machine: CatalogMachine): Fit | null {
  const measured = useStore(state => state.metrics.value?.memory_bytes ?? null);
  const fits = React.useContext(Times).get(machine.id)?.fits;
  const on = fits?.chips?.used_bytes ? fits.chips : fits?.memory;
  const used = on?.used_bytes ?? measured;
  const has = on?.has_bytes ?? machine.memory_bytes;
  return used === null ? null : { ok: fits?.ok ?? used <= has, used, has };
}

/** Can this machine be chosen: it is another one, there is room for it, and the kernels fit. */
export function isOpen(machine: CatalogMachine, fit: { ok: boolean } | null): boolean {
  return !machine.current && (machine.fits ?? machine.free > 0) && fit?.ok !== false;
}

/** The first machine that can be chosen is chosen, and has focus, so that the arrows work at once. */
function useFirstChoice(machines: CatalogMachine[], selected: string | null, select: (machine: string) => void): void {
  const used = useStore(state => state.metrics.value?.memory_bytes ?? null);
  const first = machines.find(one => isOpen(one, used === null ? null : { ok: used <= one.memory_bytes }))?.id;
  const held = machines.find(one => one.id === selected);
  const open = held && isOpen(held, used === null ? null : { ok: used <= held.memory_bytes });
  const wanted = open ? selected : (first ?? selected);
  React.useEffect(() => {
    if (wanted && wanted !== selected) {
      select(wanted);
    }
  }, [wanted, selected, select]);
  const focused = React.useRef(false);
  React.useEffect(() => {
    if (selected && !focused.current) {
      focused.current = true;
      document.querySelector<HTMLElement>(`.gs-dialog input[name="gs-machine"]:checked`)?.focus();
    }
  }, [selected]);
}

function Fits(props: { machine: CatalogMachine; fit: Fit | null; closed: boolean }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const { machine, fit, closed } = props;
  const have = format.bytes(fit?.has ?? machine.memory_bytes);
  if (machine.current) {
    return (
      <StateWord tone="idle" icon="ring">
        {words.t('You are here')}
      </StateWord>
    );
  }
  if (fit && !fit.ok) {
    return (
      <StateWord tone="bad" icon="none">
        {words.t('Too small: needs {need}, has {have}', { need: format.bytes(fit.used), have })}
      </StateWord>
    );
  }
  const text = fit ? words.t('Fits: {used} of {have} of memory', { used: format.bytes(fit.used), have }) : words.t('Fits');
  return closed ? (
    <span className="gs-small">{text}</span>
  ) : (
    <StateWord tone="good" icon="ok">
      {text}
    </StateWord>
  );
}
