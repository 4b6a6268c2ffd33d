/** A fused sum as a matrix unit makes it, to the bit: `gemmlab.numerics.reference` for aligned and exact sums. */

import tables from '../data/units.json';

export const UNITS = tables.units;
export const FORMATS = tables.formats;
export type UnitName = keyof typeof UNITS;
export type FormatName = keyof typeof FORMATS;
type Rounding = 'rz' | 'rne';

export interface Unit {
  readonly format: string;
  readonly about: string;
  readonly accumulate: string;
  readonly sum: string;
  readonly terms: number;
  readonly k: number;
  readonly align_bits: number;
  readonly cut: string;
  readonly width: number;
  readonly rounding: string;
  readonly zero_exponent: number | null;
  readonly nan_code: number;
  readonly negative_zero: string;
  readonly source: string;
  readonly silicon: string;
}

export interface Format {
  readonly bits: number;
  readonly exponent_bits: number;
  readonly mantissa_bits: number;
  readonly bias: number;
  readonly infinity: boolean;
  readonly nan: string;
  readonly nan_magnitude: number;
  readonly max_magnitude: number;
  readonly min_exponent: number;
}

export const unitOf = (name: UnitName): Unit => UNITS[name];
export const formatOf = (name: string): Format => FORMATS[name as FormatName];

/** A code as a unit reads it: +-significand * 2^(exponent - fraction). */
interface Read {
  readonly kind: 'finite' | 'inf' | 'nan';
  readonly negative: boolean;
  readonly significand: bigint;
  readonly exponent: number;
  readonly fraction: number;
}

/** One summand: value * 2^(exponent - fraction); a null exponent does not count when aligning. */
export interface Term {
  readonly value: bigint;
  readonly exponent: number | null;
  readonly fraction: number;
  /** The k of its product, from the dot product's start; `c` is what was there before. */
  readonly where: number | 'c';
}

/** One fused sum, for whoever watches. */
export interface Sum {
  readonly terms: readonly Term[];
  /** The exponent that all were aligned to. */
  readonly largest: number;
  /** What stayed of each term, in units of 2^scale. */
  readonly kept: readonly bigint[];
  readonly total: bigint;
  readonly scale: number;
  /** Code after the rounding. */
  readonly result: number;
  /** A NaN or an infinity among the terms gave it instead. */
  readonly special: boolean;
}

const NOTHING: Read = { kind: 'finite', negative: false, significand: 0n, exponent: 0, fraction: 0 };

function read(code: number, form: Format): Read {
  const { exponent_bits, mantissa_bits, max_magnitude } = form;
  const top = 2 ** (exponent_bits + mantissa_bits);
  const negative = code >= top;
  const magnitude = negative ? code - top : code;
  const other = { negative, significand: 0n, exponent: 0, fraction: 0 };
  if (magnitude > max_magnitude + Number(form.infinity)) return { kind: 'nan', ...other };
  if (magnitude > max_magnitude) return { kind: 'inf', ...other };
  const stored = Math.floor(magnitude / 2 ** mantissa_bits);
  const fraction = BigInt(magnitude % 2 ** mantissa_bits);
  if (stored === 0)
    return { kind: 'finite', negative, significand: fraction, exponent: form.min_exponent, fraction: mantissa_bits };
  const significand = fraction | (1n << BigInt(mantissa_bits));
  return { kind: 'finite', negative, significand, exponent: stored - form.bias, fraction: mantissa_bits };
}

const signed = ({ negative, significand }: Read): bigint => (negative ? -significand : significand);
const size = (value: bigint): bigint => (value < 0n ? -value : value);
export const bitLength = (value: bigint): number => (value === 0n ? 0 : size(value).toString(2).length);

/** value * 2^left as a whole number; what falls below the point is cut, or rounded to nearest, ties to even. */
function shifted(value: bigint, left: number, rounding: Rounding): bigint {
  if (left >= 0) return value << BigInt(left);
  const right = BigInt(-left);
  let whole = size(value) >> right;
  const rest = size(value) - (whole << right);
  const half = 1n << (right - 1n);
  if (rounding === 'rne' && (rest > half || (rest === half && (whole & 1n) === 1n))) whole += 1n;
  return value < 0n ? -whole : whole;
}

/** The code of value * 2^scale, rounded once to so many fraction bits. */
function pack(value: bigint, scale: number, form: Format, width: number, rounding: Rounding): number {
  if (value === 0n) return 0;
  const top = Math.max(bitLength(value) - 1 + scale, form.min_exponent);
  const whole = size(shifted(value, scale - (top - width), rounding));
  const sign = value < 0n ? 2 ** (form.bits - 1) : 0;
  const magnitude =
    (top - form.min_exponent) * 2 ** form.mantissa_bits + Number(whole) * 2 ** (form.mantissa_bits - width);
  return sign + Math.min(magnitude, form.max_magnitude + 1);
}

