/**
 * Whether a result is the product, against sums in float64.
 *
 * An element may lie gamma_k * sum |a||b| from the careful answer, gamma_k = k u / (1 - k u) with u = 2^-24: what k
 * roundings of float32 explain in any order (Higham, Accuracy and Stability, 3.1). A result that is float16 is rounded
 * once more. Whatever no kernel wrote is still the NaN that it was filled with.
 */

import type { Shape } from '../count/reads';
import { xorshift, type Operands } from './operands';

const U32 = 2 ** -24;
const U16 = 2 ** -11;
const SMALLEST16 = 2 ** -25;

/** Products up to which every element is reckoned; beyond, some rows are. */
export const ALL = 4e8;

export interface Careful {
  readonly shape: Shape;
  /** Rows that were reckoned, ascending. */
  readonly rows: readonly number[];
  /** Of those rows: the sums, and the sums of magnitudes. */
  readonly sums: Float64Array;
  readonly sizes: Float64Array;
}

export interface Verdict {
  readonly right: boolean;
  /** Elements compared, and how many of them are wrong. */
  readonly compared: number;
  readonly wrong: number;
  /** Of the whole result: elements that nothing wrote, or that became NaN, and infinite ones. */
  readonly unwritten: number;
  readonly infinite: number;
  /** The largest error, and the largest as a share of what is allowed. */
  readonly error: number;
  readonly share: number;
  /** The first wrong element. */
  readonly first: readonly [number, number] | null;
  readonly rows: number;
}

/** Rows to reckon: all, or the first, the last and others by chance. */
export function chosenRows({ m, n, k }: Shape, products = ALL): number[] {
  const most = Math.max(2, Math.floor(products / (n * k)));
  if (most >= m) return Array.from({ length: m }, (_, row) => row);
  const draw = xorshift(m);
  const rows = new Set([0, m - 1]);
  while (rows.size < most) rows.add(draw() % m);
  return [...rows].sort((one, other) => one - other);
}

/** Reckon the careful answer, a row and a stretch of k a step; yields the share done. */
export function* careful(shape: Shape, { a, b }: Operands, rows = chosenRows(shape)): Generator<number, Careful> {
  const { n, k } = shape;
  const sums = new Float64Array(rows.length * n);
  const sizes = new Float64Array(rows.length * n);
  const stretch = Math.max(1, Math.floor(1e6 / n));
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place]! * k;
    const at = place * n;
    for (let from = 0; from < k; from += stretch) {
      for (let i = from; i < Math.min(k, from + stretch); i++) {
        const left = a[row + i]!;
        const line = i * n;
        for (let column = 0; column < n; column++) {
          const product = left * b[line + column]!;
          sums[at + column]! += product;
          sizes[at + column]! += Math.abs(product);
        }
      }
      yield (place + Math.min(1, (from + stretch) / k)) / rows.length;
    }
  }
  return { shape, rows, sums, sizes };
}

/** Hold a result against the careful answer. */
export function check(found: ArrayLike<number>, { shape, rows, sums, sizes }: Careful, half = false): Verdict {
  const { m, n, k } = shape;
  const gamma = (k * U32) / (1 - k * U32);
  let [wrong, unwritten, infinite, error, share] = [0, 0, 0, 0, 0];
  let first: readonly [number, number] | null = null;
  for (let i = 0; i < m * n; i++) {
    const value = found[i]!;
    if (Number.isNaN(value)) unwritten++;
    else if (!Number.isFinite(value)) infinite++;
  }
  for (let place = 0; place < rows.length; place++) {
    for (let column = 0; column < n; column++) {
      const at = place * n + column;
      const value = found[rows[place]! * n + column]!;
      const off = Math.abs(value - sums[at]!);
      const sum = gamma * sizes[at]!;
      const allowed = half ? sum + U16 * (Math.abs(sums[at]!) + sum) + SMALLEST16 : sum;
      if (!(off <= allowed)) {
        wrong++;
        first ??= [rows[place]!, column];
      }
      if (off > error) error = off;
      if (allowed > 0 && off / allowed > share) share = off / allowed;
    }
  }
  const right = wrong === 0 && unwritten === 0;
  return { right, compared: rows.length * n, wrong, unwritten, infinite, error, share, first, rows: rows.length };
}
