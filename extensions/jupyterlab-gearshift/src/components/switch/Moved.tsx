/** The table of a switch report: what was copied, made again, left out, lost; each loss with its way back and a button. */

import * as React from 'react';

import type { IconName } from '../../icons.js';
import { outcomeOf, type KernelReport, type MovedVariable, type Outcome } from '../../models/operations.js';
import { useFormat, useGearshift, useRun } from '../context.js';
import { Button, StateWord, type Tone } from '../parts.js';
import { Commands } from '../../tokens.js';
import { cellNumbers, said } from './VariableRow.js';

interface Told extends MovedVariable {
  path: string;
}

export function Moved({ reports, close }: { reports: KernelReport[]; close: () => void }): React.ReactElement | null {
  const { words } = useGearshift();
  const variables: Told[] = reports.flatMap(({ path, variables }) => variables.map(one => ({ ...one, path })));
  const of = (outcome: Outcome): Told[] => variables.filter(one => outcomeOf(one) === outcome);
  if (!variables.length) {
    return null;
  }
  const lines = (rows: Told[]): React.ReactElement => <Lines rows={rows} close={close} />;
  return (
    <div className="gs-card cut">
      <table className="gs-table">
        <thead>
          <tr>
            <th scope="col">{words.t('Result')}</th>
            <th scope="col" className="gs-r">
              {words.t('Variables')}
            </th>
            <th scope="col" className="gs-r">
              {words.t('Size')}
            </th>
            <th scope="col">{words.t('Detail')}</th>
          </tr>
        </thead>
        <tbody>
          <Result rows={of('copied')} tone="good" icon="ok" word={words.t('Copied')}>
            {() => words.t('checked one by one')}
          </Result>
          <Result rows={of('rebuilt')} tone="info" icon="rerun" word={words.t('Run again')}>
            {rows => <Rebuilt rows={rows} />}
          </Result>
          <Result rows={of('not_rebuilt')} tone="bad" icon="fail" word={words.t('Run again, failed')}>
            {lines}
          </Result>
          <Result rows={of('left_out')} tone="idle" icon="ring" word={words.t('Left out')}>
            {rows => <code>{rows.map(row => row.name).join(', ')}</code>}
          </Result>
          <Result rows={of('lost')} tone="warn" icon="none" word={words.t('Not moved')}>
            {lines}
          </Result>
        </tbody>
      </table>
    </div>
  );
}

function Result(props: {
  rows: Told[];
  tone: Tone;
  icon: IconName;
  word: string;
  children: (rows: Told[]) => React.ReactNode;
}): React.ReactElement | null {
  const format = useFormat();
  const { rows } = props;
  if (!rows.length) {
    return null;
  }
  const bytes = rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
  return (
    <tr>
      <th scope="row">
        <StateWord tone={props.tone} icon={props.icon}>
          {props.word}
        </StateWord>
      </th>
      <td className="gs-r">{rows.length}</td>
      <td className="gs-r">{bytes ? format.bytes(bytes) : '–'}</td>
      <td className="sub">{props.children(rows)}</td>
    </tr>
  );
}

function Rebuilt({ rows }: { rows: Told[] }): React.ReactElement {
  const { words } = useGearshift();
  const cells = [...new Set(rows.flatMap(row => row.cells))].sort((a, b) => a - b);
  return (
    <>
      <code>{rows.map(row => row.name).join(', ')}</code>: {cellNumbers(words, cells)}
    </>
  );
}

/** One line for the variables of a notebook that the same cells would make, with the button that runs those. */
function Lines({ rows, close }: { rows: Told[]; close: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const run = useRun();
  const groups = new Map<string, Told[]>();
  for (const row of rows) {
    const key = row.cells.length ? `${row.path} ${row.cells.join()}` : `${row.path} ${row.name}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return (
    <>
      {[...groups].map(([key, group]) => {
        const { path, cells, why, why_zh, way_back, way_back_zh } = group[0]!;
        const text = [said(words, why, why_zh), said(words, way_back, way_back_zh)].filter(Boolean).join('; ');
        const runCells = (): void => {
          close();
          run(Commands.runCells, { path, cells });
        };
        return (
          <div key={key} className="gs-row" style={{ gap: 8 }}>
            <span>
              <code>{group.map(row => row.name).join(', ')}</code> {text}
            </span>
            <span className="gs-spring" />
            {cells.length > 0 && path && (
              <Button size="small" icon="play" onClick={runCells}>
                {words.t('Run {cells}', { cells: cellNumbers(words, cells) })}
              </Button>
            )}
          </div>
        );
      })}
    </>
  );
}
