/** A job as it lives: in a cell's output and in the Jobs view. The header never changes height. */

import * as React from 'react';

import type { Job } from '../../api/records.js';
import { Icon } from '../../icons.js';
import type { JobFeed, JobView } from '../../models/feed.js';
import { progressOf } from '../../models/progress.js';
import { Commands } from '../../tokens.js';
import { useClosedOffline, useFormat, useGearshift, useNow, useRun, useSignal } from '../context.js';
import { Button, Fetched, Link, Name, StateWord } from '../parts.js';
import { isLive } from '../panel/Jobs.js';
import { useMachineTitle } from '../panel/Machine.js';
import { jobLook } from '../words.js';
import { Cancelled, Failed, Finished, Running } from './phases.js';
import { plannedCost } from './planned.js';
import { Queued } from './Queued.js';

export function JobWidget(props: { id: string; inJobs?: boolean }): React.ReactElement | null {
  const { feeds } = useGearshift();
  const [feed, setFeed] = React.useState<JobFeed | null>(null);
  React.useEffect(() => {
    const [joined, leave] = feeds.join(props.id);
    setFeed(joined);
    return leave;
  }, [feeds, props.id]);
  return feed && feed.id === props.id ? <Joined feed={feed} inJobs={props.inJobs ?? false} /> : null;
}

function Joined({ feed, inJobs }: { feed: JobFeed; inJobs: boolean }): React.ReactElement {
  const { words } = useGearshift();
  const view = useSignal(feed.changed, () => feed.view);
  return (
    <section className="gs-job" aria-label={words.t('Job {name}', { name: view.job.value?.spec.name ?? feed.id })}>
      <Fetched part={view.job} what={words.t('Loading the job…')} retry={() => void feed.load()}>
        {job => (
          <>
            <Header job={job} />
            <div className="body">
              <Phase job={job} view={view} feed={feed} />
            </div>
            <Footer job={job} inJobs={inJobs} />
            <Said job={job} />
          </>
        )}
      </Fetched>
    </section>
  );
}

function Header({ job }: { job: Job }): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const closed = useClosedOffline();
  const title = useMachineTitle();
  const { tone, icon, word } = jobLook(words, job);
  const { nodes, procs, machine } = job.spec;
  const live = isLive(job) && job.state !== 'cancelling';
  return (
    <header>
      <Icon name="jobs" />
      <Name className="gs-strong">{job.spec.name}</Name>
      <StateWord tone={tone} icon={icon} pill>
        {word}
      </StateWord>
      <span className="gs-muted gs-clip">
        {procs > 1 ? `${nodes} × ${procs} · ${title(machine)}` : `${nodes} × ${title(machine)}`}
      </span>
      <span className="gs-spring" />
      <Time job={job} />
      {live && (
        <Button size="small" closed={closed} onClick={() => run(Commands.cancelJob, { job: job.id })}>
          {words.t('Cancel…')}
        </Button>
      )}
    </header>
  );
}

function Time({ job }: { job: Job }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const now = useNow();
  const from = Date.parse(job.started_at ?? job.created_at);
  const seconds = ((job.ended_at ? Date.parse(job.ended_at) : now) - from) / 1000;
  const t = format.duration(Math.max(0, seconds));
  const text =
    job.state === 'queued' ? words.t('waiting {t}', { t }) : job.ended_at ? words.t('ran {t}', { t }) : t;
  const spent = format.money(costNow(job, now));
  const estimate = job.state === 'running' ? estimateOf(job, now) : null;
  return (
    <span className="gs-num gs-muted gs-clip">
      {text} · {estimate === null ? spent : words.t('{spent} of about {estimate}', { spent, estimate: format.money(estimate) })}
    </span>
  );
}

/** What all of it will cost: by how far it has come, else as its owner said how long it takes. */
function estimateOf(job: Job, now: number): number | null {
  const [spent, planned] = [costNow(job, now), plannedCost(job)];
  const percent = progressOf(job)?.percent ?? 0;
  if (percent > 1) {
    return Math.round((spent / percent) * 100);
  }
  return planned !== null && planned > spent ? planned : null;
}

/** What it has cost: the server's figure, and while it runs what was added since by its price. */
export function costNow(job: Job, now: number): number {
  const running = job.state === 'running' || job.state === 'cancelling';
  if (!running || !job.started_at) {
    return job.cost_nano;
  }
  const sinceStart = ((now - Date.parse(job.started_at)) / 3_600_000) * job.price_per_hour_nano;
  return Math.max(job.cost_nano, Math.round(sinceStart));
}

function Phase({ job, view, feed }: { job: Job; view: JobView; feed: JobFeed }): React.ReactElement {
  const choose = (rank: number): void => void feed.choose(rank);
  switch (job.state) {
    case 'queued':
      return <Queued job={job} />;
    case 'succeeded':
      return <Finished job={job} view={view} choose={choose} />;
    case 'failed':
      return <Failed job={job} view={view} choose={choose} />;
    case 'cancelled':
      return <Cancelled job={job} view={view} choose={choose} />;
    default:
      return <Running job={job} view={view} choose={choose} />;
  }
}

function Footer({ job, inJobs }: { job: Job; inJobs: boolean }): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const ended = job.ranks.filter(rank => rank.exit_code === 0).length;
  const text =
    job.state === 'queued'
      ? words.t('You can close the notebook; the job keeps its place.')
      : job.state === 'succeeded'
        ? words.t('{n} of {m} ranks ended with code 0', { n: ended, m: job.ranks.length })
        : words.t('Kept by the server: reload, close or open elsewhere and nothing is missed.');
  return (
    <footer>
      <span className="gs-clip">{text}</span>
      <span className="gs-spring" />
      {!inJobs && (
        <Link onClick={() => run(Commands.jobs, { job: job.id })}>{words.t('Open in Jobs')}</Link>
      )}
      <span className="gs-mono">{job.id}</span>
    </footer>
  );
}

/** What a screen reader is told: the state, once each. */
function Said({ job }: { job: Job }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <div className="gs-hidden" role="status">
      {`${job.spec.name}: ${jobLook(words, job).word}`}
    </div>
  );
}
