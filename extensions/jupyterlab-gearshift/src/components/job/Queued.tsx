/** A job that waits: its place, what it needs and what is free, after what, when, what it will cost, and what would start now. */

import * as React from 'react';

import type { Job, QueuePlace, Shape } from '../../api/records.js';
import { place } from '../../models/format.js';
import { Commands } from '../../tokens.js';
import { useClosedOffline, useFormat, useGearshift, useNow, useRun, useStore } from '../context.js';
import { Button } from '../parts.js';
import { useMachineTitle } from '../panel/Machine.js';

export function Queued({ job }: { job: Job }): React.ReactElement {
  const { words } = useGearshift();
  const title = useMachineTitle();
  const { queue, spec } = job;
  const names = { n: queue?.needs ?? spec.nodes, chip: title(spec.machine), m: spec.nodes, free: queue?.free ?? 0 };
  return (
    <>
      <div className="queue">
        <div>
          <div className="gs-num place">{queue ? place(queue.position, words.language) : '–'}</div>
          {queue && <div className="gs-small gs-muted">{words.t('in line of {n}', { n: queue.of })}</div>}
        </div>
        <div className="gs-stack" style={{ gap: 4 }}>
          <div className="gs-medium">
            {spec.nodes > 1
              ? words.t('Needs {n} {chip} at once on {m} nodes; {free} are free now.', names)
              : words.t('Needs {n} {chip} at once; {free} are free now.', names)}
          </div>
          {queue && <div className="gs-muted">{<After queue={queue} />}</div>}
          <div className="gs-muted">{words.t('All {n} start together or none does. Waiting is free.', { n: names.n })}</div>
          <Cost job={job} />
        </div>
      </div>
      {queue && queue.shapes.length > 0 && <Shapes job={job.id} shapes={queue.shapes} />}
    </>
  );
}

/** After whom, and when; a quota of one's own comes first: no end of another's job helps with that. */
function After({ queue }: { queue: QueuePlace }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const me = useStore(state => state.me.value?.name);
  const now = useNow(15_000);
  const { quota } = queue;
  if (quota) {
    const unit = quota.what === 'chips' ? words.t('chips') : words.t('nodes');
    const names = { used: quota.used, limit: quota.limit, unit, team: quota.name };
    return quota.whose === 'team' ? (
      <>{words.t('The team {team} holds {used} of the {limit} {unit} that its jobs may have at once.', names)}</>
    ) : (
      <>{words.t('Your jobs hold {used} of the {limit} {unit} that they may have at once.', names)}</>
    );
  }
  const t = queue.starts_at ? format.duration(Math.max(0, (Date.parse(queue.starts_at) - now) / 1000)) : null;
  const owner = queue.after_owner && queue.after_owner !== me ? ` (${queue.after_owner})` : '';
  if (!queue.after) {
    return <>{t ? words.t('Starts in about {t}.', { t }) : words.t('When it starts is not known.')}</>;
  }
  const job = queue.after_name ? `${queue.after_name}${owner}` : words.t('another person’s job');
  return <>{t ? words.t('Starts after {job} ends, in about {t}.', { job, t }) : words.t('Starts after {job} ends; when that is, is not known.', { job })}</>;
}

function Cost({ job }: { job: Job }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const price = format.perHour(job.price_per_hour_nano);
  const { seconds, cost_nano } = job.queue ?? { seconds: null, cost_nano: null };
  const known = seconds !== null && cost_nano !== null;
  return (
    <div className="gs-muted">
      {known
        ? words.t('About {amount} once it runs ({t} at {price}).', { amount: format.money(cost_nano), t: format.duration(seconds), price })
        : words.t('{price} once it runs.', { price })}
    </div>
  );
}

function Shapes({ job, shapes }: { job: string; shapes: Shape[] }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <div>
      <div className="gs-muted" style={{ marginBottom: 6 }} id={`gs-shapes-${job}`}>
        {words.t('Would start now')}
      </div>
      <div className="gs-row" style={{ flexWrap: 'wrap', gap: 8 }} role="group" aria-labelledby={`gs-shapes-${job}`}>
        {shapes.map(shape => (
          <ShapeButton key={`${shape.nodes} ${shape.machine}`} job={job} shape={shape} />
        ))}
      </div>
    </div>
  );
}

function ShapeButton({ job, shape }: { job: string; shape: Shape }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const run = useRun();
  const closed = useClosedOffline();
  const machine = useMachineTitle()(shape.machine);
  const { seconds, cost_nano } = shape;
  const known = seconds !== null && cost_nano !== null;
  const cost = known
    ? words.t('about {t}, {amount}', { t: format.duration(seconds), amount: format.money(cost_nano) })
    : format.perHour(shape.price_per_hour_nano);
  return (
    <Button
      size="small"
      closed={closed}
      onClick={() => run(Commands.reshapeJob, { job, machine: shape.machine, nodes: shape.nodes })}
    >
      {`${shape.nodes} × ${machine} · ${cost}`}
    </Button>
  );
}
