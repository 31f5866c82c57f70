/** How money, sizes, times and counts are written, in both languages (ui.md 8). */

export type Language = 'en' | 'zh';

const NANO = 1_000_000_000n;
const MINUS = '−';

export interface MoneyStyle {
  symbol: string;
  places?: number;
  /** Write `+` before what is more than nothing. */
  signed?: boolean;
}

/** Nano-units to `¥1,846.20`; half is rounded to even, exactly. */
export function money(nano: number, { symbol, places = 2, signed = false }: MoneyStyle): string {
  const value = BigInt(Math.trunc(nano));
  const unit = NANO / 10n ** BigInt(places);
  const absolute = value < 0n ? -value : value;
  let rounded = absolute / unit;
  const twice = (absolute % unit) * 2n;
  if (twice > unit || (twice === unit && rounded % 2n === 1n)) {
    rounded += 1n;
  }
  const scale = 10n ** BigInt(places);
  const whole = (rounded / scale).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  const part = places ? '.' + (rounded % scale).toString().padStart(places, '0') : '';
  const sign = rounded === 0n ? '' : value < 0n ? MINUS : signed ? '+' : '';
  return `${sign}${symbol}${whole}${part}`;
}

/** What a person typed (`18.60`) in nano-units; null for what is no amount. */
export function nano(typed: string): number | null {
  const match = /^\s*(\d{1,9})(?:\.(\d{0,9}))?\s*$/.exec(typed);
  return match ? Number(BigInt(match[1] ?? '0') * NANO + BigInt((match[2] ?? '').padEnd(9, '0'))) : null;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

function unitOf(bytes: number): number {
  let unit = 0;
  while (unit < UNITS.length - 1 && Math.round(bytes) >= 1000 ** (unit + 1)) {
    unit += 1;
  }
  return unit;
}

function figure(value: number): string {
  const digits = value >= 100 ? 0 : 1;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: 0 });
}

/** `17.2 GB`, `323 MB`, `0 B`: decimal units. */
export function bytes(value: number): string {
  const unit = unitOf(value);
  return `${unit === 0 ? Math.round(value) : figure(value / 1000 ** unit)} ${UNITS[unit]}`;
}

/** `41 / 80 GB`: both in the unit of the whole; up to 9,999 GB stay GB, as a quota is written. */
export function bytesOf(used: number, whole: number): string {
  const unit = whole < 10_000 * 1000 ** 3 ? Math.min(unitOf(whole), 3) : unitOf(whole);
  return `${figure(used / 1000 ** unit)} / ${figure(whole / 1000 ** unit)} ${UNITS[unit]}`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

/** A metric as it is read at a glance: `1.284`, `41.2 k`, `1.62e-5`. */
export function metric(value: number): string {
  const absolute = Math.abs(value);
  if (absolute !== 0 && absolute < 0.001) {
    return value.toExponential(2);
  }
  if (absolute >= 10_000) {
    return `${(value / 1000).toLocaleString('en-US', { maximumFractionDigits: 1 })} k`;
  }
  return Number.isInteger(value) ? count(value) : Number(value.toPrecision(4)).toString();
}

/** `0.8 s`, `31 s`, `2 min 14 s`, `1 h 42 min`; `2 分 14 秒`. */
export function duration(seconds: number, language: Language, exact = false): string {
  const [h, min, s] = language === 'zh' ? [' 小时', ' 分', ' 秒'] : [' h', ' min', ' s'];
  if (seconds < 10 && exact) {
    return `${(Math.max(0, Math.round(seconds * 10)) / 10).toFixed(1)}${s}`;
  }
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) {
    return `${whole}${s}`;
  }
  if (whole < 3600) {
    const rest = whole % 60;
    return rest && whole < 600 ? `${Math.floor(whole / 60)}${min} ${rest}${s}` : `${Math.floor(whole / 60)}${min}`;
  }
  const minutes = Math.floor(whole / 60);
  if (minutes < 48 * 60) {
    const rest = minutes % 60;
    return rest ? `${Math.floor(minutes / 60)}${h} ${rest}${min}` : `${Math.floor(minutes / 60)}${h}`;
  }
  const days = Math.floor(minutes / 1440);
  return language === 'zh' ? `${days} 天` : `${days} days`;
}

/** A span as a clock, for the ledger: `47:00`, `1:42:06`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  const two = (n: number): string => n.toString().padStart(2, '0');
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Local time, 24 h: `14:39`; another day has its date before it: `16 Nov 18:40`, `11 月 16 日 18:40`. */
export function moment(at: Date, language: Language, now = new Date(), seconds = false): string {
  const two = (n: number): string => n.toString().padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? ':' + two(at.getSeconds()) : ''}`;
  if (at.toDateString() === now.toDateString()) {
    return time;
  }
  return `${day(at, language)} ${time}`;
}

export function day(at: Date, language: Language): string {
  if (language === 'zh') {
    return `${at.getMonth() + 1} 月 ${at.getDate()} 日`;
  }
  return `${at.getDate()} ${at.toLocaleString('en-US', { month: 'short' })}`;
}

/** `2nd`; `第 2 位`. */
export function place(n: number, language: Language): string {
  if (language === 'zh') {
    return `第 ${n} 位`;
  }
  const tens = n % 100;
  const suffix = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
  return `${n}${suffix}`;
}

/** Names from users are shown as text and cut at 64 characters. */
export function cut(name: string, limit = 64): string {
  const letters = Array.from(name);
  return letters.length > limit ? letters.slice(0, limit - 1).join('') + '…' : name;
}
