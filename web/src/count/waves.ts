/** Programs in waves: the order they are launched in, the strips of A and B that a wave needs, what DRAM then moves. */

import { ceilDiv } from './kernel';

export interface Grid {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly blockM: number;
  readonly blockN: number;
  /** `n`: consecutive programs run along n, in groups of so many rows; `m`: along m, in groups of columns. */
  readonly raster: 'n' | 'm';
  readonly group: number;
  /** Programs resident on the whole chip. */
  readonly slots: number;
  /** Bytes of an element. */
  readonly a: number;
  readonly b: number;
  readonly d: number;
}

/** Row and column of tiles of the program with that number. */
export function tileOf(grid: Grid, program: number): [row: number, column: number] {
  let down = ceilDiv(grid.m, grid.blockM);
  let across = ceilDiv(grid.n, grid.blockN);
  if (grid.raster === 'm') [down, across] = [across, down];
  const group = Math.min(grid.group, down);
  const each = group * across;
  const first = Math.floor(program / each) * group;
  const height = Math.min(down - first, group);
  const inside = program % each;
  const major = first + (inside % height);
  const minor = Math.floor(inside / height);
  return grid.raster === 'm' ? [minor, major] : [major, minor];
}

/** Number of the program that computes that tile: `tileOf` the other way round. */
export function programAt(grid: Grid, row: number, column: number): number {
  let down = ceilDiv(grid.m, grid.blockM);
  let across = ceilDiv(grid.n, grid.blockN);
  let [major, minor] = [row, column];
  if (grid.raster === 'm') [down, across, major, minor] = [across, down, column, row];
  const group = Math.min(grid.group, down);
  const first = Math.floor(major / group) * group;
  const height = Math.min(down - first, group);
  return first * across + minor * height + (major - first);
}

export interface Wave {
  readonly first: number;
  readonly programs: number;
  /** Distinct rows of tiles (strips of A) and columns (strips of B). */
  readonly rows: ReadonlySet<number>;
  readonly columns: ReadonlySet<number>;
}

/** A wave, if all programs take equally long. */
export function wave(grid: Grid, index: number): Wave {
  const all = ceilDiv(grid.m, grid.blockM) * ceilDiv(grid.n, grid.blockN);
  const first = index * grid.slots;
  const programs = Math.max(0, Math.min(grid.slots, all - first));
  const rows = new Set<number>();
  const columns = new Set<number>();
  for (let program = first; program < first + programs; program++) {
    const [row, column] = tileOf(grid, program);
    rows.add(row);
    columns.add(column);
  }
  return { first, programs, rows, columns };
}

export interface Waves {
  readonly programs: number;
  /** Programs over slots; not whole. */
  readonly waves: number;
  /** What of the slots' time is used if all programs take equally long. */
  readonly efficiency: number;
}

export function waves(grid: Grid): Waves {
  const programs = ceilDiv(grid.m, grid.blockM) * ceilDiv(grid.n, grid.blockN);
  const found = programs / grid.slots;
  return { programs, waves: found, efficiency: found / ceilDiv(programs, grid.slots) };
}

const EDGE = 12; // steepness of the capacity's edge: between hashed caches of 32 and of 64 ways
const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
const share = (distance: number, capacity: number) => 1 / (1 + (Math.max(distance, 1) / capacity) ** EDGE);

/**
 * Bytes of A and B read from DRAM, programs in lock-step.
 *
 * A wave reads its strips once. A's serve the next wave of the same group of rows if a whole wave fits L2; B's serve the
 * next group if everything read for a group, and D's tiles, fit. Drift between programs only adds to it.
 */
export function lockStepReads(given: Grid, l2Bytes: number, partitions: number): number {
  const g =
    given.raster === 'n'
      ? given
      : { ...given, m: given.n, n: given.m, blockM: given.blockN, blockN: given.blockM, a: given.b, b: given.a };
  const down = ceilDiv(g.m, g.blockM);
  const across = ceilDiv(g.n, g.blockN);
  const group = Math.min(g.group, down);
  const tiles = Math.min(g.slots, down * across);
  const rows = Math.min(down, Math.max(group, Math.ceil(tiles / across)));
  const columns = Math.min(across, Math.ceil(tiles / rows));
  const panelA = g.blockM * g.k * g.a;
  const panelB = g.blockN * g.k * g.b;
  const stored = (g.d * (partitions > 1 ? 1.5 : 1)) / partitions;
  const wide = group * across;
  const alone = tiles >= down * across;
  const passes = alone ? 1 : Math.min(across, (wide + tiles - gcd(wide, tiles)) / tiles);
  const sweeps = tiles >= wide ? Math.ceil((down * across) / tiles) : Math.ceil(down / group);
  const capacity = l2Bytes / partitions;
  const waveBytes = rows * panelA + columns * panelB;
  const sweepBytes = across * panelB + rows * panelA + stored * rows * g.blockM * g.n;
  const aAgain = (passes - 1) * (1 - share(waveBytes, capacity));
  const bAgain = (sweeps - 1) * (1 - share(sweepBytes, capacity));
  return g.m * g.k * g.a * (1 + aAgain) + g.n * g.k * g.b * (1 + bAgain);
}
