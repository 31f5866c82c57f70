/** What becomes of every variable: tabs by verdict, a search, one row each. */

import * as React from 'react';

import type { Verdict } from '../../api/answers.js';
import type { Words } from '../../i18n.js';
import { Icon, type IconName } from '../../icons.js';
import { totalBytes, type Row } from '../../models/variables.js';
import { useFormat, useGearshift } from '../context.js';
import { StateWord, type Tone } from '../parts.js';
import { Tabs } from '../Tabs.js';

type Tab = 'all' | 'copy' | 'rerun' | 'cannot';

interface VariablesProps {
  rows: Row[];
  leaveOut: ReadonlySet<string>;
  setLeaveOut: (names: ReadonlySet<string>) => void;
}

export function Variables({ rows, leaveOut, setLeaveOut }: VariablesProps): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const [tab, setTab] = React.useState<Tab>('all');
  const [search, setSearch] = React.useState('');
  const of = (kind: Tab): Row[] => rows.filter(row => kind === 'all' || row.kind === kind);
  const copies = of('copy');
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
        <Table rows={shown} leaveOut={leaveOut} setLeaveOut={setLeaveOut} />
      </div>
    </>
  );
}

function Table({ rows, leaveOut, setLeaveOut }: VariablesProps): React.ReactElement {
  const { words } = useGearshift();
  const several = new Set(rows.map(row => row.kernel)).size > 1;
  const toggle = (row: Row): void => {
    const next = new Set(leaveOut);
    if (!next.delete(row.name)) {
      next.add(row.name);
    }
    setLeaveOut(next);
  };
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
          <VariableRow key={row.key} row={row} several={several} out={leaveOut.has(row.name)} toggle={() => toggle(row)} />
        ))}
      </tbody>
    </table>
  );
}

function VariableRow(props: { row: Row; several: boolean; out: boolean; toggle: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { row, out } = props;
  const kind = out && row.kind === 'copy' ? 'left_out' : row.kind;
  const look = verdictLook(words, kind);
  const why = (words.language === 'zh' && row.why_zh) || row.why || '';
  const fixed = row.kind === 'cannot' || row.kind === 'rerun';
  return (
    <tr>
      <td style={{ width: 20 }}>
        <input
          type="checkbox"
          aria-label={words.t('Take {var} along', { var: row.name })}
          checked={!out && row.kind !== 'cannot'}
          disabled={fixed}
          onChange={props.toggle}
        />
      </td>
      <th scope="row">
        <code>{row.name}</code>
      </th>
      <td className="sub gs-narrow-off">{row.type}</td>
      <td className="sub gs-narrow-off">{props.several ? row.path : row.where}</td>
      <td className="gs-r">{row.bytes === null ? '–' : format.bytes(row.bytes)}</td>
      <td>
        <StateWord tone={look.tone} icon={look.icon}>
          {look.word}
        </StateWord>
      </td>
      <td className="sub">{why}</td>
    </tr>
  );
}

export function verdictLook({ t }: Words, kind: Verdict): { tone: Tone; icon: IconName; word: string } {
  const looks: Record<Verdict, { tone: Tone; icon: IconName; word: string }> = {
    copy: { tone: 'good', icon: 'copy', word: t('Copy') },
    rerun: { tone: 'info', icon: 'rerun', word: t('Re-run') },
    cannot: { tone: 'warn', icon: 'none', word: t('Cannot move') },
    left_out: { tone: 'idle', icon: 'ring', word: t('Left out') }
  };
  return looks[kind];
}
