/** The menu of a row: what its `…`, the right button, the Menu key and Shift F10 open. */

import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { Menu } from '@lumino/widgets';
import type * as React from 'react';

export interface RowAction {
  command: string;
  args?: ReadonlyJSONObject;
}

export function openRowMenu(commands: CommandRegistry, actions: RowAction[], at: HTMLElement): void {
  const menu = new Menu({ commands });
  for (const { command, args = {} } of actions) {
    if (commands.isVisible(command, args)) {
      menu.addItem({ command, args });
    }
  }
  const { left, bottom } = at.getBoundingClientRect();
  const held = document.activeElement;
  const back = held instanceof HTMLElement && at.contains(held) ? held : at;
  menu.aboutToClose.connect(() => back.focus());
  menu.open(left, bottom);
}

/** For a row itself: right button, Menu key and Shift F10. */
export function rowMenuHandler(
  commands: CommandRegistry,
  actions: RowAction[]
): (event: React.MouseEvent<HTMLElement>) => void {
  return event => {
    event.preventDefault();
    event.stopPropagation();
    openRowMenu(commands, actions, event.currentTarget);
  };
}
