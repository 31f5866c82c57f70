/** What a job has cost, beside what its owner expected it to. */

import type { Job } from '../../api/records.js';
import { useFormat, useGearshift } from '../context.js';

export function plannedCost({ spec, price_per_hour_nano }: Job): number | null {
  return spec.expected_seconds === null ? null : Math.round((spec.expected_seconds / 3600) * price_per_hour_nano);
}

export function usePlannedCost(job: Job): string {
  const { words } = useGearshift();
  const format = useFormat();
  const [amount, planned] = [format.money(job.cost_nano), plannedCost(job)];
  return planned === null ? amount : words.t('{amount}, planned {planned}', { amount, planned: format.money(planned) });
}
