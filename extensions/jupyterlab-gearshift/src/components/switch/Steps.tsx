/** The steps of an operation: done, at work, to come; each with its time and its note. */

import * as React from 'react';

import type { Operation, Step } from '../../api/records.js';
import type { Words } from '../../i18n.js';
import { Icon, type IconName } from '../../icons.js';
import { secondsOf } from '../../models/operations.js';
import { useFormat, useGearshift, useNow, type Format } from '../context.js';
import { stepWord } from '../words.js';
import type { Names } from './names.js';

type Phase = 'todo' | 'now' | 'done' | 'failed';

const LOOKS: Record<Phase, [string, IconName]> = {
  todo: ['todo', 'ring'],
  now: ['gs-info', 'busy'],
  done: ['gs-good', 'ok'],
  failed: ['gs-bad', 'fail']
};

export function Steps({ op, names }: { op: Operation; names: Names }): React.ReactElement {
  const { words } = useGearshift();
  const steps = op.state === 'running' ? op.steps : op.steps.filter(step => step.state !== 'pending');
  const back = op.steps.map(step => step.note?.['back']).find(note => typeof note === 'string');
  return (
    <ol className="gs-steps" style={{ margin: '18px 0 16px' }}>
      {steps.map(step => (
        <StepLine key={step.name} op={op} step={step} names={names} />
      ))}
      {back && (
        <Line phase="done" word={words.t('{from} continued', { from: names.from })} note={howBack(words, back)} time="" />
      )}
    </ol>
  );
}

function howBack({ t }: Words, how: unknown): string {
  return how === 'started again' ? t('it was started again with what was saved') : t('it was only paused, never stopped');
}

function StepLine({ op, step, names }: { op: Operation; step: Step; names: Names }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const now = useNow();
  const phase = phaseOf(op, step);
  const word = stepWord(words, op, step.name, step.state === 'undoing' ? 'todo' : phase, names);
  const seconds = secondsOf(step, now);
  const about = op.direction === 'forward' ? op.expected?.[step.name] : undefined;
  return (
    <Line
      phase={phase}
      word={step.state === 'undoing' ? words.t('Going back: {step}', { step: word }) : word}
      note={errorOf(step, words.language)}
      time={timeOf(words, format, phase, seconds, about)}
    />
  );
}

/** What it took; while it is at work also what it was expected to take, before that only the latter. */
function timeOf({ t }: Words, format: Format, phase: Phase, seconds: number | null, about: number | undefined): string {
  if (about !== undefined && about >= 1 && phase === 'todo') {
    return t('about {t}', { t: format.duration(about) });
  }
  if (seconds === null) {
    return '';
  }
  return about !== undefined && about >= 1 && phase === 'now'
    ? t('{t} of about {total}', { t: format.duration(seconds), total: format.duration(about) })
    : format.duration(seconds, true);
}

function Line(props: { phase: Phase; word: string; note: string | null; time: string }): React.ReactElement {
  const [tone, icon] = LOOKS[props.phase];
  return (
    <li className={tone} aria-current={props.phase === 'now' ? 'step' : undefined}>
      <Icon name={icon} size={20} />
      <div>
        <b>{props.word}</b>
        {props.note && <small>{props.note}</small>}
      </div>
      <span className="t">{props.time}</span>
    </li>
  );
}

/** The step that failed says so also after it was undone; others that were undone had been done. */
function phaseOf(op: Operation, step: Step): Phase {
  if (step.name === op.failed_step && step.state !== 'undoing' && step.state !== 'passed') {
    return 'failed';
  }
  const phases: Record<Step['state'], Phase> = {
    pending: 'todo',
    running: 'now',
    undoing: 'now',
    done: 'done',
    passed: 'done',
    undone: 'done',
    failed: 'failed',
    stuck: 'failed'
  };
  return phases[step.state];
}

/** The error that a step met, in the reader's language. */
function errorOf(step: Step, language: 'en' | 'zh'): string | null {
  const error = (step.note?.['error'] ?? step.note?.['undo_error']) as Record<string, unknown> | undefined;
  const sentence = language === 'zh' ? (error?.['message_zh'] ?? error?.['message']) : error?.['message'];
  return typeof sentence === 'string' ? sentence : null;
}
