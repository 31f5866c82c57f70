/** One variable of a plan: what becomes of it, and what can be chosen where it cannot be copied. */

import * as React from 'react';

import type { Verdict } from '../../api/answers.js';
import type { Words } from '../../i18n.js';
import type { IconName } from '../../icons.js';
import type { Row } from '../../models/variables.js';
import { useFormat, useGearshift, type Format } from '../context.js';
import { StateWord, type Tone } from '../parts.js';

interface RowProps {
  row: Row;
  several: boolean;
  /** Left behind although it could be copied. */
  out: boolean;
  /** Its cells run again after the switch. */
  again: boolean;
  toggle: () => void;
}

export function VariableRow(props: RowProps): React.ReactElement {
  const { words } = useGearshift();
  const format = useFormat();
  const { row, out, again, toggle } = props;
  const [open, setOpen] = React.useState(false);
  const kind = out && row.kind === 'copy' ? 'left_out' : row.kind;
  const look = verdictLook(words, kind);
  const lost = row.kind === 'cannot' || row.kind === 'rerun';
  const canRun = Boolean(row.cells?.length);
  return (
    <>
      <tr className={open ? 'on' : ''} onClick={lost ? () => setOpen(!open) : undefined}>
        <td style={{ width: 20 }} onClick={event => event.stopPropagation()}>
          <input
            type="checkbox"
            aria-label={lost ? words.t('Make {var} again by running its cells', { var: row.name }) : words.t('Take {var} along', { var: row.name })}
            checked={lost ? again : !out}
            disabled={lost && !canRun}
            onChange={toggle}
          />
        </td>
        <th scope="row">
          {lost ? (
            <button
              type="button"
              className="gs-link"
              aria-expanded={open}
              onClick={event => {
                event.stopPropagation();
                setOpen(!open);
              }}
            >
              <code>{row.name}</code>
            </button>
          ) : (
            <code>{row.name}</code>
          )}
        </th>
        <td className="sub gs-narrow-off">{row.type}</td>
        <td className="sub gs-narrow-off">{props.several ? row.path : row.where}</td>
        <td className="gs-r">{lost || row.bytes === null ? '–' : format.bytes(row.bytes)}</td>
        <td>
          <StateWord tone={look.tone} icon={look.icon}>
            {look.word}
          </StateWord>
        </td>
        <td className="sub">{lost ? cellsOf(words, format, row) : said(words, row.why, row.why_zh)}</td>
      </tr>
      {open && lost && (
        <tr className="gs-detail">
          <td />
          <td colSpan={6}>
            <Choices {...props} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Why it cannot be copied, and what becomes of it instead. */
function Choices({ row, again, toggle }: RowProps): React.ReactElement {
  const { words } = useGearshift();
  const why = said(words, row.why, row.why_zh);
  const caution = said(words, row.caution, row.caution_zh);
  const cells = cellNumbers(words, row.cells ?? []);
  const name = `gs-choice-${row.key}`;
  return (
    <div className="gs-choices">
      {why && <p>{why}</p>}
      {row.cells?.length ? (
        <div className="gs-stack" role="radiogroup" aria-label={words.t('What becomes of {var}', { var: row.name })}>
          <label className="gs-check">
            <input type="radio" name={name} checked={again} onChange={toggle} />
            <span>
              {words.t('Leave it out, then run {cells} again after the switch', { cells })}{' '}
              {row.suggested && <span className="gs-tag">{words.t('suggested')}</span>}
            </span>
          </label>
          <label className="gs-check">
            <input type="radio" name={name} checked={!again} onChange={toggle} />
            <span>{words.t('Leave it out; I will handle it')}</span>
          </label>
          {caution && <p className="gs-small gs-warn">{caution}</p>}
        </div>
      ) : (
        <p className="gs-small gs-muted">{words.t('No cell is known to make it again.')}</p>
      )}
    </div>
  );
}

/** `cells [4] and [5], about 2 s` where they are known, else the reason. */
function cellsOf(words: Words, format: Format, row: Row): string {
  const why = said(words, row.why, row.why_zh) ?? '';
  if (!row.cells?.length) {
    return why;
  }
  const cells = cellNumbers(words, row.cells);
  return typeof row.seconds === 'number'
    ? words.t('{cells}, about {t}: {why}', { cells, t: format.duration(row.seconds, true), why })
    : words.t('{cells}: {why}', { cells, why });
}

/** `cell [6]`, `cells [4], [5]`. */
export function cellNumbers({ n }: Words, cells: readonly number[]): string {
  const numbers = cells.map(cell => `[${cell}]`).join(', ');
  return n('cell {cells}', 'cells {cells}', cells.length, { cells: numbers });
}

export function said({ language }: Words, en: string | null | undefined, zh: string | null | undefined): string | null {
  return (language === 'zh' ? (zh ?? en) : en) ?? null;
}

function verdictLook({ t }: Words, kind: Verdict): { tone: Tone; icon: IconName; word: string } {
  const looks: Record<Verdict, { tone: Tone; icon: IconName; word: string }> = {
    copy: { tone: 'good', icon: 'copy', word: t('Copy') },
    rerun: { tone: 'info', icon: 'rerun', word: t('Re-run') },
    cannot: { tone: 'warn', icon: 'none', word: t('Cannot move') },
    left_out: { tone: 'idle', icon: 'ring', word: t('Left out') }
  };
  return looks[kind];
}
