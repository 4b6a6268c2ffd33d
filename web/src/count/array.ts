/** A systolic array in closed form: cycles by cause, words moved, and when each tile begins; as `gemmlab.systolic` has it. */

export const FLOWS = ['ws', 'os', 'is'] as const;
export type Flow = (typeof FLOWS)[number];

export interface Given {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** PEs down a column and along a row. */
  readonly rows: number;
  readonly cols: number;
  /** What stays in the PEs: ws weights (B), is inputs (A), os the sums. */
  readonly flow: Flow;
  /** Of ws and is: double shifts the next tile in behind the one in use. */
  readonly weights: 'double' | 'single';
  /** Of os: how results leave. */
  readonly drain: 'side' | 'bottom' | 'shadow';
}

/** The problem's sides by their place in the array: down its columns, along its rows, in time. */
export function sidesOf({ m, n, k, flow }: Given): readonly [number, number, number] {
  return flow === 'ws' ? [k, n, m] : flow === 'is' ? [k, m, n] : [m, n, k];
}

export interface Counts {
  /** First word in to last word out. */
  readonly cycles: number;
  /** A row of operands enters; the others by cause. */
  readonly active: number;
  readonly shift: number;
  readonly skew: number;
  readonly drain: number;
  /** Times that the array is set up. */
  readonly tiles: number;
  /** Elements read: of A, of B, and partial sums that come back. */
  readonly reads: readonly [number, number, number];
  readonly results: number;
  /** Multiply-adds over what all PEs could do in all cycles. */
  readonly utilisation: number;
}

/** The counts of one multiplication; 8-bit operands, so that a product takes one cycle. */
export function countsOf(given: Given): Counts {
  const { m, n, k, rows, cols, flow, weights, drain: way } = given;
  const [sideRows, sideCols, stream] = sidesOf(given);
  const down = Math.ceil(sideRows / rows);
  const across = Math.ceil(sideCols / cols);
  const tiles = down * across;
  const active = stream * tiles;
  const lastRows = sideRows - (down - 1) * rows;
  const lastCols = sideCols - (across - 1) * cols;
  const outlast = (since: number) => (across > 1 ? Math.max(cols - lastCols - since, 0) : 0);
  let shift = 0;
  let skew = 0;
  let drain = 0;
  if (flow !== 'os' && weights === 'single') {
    shift = tiles * rows;
    skew = tiles * (rows - 2) + down * sideCols;
  } else if (flow !== 'os') {
    const gap = Math.max(rows - stream, 0);
    shift = rows + tiles * gap - gap;
    skew = rows - 2 + lastCols + outlast(down * Math.max(stream, rows));
  } else if (way === 'shadow') {
    const since = Math.max(stream, lastRows) + (down - 1) * Math.max(stream, rows);
    const whole = Math.max(rows - stream, 0);
    const short = Math.max(lastRows - stream, 0);
    skew = lastRows + lastCols - 2 + outlast(since);
    drain = rows + across * ((down - 1) * whole + short) - short;
  } else {
    skew = across * sideRows + down * sideCols - 2 * tiles;
    drain = way === 'bottom' ? tiles * rows : 0;
  }
  const cycles = active + shift + skew + drain;
  const right = sideRows * stream * across;
  const other = flow === 'os' ? stream * sideCols * down : sideRows * sideCols;
  return {
    cycles,
    active,
    shift,
    skew,
    drain,
    tiles,
    reads: [
      flow === 'is' ? other : right,
      flow === 'is' ? right : other,
      flow === 'os' ? 0 : stream * sideCols * (down - 1),
    ],
    results: m * n,
    utilisation: (m * n * k) / (rows * cols * cycles),
  };
}

/** One tile: when it is shifted in and its rows begin to enter; its first row and column, and how many it has. */
export interface Tile {
  readonly shiftAt: number;
  readonly start: number;
  readonly row: number;
  readonly rows: number;
  readonly col: number;
  readonly cols: number;
  /** It ends the sums that it adds to. */
  readonly closes: boolean;
}

/** When each tile begins, without a list of them: columns of tiles in turn, in each its tiles down. */
export class Tiles {
  readonly count: number;
  readonly stream: number;
  private readonly down: number;
  private readonly across: number;
  private readonly sides: readonly [number, number];

  constructor(readonly given: Given) {
    const [rows, cols, stream] = sidesOf(given);
    this.stream = stream;
    this.sides = [rows, cols];
    this.down = Math.ceil(rows / given.rows);
    this.across = Math.ceil(cols / given.cols);
    this.count = this.down * this.across;
  }

  /** The tile of that number. */
  at(number: number): Tile {
    const { given, down } = this;
    const [column, place] = [Math.floor(number / down), number % down];
    const row = place * given.rows;
    const col = column * given.cols;
    const start = this.start(number);
    const double = given.weights === 'double';
    return {
      shiftAt: given.flow === 'os' ? 0 : double ? (number === 0 ? 0 : this.start(number - 1)) : start - given.rows,
      start,
      row,
      rows: Math.min(given.rows, this.sides[0] - row),
      col,
      cols: Math.min(given.cols, this.sides[1] - col),
      closes: given.flow === 'os' || place === down - 1,
    };
  }

  /** The last tile that begins at or before that time, or -1. */
  before(time: number): number {
    if (time < this.start(0)) return -1;
    const { down, across } = this;
    const column = Math.min(across - 1, Math.floor((time - this.first()) / this.columnTime(0)));
    const left = time - this.first() - column * this.columnTime(0);
    return column * down + Math.min(down - 1, Math.max(0, Math.floor(left / this.period(column, 0))));
  }

  private start(number: number): number {
    const column = Math.floor(number / this.down);
    return this.first() + column * this.columnTime(0) + (number % this.down) * this.period(column, 0);
  }

  private first(): number {
    return this.given.flow === 'os' ? 0 : this.given.rows;
  }

  /** From the beginning of a column of tiles to that of the next; all but the last are alike. */
  private columnTime(column: number): number {
    return (this.down - 1) * this.period(column, 0) + this.period(column, this.down - 1);
  }

  /** From a tile's beginning to the next one's. */
  private period(column: number, place: number): number {
    const { given, stream } = this;
    const wide = Math.min(given.cols, this.sides[1] - column * given.cols);
    if (given.flow !== 'os') {
      return given.weights === 'double' ? Math.max(given.rows, stream) : stream + 2 * given.rows + wide - 2;
    }
    const tall = place === this.down - 1 ? this.sides[0] - place * given.rows : given.rows;
    if (given.drain === 'shadow') return Math.max(stream, tall);
    return stream + tall + wide - 2 + (given.drain === 'bottom' ? given.rows : 0);
  }
}
