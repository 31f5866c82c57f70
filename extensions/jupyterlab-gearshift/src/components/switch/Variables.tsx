/** What becomes of every variable: tabs by verdict, a search, one row each. */

import * as React from 'react';

import { Icon } from '../../icons.js';
import { isChosen, totalBytes, type Chosen, type Row } from '../../models/variables.js';
import { useFormat, useGearshift } from '../context.js';
import { Tabs } from '../Tabs.js';
import { VariableRow } from './VariableRow.js';

type Tab = 'all' | 'copy' | 'rerun' | 'cannot';

interface VariablesProps {
  rows: Row[];
  leaveOut: Chosen;
  rerun: Chosen;
  toggle: (row: Row) => void;
}

export function Variables({ rows, leaveOut, rerun, toggle }: VariablesProps): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const [tab, setTab] = React.useState<Tab>('all');
  const [search, setSearch] = React.useState('');
  const of = (kind: Tab): Row[] => rows.filter(row => kind === 'all' || row.kind === kind);
  const copies = of('copy').filter(row => !isChosen(leaveOut, row));
  const tabs: [Tab, string][] = [
    ['all', words.t('All {n}', { n: rows.length })],
    ['copy', words.t('Copy {n} · {size}', { n: copies.length, size: format.bytes(totalBytes(copies)) })],
    ...(of('rerun').length ? [['rerun', words.t('Re-run {n}', { n: of('rerun').length })] as [Tab, string]] : []),
    ...(of('cannot').length
      ? [['cannot', words.t('Cannot move {n}', { n: of('cannot').length })] as [Tab, string]]
      : [])
  ];
  const shown = of(tab).filter(row => row.name.toLowerCase().includes(search.toLowerCase()));
  if (!rows.length) {
    return <p className="gs-muted">{words.t('No kernel has a variable yet. Notebooks and files stay as they are.')}</p>;
  }
  return (
    <>
      <div className="gs-row wrap" style={{ marginBottom: 8 }}>
        <Tabs label={words.t('Verdict')} tabs={tabs} chosen={tab} choose={setTab} panel="gs-variables" />
        <span className="gs-spring" />
        <div className="gs-field" style={{ width: 170 }}>
          <Icon name="search" />
          <input
            type="search"
            placeholder={words.t('Find a variable')}
            aria-label={words.t('Find a variable')}
            value={search}
            onChange={event => setSearch(event.target.value)}
          />
        </div>
      </div>
      <div id="gs-variables" role="tabpanel" aria-label={words.t('Variables')} tabIndex={0} className="gs-card gs-scroller inset">
        <Table rows={shown} leaveOut={leaveOut} rerun={rerun} toggle={toggle} />
      </div>
    </>
  );
}

function Table({ rows, leaveOut, rerun, toggle }: VariablesProps): React.ReactElement {
  const { words } = useGearshift();
  const several = new Set(rows.map(row => row.kernel)).size > 1;
  return (
    <table className="gs-table dense">
      <thead>
        <tr>
          <td />
          <th scope="col">{words.t('Variable')}</th>
          <th scope="col" className="gs-narrow-off">
            {words.t('Type')}
          </th>
          <th scope="col" className="gs-narrow-off">
            {several ? words.t('Notebook') : words.t('Where')}
          </th>
          <th scope="col" className="gs-r">
            {words.t('Size')}
          </th>
          <th scope="col">{words.t('Verdict')}</th>
          <th scope="col">{words.t('Why and how')}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <VariableRow
            key={row.key}
            row={row}
            several={several}
            out={isChosen(leaveOut, row)}
            again={isChosen(rerun, row)}
            toggle={() => toggle(row)}
          />
        ))}
      </tbody>
    </table>
  );
}
