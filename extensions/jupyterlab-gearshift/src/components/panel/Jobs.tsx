/** The Jobs section: the newest five, running ones first. */

import * as React from 'react';

import type { Job } from '../../api/records.js';
import { Icon } from '../../icons.js';
import { Commands } from '../../tokens.js';
import { jobActions } from '../actions.js';
import { useFormat, useGearshift, usePart, useRun } from '../context.js';
import { Bar, CopyLine, Fetched, Name, StateWord } from '../parts.js';
import { rowMenuHandler } from '../rowmenu.js';
import { jobLook } from '../words.js';
import { progressOf } from '../../models/progress.js';
import { Rows } from './Section.js';

const SHOWN = 5;

export function JobsSection(): React.ReactElement {
  const { store, words } = useGearshift();
  const jobs = usePart('jobs');
  return (
    <Fetched part={jobs} what={words.t('Loading jobs…')} retry={() => void store.load('jobs')}>
      {all =>
        all.length ? (
          <Rows label={words.t('Jobs')}>
            {newestFirst(all)
              .slice(0, SHOWN)
              .map(job => (
                <JobRow key={job.id} job={job} />
              ))}
          </Rows>
        ) : (
          <div className="pad">
            <p className="gs-small gs-muted" style={{ margin: '0 0 8px' }}>
              {words.t('No jobs yet. Start one from a cell:')}
            </p>
            <CopyLine text="%%gearshift --nodes 2" />
          </div>
        )
      }
    </Fetched>
  );
}

export function isLive({ state }: Job): boolean {
  return state === 'running' || state === 'starting' || state === 'cancelling' || state === 'queued';
}

export function newestFirst(jobs: readonly Job[]): Job[] {
  const rank = (job: Job): number => (job.state === 'queued' ? 1 : isLive(job) ? 0 : 2);
  return [...jobs].sort((a, b) => rank(a) - rank(b) || b.created_at.localeCompare(a.created_at));
}

function JobRow({ job }: { job: Job }): React.ReactElement {
  const { commands, words } = useGearshift();
  const format = useFormat();
  const run = useRun();
  const { tone, icon, word } = jobLook(words, job);
  const percent = progressOf(job)?.percent ?? null;
  const running = job.state === 'running';
  return (
    <li>
      <button
        type="button"
        className={`gs-item inset ${running ? 'on' : ''}`}
        data-roving={job.spec.name}
        tabIndex={-1}
        onClick={() => run(Commands.jobs, { job: job.id })}
        onContextMenu={rowMenuHandler(commands, jobActions(job))}
      >
        <Icon name="jobs" />
        <Name>{job.spec.name}</Name>
        <StateWord tone={tone} icon={icon}>
          {word}
        </StateWord>
        {running && (
          <span className="two gs-row">
            <span style={{ flex: 1 }}>{percent !== null && <Bar percent={percent} />}</span>
            <span className="gs-small gs-num gs-muted">
              {[percent === null ? null : `${Math.floor(percent)}%`, format.money(job.cost_nano)]
                .filter(Boolean)
                .join(' · ')}
            </span>
          </span>
        )}
      </button>
    </li>
  );
}
