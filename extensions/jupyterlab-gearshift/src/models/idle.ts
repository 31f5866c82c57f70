/** What a page says of idle time: one sentence for the state of now, ticking where it counts down. */

import type { Idle } from '../api/answers.js';
import type { Words } from '../i18n.js';

export interface IdleFormat {
  duration(seconds: number): string;
  /** A time of day. */
  moment(iso: string): string;
  /** What a machine is called. */
  title(id: string | null): string;
}

/** Whether the end is told as a countdown: what may be stuck is not told of before it is warned of. */
export function countsDown(idle: Idle): boolean {
  return idle.acts_at !== null && idle.next !== null && (idle.cause !== 'stuck' || idle.warned);
}

/** The one sentence; null where nothing will happen by itself. */
export function idleSentence(idle: Idle, words: Words, format: IdleFormat, now: number): string | null {
  if (idle.acts_at && countsDown(idle)) {
    return soon(idle, words, format, Math.max(0, (Date.parse(idle.acts_at) - now) / 1000));
  }
  if (idle.end) {
    return endSentence(idle, idle.end, words, format, now);
  }
  if (idle.action === 'keep' || !idle.after_hours) {
    return null;
  }
  const t = format.duration(idle.after_hours * 3600);
  const rule =
    idle.action === 'drop' && idle.drop_to
      ? words.t('Drops to {machine} after {t} idle.', { machine: format.title(idle.drop_to), t })
      : words.t('Stops after {t} idle.', { t });
  const reason = busyWords(idle, words);
  return reason ? words.t('{rule} Not idle now: {reason}.', { rule, reason }) : rule;
}

function soon(idle: Idle, { t }: Words, format: IdleFormat, seconds: number): string {
  const left = format.duration(seconds);
  return idle.next === 'drop'
    ? t('Drops to {machine} in {t} with its variables.', { machine: format.title(idle.drop_to), t: left })
    : t('Stops in {t}. Kernel state is saved first.', { t: left });
}

/** What was asked for at the end of work, with the instant before which nothing happens. */
function endSentence(idle: Idle, end: NonNullable<Idle['end']>, { t }: Words, format: IdleFormat, now: number): string {
  const machine = format.title(idle.drop_to);
  if (end.at && Date.parse(end.at) > now) {
    const time = format.moment(end.at);
    return end.action === 'drop'
      ? t('At {time}, or later when what runs has ended: drops to {machine}.', { time, machine })
      : t('At {time}, or later when what runs has ended: stops.', { time });
  }
  return end.action === 'drop'
    ? t('When what runs has ended: drops to {machine}.', { machine })
    : t('When what runs has ended: stops.');
}

/** What it is busy with, as one list. */
export function busyWords(idle: Idle, { t, language }: Words): string {
  const known: Record<string, string> = {
    kernel: t('a kernel is busy'),
    terminal: t('a terminal runs something'),
    job: t('a job runs'),
    chip: t('the accelerator is used'),
    cpu: t('the processor is used'),
    page: t('a page is open'),
    unknown: t('its server does not answer')
  };
  return idle.busy.map(one => known[one] ?? one).join(language === 'zh' ? '、' : ', ');
}
