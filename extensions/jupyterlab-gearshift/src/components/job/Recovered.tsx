/** What a job has recovered from: how often, what was lost last, and that the next attempt went on from a checkpoint. */

import * as React from 'react';

import type { Job } from '../../api/records.js';
import { useFormat, useGearshift } from '../context.js';
import { Note } from '../parts.js';

export function Recovered({ job }: { job: Job }): React.ReactElement | null {
  const { words } = useGearshift();
  const format = useFormat();
  const last = job.attempts[job.attempts.length - 1];
  if (!last) {
    return null;
  }
  const { t } = words;
  const lost: Partial<Record<typeof last.reason, string>> = {
    node_lost: t('a node was lost'),
    lost: t('its supervisor was lost'),
    interrupted: t('its machine was taken away'),
    signal: t('a rank was ended by a signal'),
    no_answer: t('a rank did not answer'),
    did_not_join: t('not all nodes joined in time'),
    start_failed: t('it did not start')
  };
  const how = lost[last.reason] ?? t('an attempt failed');
  const time = format.moment(last.ended_at);
  const more = job.spec.resume || job.checkpoint_step !== null ? t('It went on from its newest complete checkpoint.') : t('It began anew.');
  return (
    <Note icon="refresh" more={more}>
      {words.n('Recovered once: {how} at {time}.', 'Recovered {n} times; last, {how} at {time}.', job.attempts.length, { how, time })}
    </Note>
  );
}
