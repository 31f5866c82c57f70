/** The steps of an operation: done, at work, to come; each with its time and its note. */

import * as React from 'react';

import type { Operation, Step } from '../../api/records.js';
import { Icon, type IconName } from '../../icons.js';
import { secondsOf } from '../../models/operations.js';
import { useFormat, useGearshift, useNow } from '../context.js';
import { stepWord } from '../words.js';
import type { Names } from './names.js';

type Phase = 'todo' | 'now' | 'done' | 'failed';

export function Steps({ op, names }: { op: Operation; names: Names }): React.ReactElement {
  const steps = op.state === 'running' ? op.steps : op.steps.filter(step => step.state !== 'pending');
  return (
    <ol className="gs-steps" style={{ margin: '18px 0 16px' }}>
      {steps.map(step => (
        <StepLine key={step.name} op={op} step={step} names={names} />
      ))}
    </ol>
  );
}

const PHASES: Record<Step['state'], Phase> = {
  pending: 'todo',
  running: 'now',
  done: 'done',
  passed: 'done',
  failed: 'failed',
  undoing: 'now',
  undone: 'done'
};

function StepLine({ op, step, names }: { op: Operation; step: Step; names: Names }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const now = useNow();
  const phase = PHASES[step.state];
  const looks: Record<Phase, [string, IconName]> = {
    todo: ['todo', 'ring'],
    now: ['gs-info', 'busy'],
    done: ['gs-good', 'ok'],
    failed: ['gs-bad', 'fail']
  };
  const [tone, icon] = looks[phase];
  const back = step.state === 'undoing' || step.state === 'undone';
  const word = stepWord(words, op, step.name, phase, names);
  const seconds = secondsOf(step, now);
  const note = noteOf(step, words.language);
  return (
    <li className={back ? 'gs-idle' : tone} aria-current={phase === 'now' ? 'step' : undefined}>
      <Icon name={back && phase === 'done' ? 'rerun' : icon} size={20} />
      <div>
        <b>{back ? words.t('Undone: {step}', { step: word }) : word}</b>
        {note && <small>{note}</small>}
      </div>
      <span className="t">{seconds === null ? '' : format.duration(seconds, true)}</span>
    </li>
  );
}

/** The error that a step met, in the reader's language. */
function noteOf(step: Step, language: 'en' | 'zh'): string | null {
  const error = (step.note?.['error'] ?? step.note?.['undo_error']) as Record<string, unknown> | undefined;
  const sentence = language === 'zh' ? (error?.['message_zh'] ?? error?.['message']) : error?.['message'];
  return typeof sentence === 'string' ? sentence : null;
}
