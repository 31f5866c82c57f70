/** What a job shows in each of its phases. */

import * as React from 'react';

import type { Job } from '../../api/records.js';
import type { JobView } from '../../models/feed.js';
import { bytesOf, count, metric } from '../../models/format.js';
import { figuresOf, progressOf } from '../../models/progress.js';
import { useFormat, useGearshift, useNow, usePart } from '../context.js';
import { Bar, Note } from '../parts.js';
import { usePlannedCost } from './planned.js';
import { Again } from './Again.js';
import { Chart } from './Chart.js';
import { Log } from './Log.js';
import { Ranks } from './Ranks.js';
import { Recovered } from './Recovered.js';

interface PhaseProps {
  job: Job;
  view: JobView;
  choose: (rank: number) => void;
}

const SHOWN_FIGURES = 4;

export function Running({ job, view, choose }: PhaseProps): React.ReactElement {
  return (
    <>
      <StepLine job={job} />
      <Recovered job={job} />
      <Figures job={job} />
      <Charts job={job} view={view} />
      {job.ranks.length > 0 && <Ranks ranks={job.ranks} chosen={view.rank} choose={choose} />}
      <Log job={job} rank={view.rank} text={view.log} failed={false} live />
    </>
  );
}

function StepLine({ job }: { job: Job }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const now = useNow();
  const progress = progressOf(job);
  if (!progress) {
    return (
      <div className="gs-muted">
        {job.state === 'starting' ? words.t('Starting all ranks together…') : words.t('No step was reported yet.')}
      </div>
    );
  }
  const { step, steps, percent } = progress;
  const ran = job.started_at ? (now - Date.parse(job.started_at)) / 1000 : 0;
  const left = percent && percent < 100 ? (ran / percent) * (100 - percent) : 0;
  return (
    <div>
      <div className="gs-row base" style={{ marginBottom: 6 }}>
        <span className="gs-num">
          {steps
            ? words.t('Step {step} of {steps}', { step: count(step), steps: count(steps) })
            : words.t('Step {step}', { step: count(step) })}
        </span>
        <span className="gs-spring" />
        {percent !== null && (
          <span className="gs-muted gs-num">
            {Math.floor(percent)}%{left ? `, ${words.t('about {t} left', { t: format.duration(left) })}` : ''}
          </span>
        )}
      </div>
      {percent !== null && <Bar percent={percent} height="tall" />}
    </div>
  );
}

function Figures({ job }: { job: Job }): React.ReactElement | null {
  const { words } = useGearshift();
  const figures: [string, string][] = figuresOf(job.metrics_last)
    .slice(0, SHOWN_FIGURES)
    .map(([name, value]) => [name, metric(value)]);
  if (job.use) {
    const { memory_bytes, memory_has_bytes, cores, cores_has } = job.use;
    if (cores !== null) {
      figures.push([words.t('Use'), words.t('{n} of {m} cores', { n: metric(cores), m: metric(cores_has) })]);
    }
    figures.push([words.t('Memory'), bytesOf(memory_bytes, memory_has_bytes)]);
  }
  if (job.checkpoint_step !== null) {
    figures.push([words.t('Last checkpoint'), words.t('step {step}', { step: count(job.checkpoint_step) })]);
  }
  if (!figures.length) {
    return null;
  }
  return (
    <div className="gs-card gs-facts">
      {figures.map(([name, value]) => (
        <div key={name}>
          <div className="gs-small gs-muted">{name}</div>
          <div className="gs-num gs-medium">{value}</div>
        </div>
      ))}
    </div>
  );
}

function Charts({ job, view }: { job: Job; view: JobView }): React.ReactElement | null {
  const names = lastFigures(job, view)
    .map(([name]) => name)
    .slice(0, 2);
  const steps = progressOf(job)?.steps ?? null;
  if (view.points.length < 2 || !names.length) {
    return null;
  }
  return (
    <div className="charts">
      {names.map((name, at) => (
        <Chart key={name} name={name} points={view.points} steps={steps} tone={at === 0 ? 1 : 3} />
      ))}
    </div>
  );
}

/** The newest figures: what was told with the job, else the end of its curve. */
function lastFigures(job: Job, view: JobView): [string, number][] {
  return figuresOf(job.metrics_last ?? view.points[view.points.length - 1]);
}

export function Failed({ job, view, choose }: PhaseProps): React.ReactElement {
  const { words } = useGearshift();
  const last = job.first_failure?.lines ?? [];
  const own = view.rank === job.first_failure?.rank;
  return (
    <>
      <Note tone="bad" icon="fail" more={why(job, words.t)}>
        {failureSentence(job, words)}
      </Note>
      <Advice job={job} />
      {job.ranks.length > 0 && <Ranks ranks={job.ranks} chosen={view.rank} choose={choose} />}
      <Log job={job} rank={view.rank} text={view.log || (own ? last.join('\n') : '')} failed live={false} />
      <Again job={job} />
    </>
  );
}

