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

const STRETCH = 1 << 16;

/** Draw both, a stretch a step; yields the share done. */
export function* drawing({ m, n, k }: Shape, seed: number, half = false): Generator<number, Operands> {
  const next = xorshift(seed);
  const a = new Float32Array(m * k);
  const b = new Float32Array(k * n);
  let done = 0;
  for (const values of [a, b]) {
    for (let from = 0; from < values.length; from += STRETCH) {
      const end = Math.min(values.length, from + STRETCH);
      for (let i = from; i < end; i++) {
        values[i] = half ? ((next() >>> 8) % 2049) / 1024 - 1 : (next() >>> 8) / 2 ** 23 - 1;
      }
      done += end - from;
      yield done / (a.length + b.length);
    }
  }
  return { a, b };
}

/** The same at once. */
export function operands(shape: Shape, seed: number, half = false): Operands {
  const work = drawing(shape, seed, half);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
