/** What a view has chosen: set from outside by a command, and from inside by a press. */

import { Signal, type ISignal } from '@lumino/signaling';

import { useSignal } from '../context.js';

export class Choice {
  get value(): string | null {
    return this._value;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  set(value: string | null): void {
    if (value !== this._value) {
      this._value = value;
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private _value: string | null = null;
}

export function useChoice(choice: Choice): [string | null, (value: string | null) => void] {
  const value = useSignal(choice.changed, () => choice.value);
  return [value, next => choice.set(next)];
}
