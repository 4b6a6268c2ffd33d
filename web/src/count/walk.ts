/** The same counts without a formula: every invocation's loop is walked and each load that it makes is counted. */

import type { BenchKernel, Shape } from './reads';

export interface Loads {
  readonly a: number;
  readonly b: number;
}

/** Loop steps up to which a walk takes about a second. */
export const WALKABLE = 2 ** 30;

/** Steps that a walk takes. */
export function steps(kernel: BenchKernel, { m, n, k }: Shape, side: number): number {
  const up = (length: number) => Math.ceil(length / side) * side;
  return kernel === 'naive' ? up(m) * up(n) * k : up(m) * up(n) * Math.ceil(k / side);
}

/** Walk all workgroups, a row of them at a time; yields after each with the loads so far. */
export function* walk(kernel: BenchKernel, shape: Shape, side: number): Generator<Loads, Loads> {
  let a = 0;
  let b = 0;
  for (let top = 0; top < shape.m; top += side) {
    for (let left = 0; left < shape.n; left += side) {
      const found = kernel === 'naive' ? naive(shape, side, top, left) : tiled(shape, side, top, left);
      a += found.a;
      b += found.b;
    }
    yield { a, b };
  }
  return { a, b };
}

/** The loads of one workgroup of naive.wgsl. */
function naive({ m, n, k }: Shape, side: number, top: number, left: number): Loads {
  let a = 0;
  let b = 0;
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      if (top + y >= m || left + x >= n) continue;
      for (let i = 0; i < k; i++) {
        a++;
        b++;
      }
    }
  }
  return { a, b };
}

/** The loads of one workgroup of tiled.wgsl. */
function tiled({ m, n, k }: Shape, side: number, top: number, left: number): Loads {
  let a = 0;
  let b = 0;
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      for (let start = 0; start < k; start += side) {
        if (top + y < m && start + x < k) a++;
        if (start + y < k && left + x < n) b++;
      }
    }
  }
  return { a, b };
}
