/** Kinds of parameters that an address may carry. Reading never throws: what is no value is null. */

export interface Param<T> {
  readonly initial: T;
  /** Whether an address says it even where it is `initial`: what holds at first may depend on the device. */
  readonly always?: boolean;
  /** What is allowed, short and in no language: `1..64`, `row | grouped`. */
  readonly allowed: string;
  /** The value that the text of an address means, or null. */
  read(text: string): T | null;
  /** The text that `read` turns into this value; for a value that is not allowed, of the nearest that is. */
  write(value: T): string;
}

export type Params = Readonly<Record<string, Param<any>>>;
export type Values<P extends Params> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never };

/** As JavaScript writes any number, too: up to 21 digits in front of the point, and zeros behind it before 17 more. */
const NUMBER = /^-?\d{1,21}(\.\d{1,23})?(e[+-]?\d{1,3})?$/;

function clamp(value: number, low: number, high: number, initial: number): number {
  return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : initial;
}

/** A whole number from `low` to `high`. */
export function int(low: number, high: number, initial: number): Param<number> {
  return {
    initial,
    allowed: `${low}..${high}`,
    read(text) {
      if (!/^-?\d{1,15}$/.test(text)) return null;
      const value = Number(text);
      return value >= low && value <= high ? value + 0 : null;
    },
    write: (value) => String(Math.round(clamp(value, low, high, initial))),
  };
}

const range = (low: number, high: number): string =>
  `${low}..${high >= 1e6 ? high.toExponential().replace('e+', 'e') : high}`;

/** Any number from `low` to `high`. */
export function real(low: number, high: number, initial: number): Param<number> {
  return {
    initial,
    allowed: range(low, high),
    read(text) {
      const value = NUMBER.test(text) ? Number(text) : NaN;
      return value >= low && value <= high ? value : null;
    },
    write: (value) => String(clamp(value, low, high, initial)).replace('e+', 'e'),
  };
}

/** One of a few words. */
export function choice<const T extends readonly string[]>(among: T, initial: T[number]): Param<T[number]> {
  return {
    initial,
    allowed: among.length > 12 ? `${among.slice(0, 12).join(' | ')} ...` : among.join(' | '),
    read: (text) => (among.includes(text) ? (text as T[number]) : null),
    write: (value) => (among.includes(value) ? value : initial),
  };
}

/** Yes or no, `1` or `0`. */
export function flag(initial: boolean): Param<boolean> {
  return {
    initial,
    allowed: '0 | 1',
    read: (text) => (text === '1' ? true : text === '0' ? false : null),
    write: (value) => (value ? '1' : '0'),
  };
}

/** Free text of so many characters at most, none of them a control character; `pattern` has to match all of it. */
export function text(longest: number, initial = '', pattern = /^[^\p{Cc}]*$/u): Param<string> {
  const fits = (value: string) => value.length <= longest && !/\p{Cc}/u.test(value) && pattern.test(value);
  return {
    initial,
    allowed: `${longest} characters`,
    read: (value) => (fits(value) ? value : null),
    write: (value) => (fits(value) ? value : initial),
  };
}

/** At most `longest` whole numbers, joined by `_`. */
export function ints(
  longest: number,
  low: number,
  high: number,
  initial: readonly number[] = [],
): Param<readonly number[]> {
  const one = int(low, high, low);
  return {
    initial,
    allowed: `${longest} of ${low}..${high}`,
    read(value) {
      if (value === '') return [];
      const parts = value.split('_');
      const found = parts.length > longest ? [null] : parts.map((part) => one.read(part));
      return found.includes(null) ? null : (found as number[]);
    },
    write: (value) => value.slice(0, longest).map(one.write).join('_'),
  };
}

/** A figure for each name, joined by `_`; an empty one is not known (null). */
export function figures<const T extends readonly string[]>(
  names: T,
  low: number,
  high: number,
): Param<Readonly<Record<T[number], number | null>>> {
  const one = real(low, high, low);
  type Found = Record<T[number], number | null>;
  return {
    initial: Object.fromEntries(names.map((name) => [name, null])) as Found,
    allowed: `${names.join('_')}, ${range(low, high)}`,
    read(value) {
      const parts = value.split('_');
      if (parts.length !== names.length) return null;
      const found = parts.map((part) => (part === '' ? null : (one.read(part) ?? NaN)));
      return found.some(Number.isNaN) ? null : (Object.fromEntries(names.map((n, i) => [n, found[i]!])) as Found);
    },
    write: (value) => names.map((n: T[number]) => (value[n] === null ? '' : one.write(value[n]))).join('_'),
  };
}