/** The code of sum_k a[k] * b[k] + c as the unit computes it: a chain of instructions, C in the accumulator. */
export function dot(
  unit: Unit,
  a: readonly number[],
  b: readonly number[],
  c: number,
  watch: (sum: Sum) => void = () => undefined,
): number {
  const form = formatOf(unit.format);
  let running = c;
  for (let start = 0; start < a.length; start += unit.k) {
    for (let group = start; group < start + unit.k; group += unit.terms) {
      const pairs = Array.from({ length: unit.terms }, (_, place) => {
        const k = group + place;
        const here = k < Math.min(a.length, start + unit.k);
        return here ? ([read(a[k]!, form), read(b[k]!, form)] as const) : ([NOTHING, NOTHING] as const);
      });
      running = fused(unit, group, pairs, running, watch);
    }
  }
  return running;
}

type Factors = readonly (readonly [Read, Read])[];

function fused(unit: Unit, first: number, pairs: Factors, c: number, watch: (sum: Sum) => void): number {
  const form = formatOf(unit.accumulate);
  const addend = read(c, form);
  const given = special(unit, form, pairs, addend);
  if (given !== null) {
    watch({ terms: [], largest: 0, kept: [], total: 0n, scale: 0, result: given, special: true });
    return given;
  }
  const terms: Term[] = pairs.map(([x, y], place) => {
    const value = signed(x) * signed(y);
    const exponent = value === 0n ? unit.zero_exponent : x.exponent + y.exponent;
    return { value, exponent, fraction: x.fraction + y.fraction, where: first + place };
  });
  const zero = addend.significand === 0n;
  terms.push({
    value: signed(addend),
    exponent: zero ? unit.zero_exponent : addend.exponent,
    fraction: addend.fraction,
    where: 'c',
  });
  const counted = terms.flatMap(({ exponent }) => (exponent === null ? [] : [exponent]));
  const largest = counted.length === 0 ? 0 : Math.max(...counted);
  const low = (term: Term) => (term.exponent ?? 0) - term.fraction;
  const lows = terms.filter(({ value }) => value !== 0n).map(low);
  const scale = unit.sum === 'exact' ? (lows.length === 0 ? 0 : Math.min(...lows)) : largest - unit.align_bits;
  const kept = terms.map((term) =>
    term.value === 0n ? 0n : shifted(term.value, low(term) - scale, unit.cut as Rounding),
  );
  const total = kept.reduce((sum, each) => sum + each, 0n);
  let result = pack(total, scale, form, unit.width, unit.rounding as Rounding);
  const negativeZero = 2 ** (form.bits - 1);
  if (total === 0n) result = onlyNegativeZeros(unit, pairs, addend) ? negativeZero : 0;
  else if (unit.negative_zero === 'positive' && result === negativeZero) result = 0;
  watch({ terms, largest, kept, total, scale, result, special: false });
  return result;
}

function onlyNegativeZeros(unit: Unit, pairs: Factors, c: Read): boolean {
  const zeros = c.significand === 0n && pairs.every(([x, y]) => x.significand === 0n || y.significand === 0n);
  return unit.negative_zero === 'ieee' && zeros && c.negative && pairs.every(([x, y]) => x.negative !== y.negative);
}

/** The code of a NaN or infinite result, or null. */
function special(unit: Unit, form: Format, pairs: Factors, c: Read): number | null {
  const infinities = new Set<boolean>();
  for (const [x, y] of pairs) if (x.kind === 'nan' || y.kind === 'nan') return unit.nan_code;
  for (const [x, y] of pairs) {
    if (x.kind !== 'inf' && y.kind !== 'inf') continue;
    if ([x, y].some(({ kind, significand }) => kind === 'finite' && significand === 0n)) return unit.nan_code;
    infinities.add(x.negative !== y.negative);
  }
  if (c.kind === 'nan') return unit.nan_code;
  if (c.kind === 'inf') infinities.add(c.negative);
  if (infinities.size === 2) return unit.nan_code;
  if (infinities.size === 0) return null;
  return form.max_magnitude + 1 + (infinities.has(true) ? 2 ** (form.bits - 1) : 0);
}

/** The value of a code. */
export function valueOf(code: number, format: string): number {
  const found = read(code, formatOf(format));
  if (found.kind === 'nan') return NaN;
  const sign = found.negative ? -1 : 1;
  if (found.kind === 'inf') return sign * Infinity;
  return sign * Number(found.significand) * 2 ** (found.exponent - found.fraction);
}

/** The code of the nearest value, ties to even; past the range the largest finite one. */
export function encode(value: number, format: string): number {
  const form = formatOf(format);
  const sign = value < 0 || Object.is(value, -0) ? 2 ** (form.bits - 1) : 0;
  if (Number.isNaN(value)) return form.nan_magnitude;
  if (value === 0) return sign;
  const limit = Math.min(Math.abs(value), valueOf(form.max_magnitude, format));
  const exponent = Math.floor(Math.log2(limit));
  const scale = exponent - 60;
  // a double has 53 bits: twice the power keeps it whole where 2^-scale alone leaves the range
  const whole = BigInt(limit * 2 ** Math.floor(-scale / 2) * 2 ** Math.ceil(-scale / 2));
  return sign + Math.min(form.max_magnitude, pack(whole, scale, form, form.mantissa_bits, 'rne'));
}
