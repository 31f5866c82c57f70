/** A row of tabs: one stop, arrows move and choose. */

import * as React from 'react';

export function Tabs<T extends string>(props: {
  label: string;
  tabs: readonly (readonly [T, string])[];
  chosen: T;
  choose: (tab: T) => void;
  panel: string;
}): React.ReactElement {
  const { tabs, chosen, choose } = props;
  const keys = (event: React.KeyboardEvent): void => {
    const at = tabs.findIndex(([id]) => id === chosen);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && tabs[(at + step + tabs.length) % tabs.length];
    if (next) {
      event.preventDefault();
      choose(next[0]);
      event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next[0]}"]`)?.focus();
    }
  };
  return (
    <div className="gs-seg" role="tablist" tabIndex={-1} aria-label={props.label} onKeyDown={keys}>
      {tabs.map(([id, name]) => (
        <button
          type="button"
          key={id}
          role="tab"
          data-tab={id}
          aria-selected={id === chosen}
          aria-controls={props.panel}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => choose(id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
