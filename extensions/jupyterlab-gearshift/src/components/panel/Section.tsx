/** A section of the panel: a region with a heading button that folds it. */

import * as React from 'react';

import { Icon } from '../../icons.js';
import { useRoving } from '../roving.js';

export function Section(props: {
  id: string;
  title: string;
  count?: number | null;
  open: boolean;
  toggle: () => void;
  action?: React.ReactNode;
  list?: boolean;
  children: React.ReactNode;
}): React.ReactElement {
  const { id, open, toggle } = props;
  const fold = (event: React.KeyboardEvent): void => {
    if ((event.key === 'ArrowLeft' && open) || (event.key === 'ArrowRight' && !open)) {
      event.preventDefault();
      toggle();
    }
  };
  return (
    <section className={`gs-sec ${open ? '' : 'shut'}`} aria-labelledby={`gs-head-${id}`}>
      <h3>
        <button
          type="button"
          id={`gs-head-${id}`}
          className="head inset"
          aria-expanded={open}
          aria-controls={`gs-body-${id}`}
          onClick={toggle}
          onKeyDown={fold}
        >
          <span className="caret">
            <Icon name="caret" />
          </span>
          <span className="gs-clip">{props.title}</span>
          {props.count !== null && props.count !== undefined && <span className="n gs-num">{props.count}</span>}
        </button>
        {props.action}
      </h3>
      <div id={`gs-body-${id}`} className={props.list ? 'gs-list' : ''} hidden={!open}>
        {open && props.children}
      </div>
    </section>
  );
}

/** The rows of a section: one stop of Tab, arrows inside. */
export function Rows({ label, children }: { label: string; children: React.ReactNode }): React.ReactElement {
  const ref = useRoving<HTMLUListElement>();
  return (
    <ul ref={ref} aria-label={label}>
      {children}
    </ul>
  );
}
