/** A list is one stop of the Tab key; arrows, Home, End and typing move inside it. */

import * as React from 'react';

const TYPING_MS = 700;

export interface RovingOptions {
  /** A grid moves by all four arrows. */
  grid?: boolean;
  /** Radios are chosen as they are reached. */
  choose?: boolean;
}

/** Give the list this ref, and each item `data-roving` with its name and `tabIndex={-1}`. */
export function useRoving<E extends HTMLElement>({ grid = false, choose = false }: RovingOptions = {}): React.RefObject<E> {
  const ref = React.useRef<E>(null);

  // Exactly one item is the stop; it stays the same one when the list is filled anew.
  React.useEffect(() => {
    const items = itemsOf(ref.current);
    if (items[0] && !items.some(item => item.tabIndex === 0)) {
      items[0].tabIndex = 0;
    }
  });

  React.useEffect(() => {
    const list = ref.current;
    const typed = { text: '', at: 0 };
    const focus = (event: FocusEvent): void => {
      const item = (event.target as HTMLElement).closest<HTMLElement>('[data-roving]');
      if (item) {
        itemsOf(list).forEach(other => (other.tabIndex = other === item ? 0 : -1));
      }
    };
    const key = (event: KeyboardEvent): void => {
      const items = itemsOf(list);
      const here = items.indexOf(document.activeElement as HTMLElement);
      if (here < 0 || event.ctrlKey || event.metaKey || event.altKey) {
        return;
      }
      const columns = grid ? columnsOf(items) : 1;
      const next = items[moved(event.key, here, items.length, columns) ?? search(event.key, here, items, typed) ?? -1];
      if (next) {
        event.preventDefault();
        event.stopPropagation();
        next.focus();
        if (choose) {
          next.click();
        }
      }
    };
    list?.addEventListener('focusin', focus);
    list?.addEventListener('keydown', key);
    return () => {
      list?.removeEventListener('focusin', focus);
      list?.removeEventListener('keydown', key);
    };
  }, [grid, choose]);

  return ref;
}

function itemsOf(list: HTMLElement | null): HTMLElement[] {
  return list ? Array.from(list.querySelectorAll<HTMLElement>('[data-roving]')) : [];
}

function columnsOf(items: HTMLElement[]): number {
  const top = items[0]?.offsetTop;
  return Math.max(1, items.filter(item => item.offsetTop === top).length);
}

function moved(key: string, here: number, count: number, columns: number): number | null {
  const steps: Record<string, number> = { ArrowDown: columns, ArrowUp: -columns };
  if (columns > 1) {
    Object.assign(steps, { ArrowRight: 1, ArrowLeft: -1 });
  }
  if (key === 'Home' || key === 'End') {
    return key === 'Home' ? 0 : count - 1;
  }
  const step = steps[key];
  return step === undefined ? null : Math.max(0, Math.min(count - 1, here + step));
}

function search(key: string, here: number, items: HTMLElement[], typed: { text: string; at: number }): number | null {
  if (key.length !== 1 || key === ' ') {
    return null;
  }
  const now = Date.now();
  typed.text = now - typed.at < TYPING_MS ? typed.text + key.toLowerCase() : key.toLowerCase();
  typed.at = now;
  const from = typed.text.length === 1 ? here + 1 : here;
  const order = [...items.keys()].map(i => (from + i) % items.length);
  return order.find(i => items[i]?.dataset['roving']?.toLowerCase().startsWith(typed.text)) ?? null;
}
