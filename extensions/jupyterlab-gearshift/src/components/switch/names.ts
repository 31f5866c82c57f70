/** What the two machines of an operation are called. */

import type { Operation } from '../../api/records.js';
import { cameFrom, machineOf } from '../../models/operations.js';
import { useStore } from '../context.js';
import { useMachineTitle } from '../panel/Machine.js';

export interface Names {
  to: string;
  from: string;
}

/** `planned` is what this page chose; another page reads it from the journal. */
export function useNames(op: Operation | null, planned?: { to: string; from: string } | null): Names {
  const title = useMachineTitle();
  const here = useStore(state => state.machine.value?.spec.machine ?? null);
  const operations = useStore(state => state.operations.value);
  if (!op) {
    return { to: title(planned?.to), from: title(planned?.from ?? here) };
  }
  const from = planned?.from ?? (op.state === 'running' && op.kind !== 'stop' ? null : cameFrom(op, operations ?? []));
  return { to: title(machineOf(op) ?? planned?.to), from: title(from ?? cameFrom(op, operations ?? []) ?? here) };
}
