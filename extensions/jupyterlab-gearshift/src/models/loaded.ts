/** A part of the page that is fetched: what it shows, since when it waits, and what went wrong. */

import type { ApiError } from '../api/errors.js';

export interface Loaded<T> {
  value: T | null;
  error: ApiError | null;
  /** When the first answer was asked for; null once one came. */
  waitingSince: number | null;
  /** When the value came. */
  at: number | null;
}

export const EMPTY: Loaded<never> = { value: null, error: null, waitingSince: null, at: null };

export function waiting<T>(held: Loaded<T>, now: number): Loaded<T> {
  return held.value !== null || held.waitingSince !== null ? held : { ...held, error: null, waitingSince: now };
}

export function arrived<T>(value: T, now: number): Loaded<T> {
  return { value, error: null, waitingSince: null, at: now };
}

/** An old value stays on screen with its age. */
export function refused<T>(held: Loaded<T>, error: ApiError): Loaded<T> {
  return { ...held, error, waitingSince: null };
}
