/** What the film counts beside reads: steps of a tile, strips, rounds, an array's cycles, where sums of ones stay. */

/** Multiply-adds of one step of a square tile: each of its outputs takes one for each place along the tile. */
export const stepWork = (side: number): number => side ** 3;

/** Numbers that such a step carries in: a tile of A and one of B. */
export const stepNumbers = (side: number): number => 2 * side * side;

/** FLOP per byte of such a step. */
export const stepIntensity = (side: number, bytes: number): number =>
  (2 * stepWork(side)) / (stepNumbers(side) * bytes);

/** FLOP/s that a level lets through at so many FLOP per byte. */
export const allowed = (intensity: number, bandwidth: number, peak: number): number =>
  Math.min(peak, intensity * bandwidth);

/** The tile of a program in the order of the raster `n`: row by row, or down groups of so many rows of tiles. */
export function tileOf(program: number, down: number, across: number, group: number): readonly [number, number] {
  const first = Math.floor(program / (group * across)) * group;
  const within = program % (group * across);
  const height = Math.min(down - first, group);
  return [first + (within % height), Math.floor(within / height)];
}

/** Rows and columns of tiles that the first so many programs touch: strips of A and of B that they need together. */
export function strips(down: number, across: number, group: number, programs: number): { a: number; b: number } {
  const at = Array.from({ length: Math.min(programs, down * across) }, (_, i) => tileOf(i, down, across, group));
  return { a: new Set(at.map(([row]) => row)).size, b: new Set(at.map(([, column]) => column)).size };
}

/** How often the busiest of the places works, a whole tile each time. */
export const rounds = (tiles: number, places: number): number => Math.ceil(tiles / places);

/** Share of all places' time that is used. */
export const roundsUsed = (tiles: number, places: number): number => tiles / (rounds(tiles, places) * places);

/** Cycles of a weight-stationary array for one tile of weights: shifted in, then the rows of A in a slanted wave. */
export const arrayCycles = (rows: number, columns: number, m: number): number => rows + m + rows + columns - 2;

/** Share of its multiply-adds that are the product's. */
export const arrayUsed = (rows: number, columns: number, m: number): number => m / arrayCycles(rows, columns, m);

/** Where a sum stays when one is added again and again: one more needs a digit that the format has not. */
export const staysAt = (mantissaBits: number): number => 2 ** (mantissaBits + 1);

/** From a number to the next larger one of a format, for numbers from 1 up to its largest. */
export const spacing = (value: number, mantissaBits: number): number =>
  2 ** (Math.floor(Math.log2(value)) - mantissaBits);

/**
 * The sum of worker 0 in a tiled kernel without its second wait, when all others are one step ahead: of each tile only
 * the number that it carried itself is the right one. Row of A and column of B, tiles of so many numbers.
 */
export function lateSum(a: readonly number[], b: readonly number[], side: number): number {
  return a.reduce((sum, own, i) => {
    const late = i % side === 0 || i + side >= a.length ? i : i + side;
    return sum + (late === i ? own : a[late]!) * b[late]!;
  }, 0);
}

/** The sum as it should be. */
export const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0);
