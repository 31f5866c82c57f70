/** The log of one rank, as the server kept it; Follow keeps the end in sight. */

import * as React from 'react';

import type { Client } from '../../api/client.js';
import type { Job } from '../../api/records.js';
import { useGearshift } from '../context.js';
import { Button } from '../parts.js';
import { Clipboard } from '@jupyterlab/apputils';

export function Log(props: { job: Job; rank: number; text: string; failed: boolean; live: boolean }): React.ReactElement {
  const { client, words } = useGearshift();
  const [follow, setFollow] = React.useState(true);
  const box = React.useRef<HTMLPreElement>(null);
  React.useEffect(() => {
    if (follow && box.current) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [follow, props.text]);
  const { rank } = props;
  const head = props.failed ? words.t('Last lines of rank {rank}', { rank }) : words.t('Log of rank {rank}', { rank });
  return (
    <div>
      <div className="gs-row" style={{ marginBottom: 6 }}>
        <span className="gs-strong">{head}</span>
        <span className="gs-spring" />
        {props.live && (
          <label className="gs-check gs-small gs-muted" style={{ gap: 5 }}>
            <input type="checkbox" checked={follow} onChange={event => setFollow(event.target.checked)} />
            {words.t('Follow')}
          </label>
        )}
        <Button size="small" icon="copy" onClick={() => Clipboard.copyToSystem(props.text)}>
          {words.t('Copy')}
        </Button>
        {props.job.ranks.length > 1 && (
          <Button size="small" icon="download" onClick={() => void allRanks(client, props.job)}>
            {words.t('All ranks')}
          </Button>
        )}
      </div>
      {/* A scrolling region is reached by the keyboard; a log is not live for screen readers. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre ref={box} className="gs-log inset" tabIndex={0} role="region" aria-label={head}>
        {props.text || <span className="t">{words.t('Nothing was written yet.')}</span>}
      </pre>
    </div>
  );
}

/** The logs of all ranks as one file, each under its heading. */
async function allRanks(client: Client, job: Job): Promise<void> {
  const parts: string[] = [];
  for (const { rank, node } of job.ranks) {
    parts.push(`==> node ${node} rank ${rank} <==\n`);
    for (let offset = 0; ; ) {
      const page = await client.jobLog(job.id, rank, offset);
      if (!page.text) {
        break;
      }
      parts.push(page.text);
      offset = page.offset;
    }
    parts.push('\n');
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type: 'text/plain' }));
  link.download = `${job.id}.log`;
  link.click();
  URL.revokeObjectURL(link.href);
}
