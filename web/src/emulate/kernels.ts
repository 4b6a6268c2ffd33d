/** Threads of the catalogue's kernels that the page plays, step by step; their text and lines are the package's. */

import texts from '../data/kernels.json';

export const KERNELS = ['naive', 'tiled_8', 'tiled'] as const;
export type KernelName = (typeof KERNELS)[number];
export type Kind = 'load' | 'store' | 'atomic' | 'barrier';

/** Of the traced block, what a thread did. */
export interface Event {
  readonly thread: number;
  readonly line: number;
  readonly kind: Kind;
  readonly array: string;
  readonly index: readonly number[];
  readonly value: number;
  readonly stops: boolean;
}

/** A thread is about to touch what others see, or has come to a barrier. */
export interface Pause {
  readonly kind: 'reach' | 'barrier';
  readonly at: number;
  readonly writes: boolean;
  readonly line: number;
}

/** What a block's threads share, and the launch around them. */
export interface Block {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly x: number;
  readonly y: number;
  readonly side: number;
  readonly a: readonly (readonly number[])[];
  readonly b: readonly (readonly number[])[];
  readonly c: Float64Array;
  readonly aTile: Float64Array;
  readonly bTile: Float64Array;
  readonly kept: readonly boolean[];
  tell(
    thread: number,
    line: number,
    kind: Kind,
    array: string,
    index: readonly number[],
    value: number,
    stops: boolean,
  ): void;
}

export interface Kernel {
  readonly name: KernelName;
  readonly side: number;
  readonly source: ReadonlyMap<number, string>;
  readonly barriers: readonly number[];
  run(block: Block, thread: number): Generator<Pause, void, void>;
}

function lineOf(source: ReadonlyMap<number, string>, text: string): number {
  for (const [number, line] of source) if (line.includes(text)) return number;
  throw new Error(`no line holds ${text}`);
}

const LAST = Number.MAX_SAFE_INTEGER;
const reach = (at: number, line: number, writes: boolean): Pause => ({ kind: 'reach', at, line, writes });

function naive(name: KernelName): Kernel {
  const { source, barriers, side } = textOf(name);
  const sum = lineOf(source, 'total +=');
  const out = lineOf(source, 'c[row, col] =');
  return {
    name,
    side,
    source,
    barriers,
    *run(block, thread) {
      const { m, n, k, a, b, c } = block;
      const col = block.x * side + (thread % side);
      const row = block.y * side + Math.floor(thread / side);
      if (row >= m || col >= n) return;
      let total = 0;
      for (let i = 0; i < k; i++) {
        const left = a[row]![i]!;
        const right = b[i]![col]!;
        block.tell(thread, sum, 'load', 'a', [row, i], left, false);
        block.tell(thread, sum, 'load', 'b', [i, col], right, false);
        total = Math.fround(total + Math.fround(left * right));
      }
      yield reach(LAST, out, true);
      c[row * n + col] = total;
      block.tell(thread, out, 'store', 'c', [row, col], total, true);
    },
  };
}

function tiled(name: KernelName): Kernel {
  const { source, barriers, side } = textOf(name);
  const [first, second] = barriers as [number, number];
  const line = {
    a: lineOf(source, 'value = a['),
    aTile: lineOf(source, 'a_tile[y, x] ='),
    b: lineOf(source, 'value = b['),
    bTile: lineOf(source, 'b_tile[y, x] ='),
    sum: lineOf(source, 'total +='),
    out: lineOf(source, 'c[row, col] ='),
  };
  const round = 2 * side + 8; // places in one round of the outer loop
  return {
    name,
    side,
    source,
    barriers,
    *run(block, thread) {
      const { m, n, k, a, b, c, aTile, bTile, kept } = block;
      const x = thread % side;
      const y = Math.floor(thread / side);
      const row = block.y * side + y;
      const col = block.x * side + x;
      let total = 0;
      for (let start = 0; start < k; start += side) {
        const at = (start / side) * round;
        let value = 0;
        if (row < m && start + x < k) {
          value = a[row]![start + x]!;
          block.tell(thread, line.a, 'load', 'a', [row, start + x], value, false);
        }
        yield reach(at, line.aTile, true);
        aTile[y * side + x] = value;
        block.tell(thread, line.aTile, 'store', 'a_tile', [y, x], value, true);
        value = 0;
        if (start + y < k && col < n) {
          value = b[start + y]![col]!;
          block.tell(thread, line.b, 'load', 'b', [start + y, col], value, false);
        }
        yield reach(at + 1, line.bTile, true);
        bTile[y * side + x] = value;
        block.tell(thread, line.bTile, 'store', 'b_tile', [y, x], value, true);
        if (kept[0]) yield { kind: 'barrier', at: at + 2, line: first, writes: false };
        for (let i = 0; i < side; i++) {
          yield reach(at + 3 + 2 * i, line.sum, false);
          const left = aTile[y * side + i]!;
          block.tell(thread, line.sum, 'load', 'a_tile', [y, i], left, true);
          yield reach(at + 4 + 2 * i, line.sum, false);
          const right = bTile[i * side + x]!;
          block.tell(thread, line.sum, 'load', 'b_tile', [i, x], right, true);
          total = Math.fround(total + Math.fround(left * right));
        }
        if (kept[1]) yield { kind: 'barrier', at: at + 3 + 2 * side, line: second, writes: false };
      }
      if (row >= m || col >= n) return;
      yield reach(LAST, line.out, true);
      c[row * n + col] = total;
      block.tell(thread, line.out, 'store', 'c', [row, col], total, true);
    },
  };
}

function textOf(name: KernelName) {
  const { source, barriers, block } = texts[name];
  return {
    source: new Map(Object.entries(source).map(([number, text]) => [Number(number), text] as const)),
    barriers: barriers as readonly number[],
    side: block[0]!,
  };
}

const MADE = new Map<KernelName, Kernel>();

/** A kernel by its name. */
export function kernelOf(name: KernelName): Kernel {
  const found = MADE.get(name) ?? (name === 'naive' ? naive(name) : tiled(name));
  MADE.set(name, found);
  return found;
}
