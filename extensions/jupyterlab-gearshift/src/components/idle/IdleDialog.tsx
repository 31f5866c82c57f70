/** Choosing what becomes of the workspace when its work ends, and when nobody uses it. Nothing is spent or stopped by it. */

import * as React from 'react';

import type { Idle, IdleAction } from '../../api/answers.js';
import { asApiError } from '../../api/errors.js';
import { useFormat, useGearshift, usePart } from '../context.js';
import { DialogBody, useFirstFocus, type DialogProps } from '../dialog.js';
import { useMachineTitle } from '../panel/Machine.js';
import { Button, Note } from '../parts.js';

type Own = IdleAction | 'default';

interface Chosen {
  end: IdleAction;
  minutes: string;
  own: Own;
  hours: string;
}

export function IdleDialog({ close }: DialogProps): React.ReactElement | null {
  const { words } = useGearshift();
  const idle = usePart('idle').value;
  if (!idle) {
    return null;
  }
  return <Form idle={idle} close={close} heading={words.t('Idle time and end of work')} />;
}

function Form({ idle, close, heading }: DialogProps & { idle: Idle; heading: string }): React.ReactElement {
  const { words } = useGearshift();
  const first = React.useRef(idle);
  const [chosen, setChosen] = React.useState(() => begin(idle));
  const [wrong, setWrong] = React.useState<string | null>(null);
  const save = useSave(first.current, chosen, close, setWrong);
  const change = (part: Partial<Chosen>): void => setChosen(held => ({ ...held, ...part }));
  return (
    <DialogBody
      title={heading}
      close={close}
      buttons={
        <>
          <Button look="plain" size="large" onClick={close}>
            {words.t('Cancel')}
          </Button>
          <Button look="primary" size="large" onClick={save}>
            {words.t('Save')}
          </Button>
        </>
      }
    >
      <form
        className="gs-stack"
        onSubmit={event => {
          event.preventDefault();
          save();
        }}
      >
        {wrong && (
          <Note tone="warn" icon="warn" role="alert">
            {wrong}
          </Note>
        )}
        <EndOfWork idle={idle} chosen={chosen} change={change} />
        <Unused idle={idle} chosen={chosen} change={change} />
        <button type="submit" hidden tabIndex={-1} />
      </form>
    </DialogBody>
  );
}

function begin(idle: Idle): Chosen {
  return {
    end: idle.end?.action ?? 'keep',
    minutes: idle.end?.at ? String(Math.max(1, Math.round((Date.parse(idle.end.at) - Date.now()) / 60_000))) : '',
    own: idle.own ? idle.action : 'default',
    hours: String(idle.after_hours || idle.bounds.min_hours)
  };
}

/** Sends what changed, one thing after the other; the first refusal is shown and the dialog stays. */
function useSave(first: Idle, chosen: Chosen, close: () => void, refused: (why: string) => void): () => void {
  const { client, store, words } = useGearshift();
  const was = begin(first);
  return () => {
    const send = async (): Promise<void> => {
      if (chosen.own === 'default' && was.own !== 'default') {
        await client.unchooseIdle();
      } else if (chosen.own !== 'default' && (chosen.own !== was.own || chosen.hours !== was.hours)) {
        await client.chooseIdle(chosen.own, Number(chosen.hours));
      }
      if (chosen.end !== was.end || chosen.minutes !== was.minutes) {
        const minutes = Number(chosen.minutes);
        const at = chosen.minutes && chosen.end !== 'keep' ? new Date(Date.now() + minutes * 60_000).toISOString() : null;
        await client.endOfWork(chosen.end, at);
      }
      await store.load('idle');
      close();
    };
    send().catch((reason: unknown) => refused(asApiError(reason).sentence(words.language)));
  };
}

interface PartProps {
  idle: Idle;
  chosen: Chosen;
  change: (part: Partial<Chosen>) => void;
}

function EndOfWork({ idle, chosen, change }: PartProps): React.ReactElement {
  const { words } = useGearshift();
  const title = useMachineTitle();
  const firstFocus = useFirstFocus<HTMLInputElement>();
  const [held] = React.useState(chosen.end);
  const drop = idle.drop_to ? words.t('Drop to {machine}', { machine: title(idle.drop_to) }) : null;
  const ways: [IdleAction, string][] = [
    ['keep', words.t('Keep the machine')],
    ...(drop ? ([['drop', drop]] as [IdleAction, string][]) : []),
    ['stop', words.t('Stop; kernel state is saved first')]
  ];
  return (
    <fieldset className="gs-fieldset">
      <legend className="gs-label">{words.t('When what runs now has ended, once')}</legend>
      {ways.map(([value, label]) => (
        <label key={value} className="gs-check">
          <input
            ref={value === held ? firstFocus : undefined}
            type="radio"
            name="gs-end"
            checked={chosen.end === value}
            onChange={() => change({ end: value })}
          />
          <span>{label}</span>
        </label>
      ))}
      <Figure
        id="gs-end-minutes"
        label={words.t('Not before so many minutes (may stay empty)')}
        value={chosen.minutes}
        closed={chosen.end === 'keep'}
        change={minutes => change({ minutes })}
      />
    </fieldset>
  );
}

function Unused({ idle, chosen, change }: PartProps): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { bounds } = idle;
  const names: Record<IdleAction, string> = {
    stop: words.t('Stop; kernel state is saved first'),
    drop: words.t('Drop to a CPU machine, stop there later'),
    keep: words.t('Nothing')
  };
  const usual = bounds.default_hours
    ? words.t('As usual here: {action}, after {t}', {
        action: names[bounds.default_action],
        t: format.duration(bounds.default_hours * 3600)
      })
    : words.t('As usual here: nothing');
  return (
    <fieldset className="gs-fieldset">
      <legend className="gs-label">{words.t('When nothing runs and nobody works here')}</legend>
      {(['default', ...bounds.actions] as Own[]).map(value => (
        <label key={value} className="gs-check">
          <input type="radio" name="gs-own" checked={chosen.own === value} onChange={() => change({ own: value })} />
          <span>{value === 'default' ? usual : names[value]}</span>
        </label>
      ))}
      <Figure
        id="gs-own-hours"
        label={words.t('After so many hours ({least} to {most})', { least: bounds.min_hours, most: bounds.max_hours })}
        value={chosen.hours}
        closed={chosen.own === 'default' || chosen.own === 'keep'}
        change={hours => change({ hours })}
      />
      <p className="gs-small gs-muted">
        {words.t('Everything is announced {t} before, and can be put off.', { t: format.duration(bounds.warn_seconds) })}
        {bounds.stuck_hours > 0 &&
          ' ' +
            words.t('What is busy for {t} without computing is stopped as well.', {
              t: format.duration(bounds.stuck_hours * 3600)
            })}
      </p>
    </fieldset>
  );
}

function Figure(props: {
  id: string;
  label: string;
  value: string;
  closed: boolean;
  change: (value: string) => void;
}): React.ReactElement {
  return (
    <div className="gs-row" style={{ marginTop: 6 }}>
      <label htmlFor={props.id} className={props.closed ? 'gs-muted' : ''}>
        {props.label}
      </label>
      <div className="gs-field" style={{ width: 90 }}>
        <input
          id={props.id}
          type="number"
          min="0"
          step="any"
          value={props.value}
          disabled={props.closed}
          onChange={event => props.change(event.target.value)}
        />
      </div>
    </div>
  );
}
