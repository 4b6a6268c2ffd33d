/** A and B from a seed, from -1 to 1; what float16 does not hold exactly is drawn for float32 alone. */

import type { Shape } from '../count/reads';

export interface Operands {
  readonly a: Float32Array<ArrayBuffer>;
  readonly b: Float32Array<ArrayBuffer>;
}

/** Marsaglia's xorshift of 32 bits; the seed is mixed first, since small seeds begin with small numbers. */
export function xorshift(seed: number): () => number {
  let state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ 0xc2b2ae35) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
}

export function operands({ m, n, k }: Shape, seed: number, half = false): Operands {
  const next = xorshift(seed);
  const drawn = (length: number) => {
    const values = new Float32Array(length);
    for (let i = 0; i < length; i++)
      values[i] = half ? ((next() >>> 8) % 2049) / 1024 - 1 : (next() >>> 8) / 2 ** 23 - 1;
    return values;
  };
  return { a: drawn(m * k), b: drawn(k * n) };
}
