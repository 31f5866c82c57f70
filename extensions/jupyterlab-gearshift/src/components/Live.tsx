/** The polite live region of a view: steps in words, at most one message in five seconds; failures at once. */

import * as React from 'react';

import type { Operation } from '../api/records.js';
import { useGearshift, useStore } from './context.js';
import { isSwitch } from '../models/operations.js';
import { useNames } from './switch/names.js';
import { stepWord } from './words.js';

const PAUSE_MS = 5000;

export function Live(): React.ReactElement {
  const message = useStepMessage();
  const [polite, setPolite] = React.useState('');
  const last = React.useRef(0);
  React.useEffect(() => {
    if (!message.text || message.urgent) {
      return undefined;
    }
    const wait = Math.max(0, last.current + PAUSE_MS - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setPolite(message.text);
    }, wait);
    return () => clearTimeout(timer);
  }, [message.text, message.urgent]);
  return (
    <>
      <div className="gs-hidden" role="status" aria-live="polite">
        {polite}
      </div>
      <div className="gs-hidden" role="alert">
        {message.urgent ? message.text : ''}
      </div>
    </>
  );
}

/** What is to be said about the newest operation of this page's life. */
function useStepMessage(): { text: string; urgent: boolean } {
  const { words } = useGearshift();
  const born = React.useRef(Date.now());
  const op = useStore(state => state.operations.value?.[0] ?? null);
  const names = useNames(op);
  if (!op || Date.parse(op.ended_at ?? op.created_at) < born.current - 60_000) {
    return { text: '', urgent: false };
  }
  if (op.state === 'failed' && isSwitch(op)) {
    return { text: words.t('Not switched. You are still on {old}.', { old: names.from }), urgent: true };
  }
  if (op.state === 'done' && isSwitch(op)) {
    return { text: words.t('You are on {new}.', { new: names.to }), urgent: false };
  }
  return { text: op.step ? sentence(words, op, names) : '', urgent: false };
}

function sentence(words: ReturnType<typeof useGearshift>['words'], op: Operation, names: { to: string; from: string }): string {
  const at = op.steps.findIndex(step => step.name === op.step);
  const before = op.steps[at - 1];
  const parts = [before && `${stepWord(words, op, before.name, 'done', names)}.`];
  if (op.step) {
    parts.push(`${stepWord(words, op, op.step, 'now', names)}.`);
  }
  return parts.filter(Boolean).join(' ');
}
