/** How many 32-byte sectors the tiles of A and B touch: requests are counted by where in a sector they start. */

import { ceilDiv, WARP, type Kernel } from './kernel';

const SECTOR_BITS = 256;

/** Residue of a start in bits, modulo a sector, to how many start there. */
type Histogram = Map<number, number>;
/** Bits from the request's start, and how many, ascending. */
type Pieces = readonly (readonly [number, number])[];

interface Cut {
  readonly rows: number;
  readonly columns: number;
  /** Elements of all threads in one pass, and of one warp. */
  readonly elements: number;
  readonly request: number;
}

interface Stored {
  readonly bits: number;
  readonly rowBits: number;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
const lcm = (a: number, b: number): number => (a / gcd(a, b)) * b;
const add = (to: Histogram, at: number, times: number) => to.set(at, (to.get(at) ?? 0) + times);

/** Residues of start, start + step, ... */
function progression(step: number, count: number, start = 0): Histogram {
  const found: Histogram = new Map();
  const period = SECTOR_BITS / gcd(step % SECTOR_BITS || SECTOR_BITS, SECTOR_BITS);
  const whole = Math.floor(count / period);
  const rest = count % period;
  for (let i = 0; i < (whole ? period : rest); i++)
    add(found, (start + i * step) % SECTOR_BITS, whole + (i < rest ? 1 : 0));
  return found;
}

/** Residues of every sum of one start from each. */
function combined(first: Histogram, second: Histogram): Histogram {
  const sums: Histogram = new Map();
  for (const [residue, times] of first) {
    for (const [other, each] of second) add(sums, (residue + other) % SECTOR_BITS, times * each);
  }
  return sums;
}

/** Distinct sectors of one request that starts so many bits past a sector's first. */
function sectorsOf(pieces: Pieces, start: number): number {
  let total = 0;
  let last = -1;
  for (const [position, bits] of pieces) {
    const first = Math.floor((start + position) / SECTOR_BITS);
    const end = Math.floor((start + position + bits - 1) / SECTOR_BITS);
    total += end - Math.max(first, last + 1) + 1;
    last = end;
  }
  return total;
}

/** Elements that one lane loads at once: the widest load to which rows and the tile's width are aligned. */
function laneElements(kernel: Kernel, { bits, rowBits }: Stored, columns: number): number {
  for (let width = kernel.vectorBytes * 8; width > bits; width = Math.floor(width / 2)) {
    if (width % bits === 0 && columns % (width / bits) === 0 && rowBits % width === 0) return width / bits;
  }
  return 1;
}

function cutOf(kernel: Kernel, stored: Stored, rows: number, columns: number): Cut {
  if (kernel.family === 'tensor') return { rows, columns, elements: columns, request: columns };
  const wide = laneElements(kernel, stored, columns);
  return { rows, columns, elements: kernel.threads * wide, request: WARP * wide };
}

/** Linear elements first..last of a tile as segments of rows, those out of range left out. */
function segments(
  width: number,
  first: number,
  last: number,
  rows: number,
  columns: number,
): [number, number, number][] {
  const found: [number, number, number][] = [];
  for (let row = Math.floor(first / width); row < Math.min(rows, Math.floor((last - 1) / width) + 1); row++) {
    const low = Math.max(first - row * width, 0);
    const high = Math.min(last - row * width, columns);
    if (low < high) found.push([row, low, high]);
  }
  return found;
}

/** Requests for the in-range part of a tile: what each touches, and where those that are alike start. */
function tileRequests(cut: Cut, rows: number, columns: number, { bits, rowBits }: Stored): [Pieces, Histogram][] {
  const alike = new Map<string, [Pieces, Histogram]>();
  const even = cut.elements % cut.request === 0;
  const period = Math.min(cut.rows, lcm(even ? cut.request : cut.elements, cut.columns) / cut.columns);
  const whole = Math.floor(rows / period);
  const rest = rows % period;
  const size = cut.rows * cut.columns;
  const until = period * cut.columns;
  for (const [depth, times, down] of [
    [period, whole, 0],
    [rest, rest ? 1 : 0, whole * period],
  ] as const) {
    // prettier-ignore
    if (!times) continue;
    for (let base = 0; base < until; base += cut.elements) {
      for (let first = base; first < Math.min(base + cut.elements, until); first += cut.request) {
        const last = Math.min(first + cut.request, base + cut.elements, size);
        const found = segments(cut.columns, first, last, depth, columns);
        if (!found.length) continue;
        const start = (found[0]![0] + down) * rowBits + found[0]![1] * bits;
        const pieces = found.map(
          ([row, low, high]) => [(row + down) * rowBits + low * bits - start, (high - low) * bits] as const,
        );
        const key = pieces.join(';');
        if (!alike.has(key)) alike.set(key, [pieces, new Map()]);
        for (const [residue, each] of progression(period * rowBits, times, start))
          add(alike.get(key)![1], residue, each);
      }
    }
  }
  return [...alike.values()];
}

/** Sectors of tiles whose first elements start there, all of it repeated so many times. */
function asked(requests: [Pieces, Histogram][], starts: Histogram, times = 1): number {
  let sectors = 0;
  for (const [pieces, shifts] of requests) {
    for (const [at, visits] of combined(starts, shifts)) sectors += visits * sectorsOf(pieces, at);
  }
  return sectors * times;
}

/** In-range length of the tiles along one axis, with the first and the number of tiles that have it. */
function sides(total: number, block: number): [number, number, number][] {
  const whole = Math.floor(total / block);
  const rest = total % block;
  return [
    ...(whole ? [[block, 0, whole] as [number, number, number]] : []),
    ...(rest ? [[rest, whole, 1] as [number, number, number]] : []),
  ];
}

/** Sectors that all programs ask for of A and B, both stored row-major and gapless; for kernels that walk tiles. */
export function sectorsRequested(kernel: Kernel, m: number, n: number, k: number, bits: number): number {
  const { blockM, blockN, blockK } = kernel;
  const a = { bits, rowBits: k * bits };
  const b = { bits, rowBits: n * bits };
  const across = ceilDiv(n, blockN);
  const down = ceilDiv(m, blockM);
  let total = 0;
  for (const [width, step, steps] of sides(k, blockK)) {
    const along = progression(blockK * bits, steps, step * blockK * bits);
    const deep = progression(blockK * b.rowBits, steps, step * blockK * b.rowBits);
    for (const [height, block, blocks] of sides(m, blockM)) {
      const visits = combined(progression(blockM * a.rowBits, blocks, block * blockM * a.rowBits), along);
      total += asked(tileRequests(cutOf(kernel, a, blockM, blockK), height, width, a), visits, across);
    }
    for (const [length, column, columns] of sides(n, blockN)) {
      const at = combined(deep, progression(blockN * bits, columns, column * blockN * bits));
      total += asked(tileRequests(cutOf(kernel, b, blockK, blockN), width, length, b), at, down);
    }
  }
  return total;
}