/** A failure that is known by its words: its cause and what helps. What is not known stays unsaid. */
function Advice({ job }: { job: Job }): React.ReactElement | null {
  const { words } = useGearshift();
  const known = job.first_failure?.diagnosis;
  return known ? (
    <Note icon="info" more={`${words.t('What helps')}: ${known.remedy[words.language]}`}>
      {`${words.t('Likely cause')}: ${known.cause[words.language]}`}
    </Note>
  ) : null;
}

/** One that was cancelled: how far it came, and its log. */
export function Cancelled({ job, view, choose }: PhaseProps): React.ReactElement {
  return (
    <>
      <StepLine job={job} />
      <Charts job={job} view={view} />
      {job.ranks.length > 0 && <Ranks ranks={job.ranks} chosen={view.rank} choose={choose} />}
      {job.started_at && <Log job={job} rank={view.rank} text={view.log} failed={false} live={false} />}
      <Again job={job} />
    </>
  );
}

/** The image by its title, with the beginning and end of its digest. */
function Image({ id }: { id: string }): React.ReactElement {
  const { words } = useGearshift();
  const image = usePart('catalog').value?.images.find(one => one.id === id);
  const digest = image?.digest ?? '';
  return (
    <>
      {image ? words.pick(image.title) : id}
      {digest.length > 12 && <span className="gs-mono" title={digest}>{` · ${digest.slice(0, 11)}…${digest.slice(-4)}`}</span>}
    </>
  );
}

type T = (text: string, values?: Record<string, string | number>) => string;

function failureSentence(job: Job, words: ReturnType<typeof useGearshift>['words']): string {
  const { t } = words;
  const failure = job.first_failure;
  if (job.reason === 'did_not_join') {
    return t('Not all nodes joined in time. All {m} nodes were given back.', { m: job.spec.nodes });
  }
  if (job.reason === 'interrupted') {
    return t('Its machine was taken away.');
  }
  if (!failure || failure.rank === null) {
    return failure?.message || t('Failed');
  }
  const time = new Date(failure.at).toTimeString().slice(0, 8);
  const step = progressOf(job)?.step ?? null;
  const names = { r: failure.rank, n: failure.node ?? 0, time: step === null ? time : t('{time}, step {step}', { time, step: count(step) }) };
  if (job.reason === 'node_lost') {
    return t('Node {n} was lost at {time}.', names);
  }
  if (failure.exit_code === null && failure.signal === null) {
    return t('Rank {r} on node {n} did not answer the others; seen at {time}.', names);
  }
  if (failure.signal !== null) {
    return t('Rank {r} on node {n} failed first: signal {s} at {time}.', { ...names, s: failure.signal });
  }
  return t('Rank {r} on node {n} failed first: exit code {c} at {time}.', { ...names, c: failure.exit_code ?? '–' });
}

function why(job: Job, t: T): string {
  if (job.reason === 'oom') {
    return t('It ran out of memory, so it was not retried.');
  }
  if (job.reason === 'deadline' || job.reason === 'budget') {
    return t('It reached its limit and was stopped.');
  }
  if (job.reason === 'lost' || job.reason === 'start_failed') {
    return t('A fault of the machine, not of your code. Not charged.');
  }
  if (job.reason === 'node_lost' || job.reason === 'interrupted') {
    return t('An interruption, not a fault of your code. It had no tries left for that.');
  }
  if (job.reason === 'signal' || job.reason === 'no_answer') {
    return t('It had no restarts left.');
  }
  return t('A fault in the code, so it was not retried.');
}

export function Finished({ job, view, choose }: PhaseProps): React.ReactElement {
  const { words } = useGearshift();
  const cost = usePlannedCost(job);
  const progress = progressOf(job);
  const figures = lastFigures(job, view).slice(0, 2);
  const result = [
    progress && words.t('Step {step}', { step: count(progress.step) }).toLowerCase(),
    ...figures.map(([name, value]) => `${name} ${metric(value)}`)
  ].filter(Boolean);
  return (
    <>
      <div className="charts">
        <div>{figures[0] && <Chart name={figures[0][0]} points={view.points} steps={progress?.steps ?? null} tone={1} />}</div>
        <dl className="gs-dl" style={{ alignContent: 'start' }}>
          {result.length > 0 && (
            <>
              <dt>{words.t('Result')}</dt>
              <dd className="gs-num">{result.join(', ')}</dd>
            </>
          )}
          <dt>{words.t('Cost')}</dt>
          <dd className="gs-num">{cost}</dd>
          {job.checkpoint_step !== null && (
            <>
              <dt>{words.t('Checkpoint')}</dt>
              <dd className="gs-num">{words.t('step {step}', { step: count(job.checkpoint_step) })}</dd>
            </>
          )}
          <dt>{words.t('In the kernel')}</dt>
          <dd className="gs-mono">%gearshift result {job.id}</dd>
          <dt>{words.t('Ran on')}</dt>
          <dd>
            <Image id={job.spec.image} />
          </dd>
        </dl>
      </div>
      <Recovered job={job} />
      {job.ranks.length > 0 && <Ranks ranks={job.ranks} chosen={view.rank} choose={choose} />}
      <Log job={job} rank={view.rank} text={view.log} failed={false} live={false} />
      <Again job={job} />
    </>
  );
}
