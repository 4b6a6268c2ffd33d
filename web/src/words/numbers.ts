/** Numbers as the page's language writes them. Values are SI; prefixes are put on here alone. */

import { store } from '../state/store';
import type { Language } from '../state/shared';

const PREFIXES = [
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
  [1, ''],
  [1e-3, 'm'],
  [1e-6, 'µ'],
  [1e-9, 'n'],
  [1e-12, 'p'],
] as const;
const BINARY = [
  [2 ** 40, 'Ti'],
  [2 ** 30, 'Gi'],
  [2 ** 20, 'Mi'],
  [2 ** 10, 'Ki'],
] as const;

const language = () => store.page.lang;

/** Italian leaves four digits together by itself, so that columns would not look alike. */
const written = (how: Intl.NumberFormatOptions, of: Language): Intl.NumberFormat =>
  new Intl.NumberFormat(of, { ...how, useGrouping: 'always' } as unknown as Intl.NumberFormatOptions);

/** A whole number in full: 134,217,728 or 134.217.728. */
export function count(value: number, of: Language = language()): string {
  return written({ maximumFractionDigits: 6 }, of).format(value);
}

/** A number with so many significant digits and no prefix. */
export function digits(value: number, significant = 3, of: Language = language()): string {
  return written({ maximumSignificantDigits: significant }, of).format(value);
}

/** A value with an SI prefix and its unit: 1.94 TB/s. */
export function si(value: number, unit: string, significant = 3, of: Language = language()): string {
  if (value === 0 || !Number.isFinite(value)) return `${count(value, of)} ${unit}`;
  const size = Math.abs(value);
  if (unit === 's' && size >= 1) return `${digits(value, significant, of)} s`; // nobody counts kiloseconds
  const [scale, prefix] = PREFIXES.find(([s]) => size >= s * 0.9995) ?? [1e-12, 'p'];
  return `${digits(value / scale, significant, of)} ${prefix}${unit}`;
}

/** Two values as a range, the unit said once where it is the same: 204 to 208 ms. */
export function between(low: number, high: number, unit: string, to: string, of: Language = language()): string {
  const [first, last] = [si(low, unit, 3, of), si(high, unit, 3, of)];
  const [number, scaled] = first.split(' ');
  return `${last.endsWith(` ${scaled}`) ? number : first} ${to} ${last}`;
}

/** A power as it is written by hand: 10⁻⁶. */
export function power(base: number, exponent: number): string {
  return `${base}${[...String(exponent)].map((sign) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(sign)]).join('')}`;
}

/** Bytes of a memory in binary units, as data sheets mean them: 164 KiB. */
export function capacity(value: number, of: Language = language()): string {
  const [scale, prefix] = BINARY.find(([s]) => Math.abs(value) >= s) ?? [1, ''];
  return `${digits(value / scale, 4, of)} ${prefix}B`;
}

/** A share as a percentage: 51 %. */
export function percent(value: number, significant = 2, of: Language = language()): string {
  return new Intl.NumberFormat(of, { style: 'percent', maximumSignificantDigits: significant }).format(value);
}
