/** Jobs in the main area: the person's own, newest first, and the one that is chosen as it lives. */

import * as React from 'react';

import type { Job } from '../../api/records.js';
import { Commands } from '../../tokens.js';
import { jobActions } from '../actions.js';
import { useFormat, useGearshift, useNow, usePart } from '../context.js';
import { CopyLine, Fetched, IconButton, Name, StateWord } from '../parts.js';
import { isLive, newestFirst } from '../panel/Jobs.js';
import { useMachineTitle } from '../panel/Machine.js';
import { JobWidget, costNow } from '../job/JobWidget.js';
import { useRoving } from '../roving.js';
import { openRowMenu, rowMenuHandler } from '../rowmenu.js';
import { jobLook } from '../words.js';
import { useChoice, type Choice } from './choice.js';

export function JobsView({ choice }: { choice: Choice }): React.ReactElement {
  const { store, words } = useGearshift();
  const jobs = usePart('jobs');
  React.useEffect(() => void store.load('jobs'), [store]);
  const [chosen, choose] = useChoice(choice);
  return (
    <div className="gs-main">
      <div className="top">
        <h1 className="gs-h1">{words.t('Jobs')}</h1>
      </div>
      <div className="scroll">
        <Fetched part={jobs} what={words.t('Loading jobs…')} retry={() => void store.load('jobs')}>
          {all => (all.length ? <JobTable jobs={newestFirst(all)} chosen={chosen} choose={choose} /> : <Empty />)}
        </Fetched>
        {chosen && (
          <div style={{ marginTop: 16 }}>
            <JobWidget key={chosen} id={chosen} inJobs />
          </div>
        )}
      </div>
    </div>
  );
}

function Empty(): React.ReactElement {
  const { words } = useGearshift();
  return (
    <div style={{ maxWidth: 320 }} className="gs-stack">
      <span className="gs-muted">{words.t('No jobs yet. Start one from a cell:')}</span>
      <CopyLine text="%%gearshift --nodes 2" />
    </div>
  );
}

function JobTable(props: { jobs: Job[]; chosen: string | null; choose: (id: string) => void }): React.ReactElement {
  const { words } = useGearshift();
  const ref = useRoving<HTMLTableSectionElement>();
  return (
    <div className="gs-card cut">
      <table className="gs-table" aria-label={words.t('Jobs')}>
        <thead>
          <tr>
            <th scope="col">{words.t('Job')}</th>
            <th scope="col">{words.t('State')}</th>
            <th scope="col">{words.t('On')}</th>
            <th scope="col">{words.t('Since')}</th>
            <th scope="col" className="gs-r">
              {words.t('Time')}
            </th>
            <th scope="col" className="gs-r">
              {words.t('Cost')}
            </th>
            <td />
          </tr>
        </thead>
        <tbody ref={ref}>
          {props.jobs.map(job => (
            <JobRow key={job.id} job={job} on={job.id === props.chosen} choose={() => props.choose(job.id)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function JobRow({ job, on, choose }: { job: Job; on: boolean; choose: () => void }): React.ReactElement {
  const { commands, words } = useGearshift();
  const format = useFormat();
  const title = useMachineTitle();
  const now = useNow(isLive(job) ? 1000 : 60_000);
  const { tone, icon, word } = jobLook(words, job);
  const actions = jobActions(job).filter(action => action.command !== Commands.jobs);
  const ran = job.started_at ? ((job.ended_at ? Date.parse(job.ended_at) : now) - Date.parse(job.started_at)) / 1000 : null;
  const open = (event: React.MouseEvent<HTMLButtonElement>): void => openRowMenu(commands, actions, event.currentTarget);
  return (
    <tr className={on ? 'on' : ''} onContextMenu={actions.length ? rowMenuHandler(commands, actions) : undefined}>
      <th scope="row">
        <button type="button" className="gs-link gs-medium" style={{ color: 'inherit' }} data-roving={job.spec.name} tabIndex={-1} aria-pressed={on} onClick={choose}>
          <Name>{job.spec.name}</Name>
        </button>
      </th>
      <td>
        <StateWord tone={tone} icon={icon}>
          {word}
        </StateWord>
      </td>
      <td className="sub">
        {job.spec.nodes} × {title(job.spec.machine)}
      </td>
      <td className="sub">{format.moment(job.created_at)}</td>
      <td className="gs-r">{ran === null ? '–' : format.duration(ran)}</td>
      <td className="gs-r">{format.money(costNow(job, now))}</td>
      <td className="gs-r">
        {actions.length > 0 && (
          <IconButton icon="more" label={words.t('More actions for {name}', { name: job.spec.name })} onClick={open} />
        )}
      </td>
    </tr>
  );
}
