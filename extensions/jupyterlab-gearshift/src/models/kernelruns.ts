/** Tells that a kernel runs a cell, or has ended one. Questions that we ask of a kernel ourselves are silent and do not
 * count: only what has an input is a run. */

import { Signal, type ISignal } from '@lumino/signaling';

/** As much of a kernel's message as is read. */
export interface Heard {
  header: { msg_type: string };
  parent_header: object;
  content: object;
}

interface Speaker {
  iopubMessage: ISignal<unknown, Heard>;
}

export class KernelRuns {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Listen to the kernel of a notebook or console. */
  watch(speaker: Speaker): void {
    const running = new Set<string>();
    speaker.iopubMessage.connect((_, message) => {
      const cell = (message.parent_header as { msg_id?: string }).msg_id ?? '';
      if (message.header.msg_type === 'execute_input') {
        running.add(cell);
        this._changed.emit();
      } else if (message.header.msg_type === 'status') {
        const { execution_state } = message.content as { execution_state?: string };
        if (execution_state === 'idle' && running.delete(cell)) {
          this._changed.emit();
        }
      }
    });
  }

  private readonly _changed = new Signal<this, void>(this);
}
