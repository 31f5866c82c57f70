/** The ends of a wait that are offered: full hours from now on, closer ones first, and the last that is allowed. */

const HOURS = [1, 2, 4, 8, 12, 24, 48];
const HOUR_MS = 3_600_000;

export function hoursUntil(now: Date, last: Date): string[] {
  const full = new Date(now);
  full.setMinutes(0, 0, 0);
  const offered = HOURS.map(hours => full.getTime() + (hours + 1) * HOUR_MS).filter(at => at < last.getTime());
  return [...offered, last.getTime()].map(at => new Date(at).toISOString());
}
