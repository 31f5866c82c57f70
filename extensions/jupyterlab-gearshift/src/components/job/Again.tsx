/** A job that has ended, once more: from its newest complete checkpoint, or from the start. */

import * as React from 'react';

import type { Job } from '../../api/records.js';
import { count } from '../../models/format.js';
import { progressOf } from '../../models/progress.js';
import { Commands } from '../../tokens.js';
import { canResume } from '../actions.js';
import { useClosedOffline, useGearshift, useRun } from '../context.js';
import { Button } from '../parts.js';

export function Again({ job }: { job: Job }): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const closed = useClosedOffline();
  const resumes = canResume(job);
  const from = job.checkpoint_step ?? 0;
  const lost = resumes ? (progressOf(job)?.step ?? from) - from : 0;
  const again = job.state === 'succeeded' ? words.t('Run again…') : words.t('Run from the start…');
  return (
    <div className="gs-row" style={{ flexWrap: 'wrap', gap: 8 }}>
      {resumes && (
        <Button look="primary" closed={closed} onClick={() => run(Commands.resumeJob, { job: job.id })}>
          {words.t('Go on from step {step}…', { step: count(from) })}
        </Button>
      )}
      <Button closed={closed} onClick={() => run(Commands.rerunJob, { job: job.id })}>
        {again}
      </Button>
      {lost > 0 && (
        <span className="gs-small gs-muted">
          {words.n('{n} step is done again.', '{n} steps are done again.', lost)}
        </span>
      )}
    </div>
  );
}
