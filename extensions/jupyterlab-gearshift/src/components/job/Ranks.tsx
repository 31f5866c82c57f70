/** The processes of a job, one square each; a press shows that rank's log. */

import * as React from 'react';

import type { RankStatus } from '../../api/records.js';
import { Icon, type IconName } from '../../icons.js';
import { useGearshift } from '../context.js';
import { useRoving } from '../roving.js';

const LOOKS: Record<RankStatus['state'], [string, IconName]> = {
  waiting: ['gs-idle', 'clock'],
  running: ['gs-info', 'play'],
  succeeded: ['gs-good', 'ok'],
  failed: ['gs-bad', 'fail'],
  stopped: ['gs-idle', 'stopped']
};

export function Ranks(props: { ranks: RankStatus[]; chosen: number; choose: (rank: number) => void }): React.ReactElement {
  const { words } = useGearshift();
  const ref = useRoving<HTMLDivElement>({ grid: true });
  const { ranks } = props;
  const word: Record<RankStatus['state'], string> = {
    waiting: words.t('waiting'),
    running: words.t('running'),
    succeeded: words.t('ended with code 0'),
    failed: words.t('failed'),
    stopped: words.t('stopped')
  };
  const nodes = [...new Set(ranks.map(rank => rank.node))].sort((a, b) => a - b);
  const running = ranks.filter(rank => rank.state === 'running').length;
  return (
    <div>
      <div className="gs-row" style={{ marginBottom: 6 }}>
        <span className="gs-strong">{words.t('Ranks')}</span>
        <span className="gs-muted gs-small">{words.t('{n} of {m} running', { n: running, m: ranks.length })}</span>
        <span className="gs-spring" />
        <span className="gs-muted gs-small gs-clip">
          {nodes.map(node => nodeWord(words.t, node, ranks.filter(rank => rank.node === node))).join(words.language === 'zh' ? '，' : ', ')}
        </span>
      </div>
      <div
        ref={ref}
        className="gs-ranks"
        role="radiogroup"
        tabIndex={-1}
        aria-label={words.t('Log of rank')}
      >
        {ranks.map(rank => {
          const [tone, icon] = LOOKS[rank.state];
          return (
            <button
              type="button"
              key={rank.rank}
              role="radio"
              className={tone}
              data-roving={String(rank.rank)}
              tabIndex={-1}
              aria-checked={rank.rank === props.chosen}
              aria-label={words.t('Rank {rank} on node {node}: {state}', { rank: rank.rank, node: rank.node, state: word[rank.state] })}
              onClick={() => props.choose(rank.rank)}
            >
              <Icon name={icon} size={12} />
              {rank.rank}
            </button>
          );
        })}
      </div>
    </div>
  );
}

function nodeWord(t: (text: string, values: Record<string, string | number>) => string, node: number, ranks: RankStatus[]): string {
  const numbers = ranks.map(rank => rank.rank);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return low === high
    ? t('node {node}: rank {rank}', { node, rank: low })
    : t('node {node}: ranks {low}–{high}', { node, low, high });
}
