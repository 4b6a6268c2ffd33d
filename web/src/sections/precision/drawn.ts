/** The dot product that the address means: operands rounded to the unit's format, and what the unit makes of them. */

import {
  bitLength,
  dot,
  encode,
  formatOf,
  unitOf,
  valueOf,
  type Sum,
  type Unit,
  type UnitName,
} from '../../count/fused';
import { Random } from '../../emulate/schedule';
import { store } from '../../state/store';
import here from './section';

export type State = ReturnType<typeof store.values<typeof here.params, never>>;

export interface Traced {
  readonly unit: Unit;
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly sums: readonly Sum[];
  readonly result: number;
  /** The sum of the exact products. */
  readonly exact: number;
}

/** What was typed with nothing but numbers in it; a comma is a decimal mark where the language has it so. */
export function plain(typed: string, language: 'en' | 'it'): string {
  const marked = language === 'it' ? typed.replace(/(\d),(?=\d)/g, '$1.') : typed;
  return marked
    .split(/[^-+0-9.a-z]+/i)
    .filter((part) => /^[-+0-9.eE]+$/.test(part) && Number.isFinite(Number(part)))
    .join(' ');
}

/** The numbers of a text; whatever is none is left out. */
export function numbers(text: string): number[] {
  return text.split(/[ ;]+/).filter(Boolean).map(Number).filter(Number.isFinite).slice(0, 64);
}

/** Codes of operands: the reader's own, or drawn ones. */
export function operands(state: State): readonly [number[], number[]] {
  const { format } = unitOf(state.unit as UnitName);
  const own = [numbers(state.xa), numbers(state.xb)] as const;
  const length = Math.max(own[0].length, own[1].length) || state.length;
  const random = new Random(state.seed);
  const one = (spread: number) => (1 + random.below(256) / 256) * 2 ** (random.below(2 * spread + 1) - spread);
  const sign = () => (random.below(2) === 0 ? 1 : -1);
  const spread = state.sizes === 'alike' ? 0 : 6;
  const drawn = Array.from({ length }, () => [one(spread) * sign(), one(spread) * sign()] as const);
  const pairs = drawn.map(([x, y], k): readonly [number, number] => {
    // cancelling: each second product takes the one before away again, but for its last bits
    if (state.sizes !== 'cancel' || k % 2 === 0) return [x, y];
    const [px, py] = drawn[k - 1]!;
    return [-px, py * (1 + 2 ** -formatOf(format).mantissa_bits)];
  });
  return [0, 1].map((side) =>
    pairs.map((pair, k) => encode(own[side]!.length > 0 ? (own[side]![k] ?? 0) : pair[side as 0], format)),
  ) as unknown as readonly [number[], number[]];
}

/** Those operands on a unit. */
export function traced(name: UnitName, a: readonly number[], b: readonly number[]): Traced {
  const unit = unitOf(name);
  const sums: Sum[] = [];
  const code = dot(unit, a, b, 0, (sum) => sums.push(sum));
  return { unit, a, b, sums, result: valueOf(code, unit.accumulate), exact: exactly(unit.format, a, b) };
}

/** The sum of exact products in whole numbers, then as a double. */
function exactly(format: string, a: readonly number[], b: readonly number[]): number {
  let total = 0n;
  let special = 0;
  a.forEach((code, k) => {
    const product = valueOf(code, format) * valueOf(b[k]!, format);
    if (!Number.isFinite(product)) special += product;
    else total += fixed(product);
  });
  return special !== 0 ? special : double(total);
}

/** The double nearest to so many units of 2^-1074: 64 bits, the last of them set where others follow, round as all do. */
function double(total: bigint): number {
  const over = Math.max(0, bitLength(total) - 64);
  const size = total < 0n ? -total : total;
  const top = size >> BigInt(over);
  const sticky = size !== top << BigInt(over) ? 1n : 0n;
  return (total < 0n ? -1 : 1) * Number(top | sticky) * 2 ** (over - 1074);
}

/** A double in units of 2^-1074. */
function fixed(value: number): bigint {
  if (value === 0) return 0n;
  const exponent = Math.max(-1022, Math.floor(Math.log2(Math.abs(value))));
  const scale = 52 - exponent;
  const half = Math.floor(scale / 2);
  return BigInt(Math.round(value * 2 ** half * 2 ** (scale - half))) << BigInt(1074 - scale);
}
