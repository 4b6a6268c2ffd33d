/** What each chapter tells with: its own small numbers, and what the closed forms make of them. */

import {
  allowed,
  arrayCycles,
  arrayUsed,
  dot,
  lateSum,
  rounds,
  roundsUsed,
  staysAt,
  stepIntensity,
  stepNumbers,
  stepWork,
  strips,
} from '../../count/film';
import { smallestTile } from '../../count/knee';
import { reads } from '../../count/reads';
import { limits, type Limits } from '../../count/roofs';
import { bandwidthOf, chipOf, kneeOf, peakOf } from '../../data/chips';
import raw from '../../data/chips.json';
import formats from '../../data/formats.json';
import type { ChapterName } from './section';

export const CHIP = 'a100-pcie-80gb';
const chip = chipOf(CHIP, {} as never);
const BYTES = formats.float32.bits / 8;

/** A row of A and a column of B that the first chapter multiplies out, and the tables they stand in. */
export const SMALL = { rows: 4, deep: 6, columns: 5, row: 1, column: 2 } as const;
export const a = (i: number, k: number): number => (2 * i + 3 * k + 1) % 5;
export const b = (k: number, j: number): number => (3 * k + j + 2) % 4;
const places = Array.from({ length: SMALL.deep }, (_, k) => k);
const smallRow = places.map((k) => a(SMALL.row, k));
const smallColumn = places.map((k) => b(k, SMALL.column));
export const c = (i: number, j: number): number => places.reduce((sum, k) => sum + a(i, k) * b(k, j), 0);

/** What the late worker multiplies: tiles two wide. */
export const LATE = { a: [1, 2, 3, 4], b: [5, 6, 7, 8], side: 2 } as const;

const N = 1024;
const cube = { m: N, n: N, k: N };
const tiled = (side: number) => reads('tiled', cube, side, formats.float32.bits).elements;
const naive = reads('naive', cube, 1, formats.float32.bits);
const work = (rows: number, columns: number, deep: number) => rows * columns * deep;

const SIDE = 32;
const GRID = { down: 6, across: 12, programs: 12, high: 3, wide: 4 } as const;
const BIG = { n: 8192, tile: 128, group: 8 } as const;
const tilesBig = BIG.n / BIG.tile;
/** Where the bench stands when the chapter of the cache opens it: so many programs at once there are here too. */
const CACHE = {
  m: BIG.n,
  n: BIG.n,
  k: BIG.n,
  kernel: 'tensor',
  format: 'float16',
  t: 16,
  bm: BIG.tile,
  bn: BIG.tile,
  bk: 32,
  raster: 'n',
  group: BIG.group,
} as const;
const big = limits(chip, CACHE) as Limits;
const slots = big.grid.slots;
const both = (down: number, across: number, group: number, programs: number) => {
  const found = strips(down, across, group, programs);
  return found.a + found.b;
};
const sms = chip.figure('sm_count')!.value;
const peak = peakOf(chip, 'float32')!;
const peak16 = peakOf(chip, 'float16')!;
const bandwidth = bandwidthOf(chip, 'dram')!;
const instruction = raw[CHIP].instructions.float16;
const ARRAY = { rows: 4, columns: 4, m: 6, long: 1000 } as const;
const REST = { down: 11, across: 10, high: 256, wide: 128 } as const;
const tilesOfRest = REST.down * REST.across;

const products = (x: readonly number[], y: readonly number[]) => x.map((each, i) => `${each}·${y[i]}`).join(' + ');
const [firstA, firstB] = [LATE.a.slice(0, LATE.side), LATE.b.slice(0, LATE.side)];
const [secondA, secondB] = [LATE.a.slice(LATE.side), LATE.b.slice(LATE.side)];
const lateA = [firstA[0]!, ...secondA.slice(1)];
const lateB = [firstB[0]!, ...secondB.slice(1)];

/** Plain numbers and texts without a language; shares and figures with units are written where words are chosen. */
export const FACTS = {
  table: {
    ...SMALL,
    cells: SMALL.rows * SMALL.columns,
    work: work(SMALL.rows, SMALL.columns, SMALL.deep),
    flop: 2 * work(SMALL.rows, SMALL.columns, SMALL.deep),
    sizeA: SMALL.rows * SMALL.deep,
    sizeB: SMALL.deep * SMALL.columns,
    products: products(smallRow, smallColumn),
    sum: dot(smallRow, smallColumn),
    n: N,
    bigWork: work(N, N, N),
    bigFlop: naive.flop,
  },
  single: { n: N, each: 2 * N, numbers: 2 * N * N, reads: naive.elements, perByte: 1 / BYTES },
  tile: {
    side: SIDE,
    workers: SIDE * SIDE,
    numbers: stepNumbers(SIDE),
    work: stepWork(SIDE),
    perNumber: stepWork(SIDE) / stepNumbers(SIDE),
    alone: work(N, N, N) / naive.elements,
    flop: 2 * stepWork(SIDE),
    flopPerNumber: (2 * stepWork(SIDE)) / stepNumbers(SIDE),
    flopPerByte: stepIntensity(SIDE, BYTES),
  },
  reads: {
    n: N,
    side8: 8,
    side16: 16,
    side32: 32,
    fetched: N / 16,
    naive: naive.elements,
    t8: tiled(8),
    t16: tiled(16),
    t32: tiled(32),
    floor: 2 * N * N,
    times8: naive.elements / tiled(8),
    times: naive.elements / tiled(16),
    area: 16 * 16,
  },
  wait: {
    products: products(LATE.a, LATE.b),
    right: dot(LATE.a, LATE.b),
    late: lateSum(LATE.a, LATE.b, LATE.side),
    first: products(firstA, firstB),
    firstSum: dot(firstA, firstB),
    second: products(secondA, secondB),
    secondSum: dot(secondA, secondB),
    mixed: products(lateA, lateB),
    mixedSum: dot(lateA, lateB),
    twice: 2 * dot(secondA, secondB),
    n: N,
    side: 16,
    waits: 2 * Math.ceil(N / 16),
  },
  roof: {
    chip: chip.fullName,
    side: SIDE,
    side16: 16,
    bytesEach: BYTES,
    numbers: stepNumbers(SIDE),
    bytes: stepNumbers(SIDE) * BYTES,
    flop: 2 * stepWork(SIDE),
    perNumber: (2 * stepWork(SIDE)) / stepNumbers(SIDE),
    peak,
    bandwidth,
    knee: kneeOf(chip, 'float32')!,
    naive: 1 / BYTES,
    speed0: allowed(1 / BYTES, bandwidth, peak),
    t16: stepIntensity(16, BYTES),
    speed16: allowed(stepIntensity(16, BYTES), bandwidth, peak),
    t32: stepIntensity(SIDE, BYTES),
    speed32: allowed(stepIntensity(SIDE, BYTES), bandwidth, peak),
    smallest: smallestTile(kneeOf(chip, 'float32')!, formats.float32.bits),
    smallestAt: stepIntensity(smallestTile(kneeOf(chip, 'float32')!, formats.float32.bits), BYTES),
    knee16: kneeOf(chip, 'float16')!,
  },
  cache: {
    ...GRID,
    chip: chip.fullName,
    alone: 2 * GRID.programs,
    inRow: both(GRID.down, GRID.across, 1, GRID.programs),
    inBlock: both(GRID.down, GRID.across, GRID.high, GRID.programs),
    n: BIG.n,
    tile: BIG.tile,
    tiles: tilesBig,
    sms,
    group: BIG.group,
    slots,
    held: big.held.programs,
    rowBig: both(tilesBig, tilesBig, 1, slots),
    groupBig: both(tilesBig, tilesBig, BIG.group, slots),
  },
  tensor: {
    im: instruction[0]!,
    in: instruction[1]!,
    ik: instruction[2]!,
    once: instruction[0]! * instruction[1]! * instruction[2]!,
    warp: raw[CHIP].warp_size,
    peak,
    peak16,
    times: peak16 / peak,
    knee: kneeOf(chip, 'float32')!,
    knee16: kneeOf(chip, 'float16')!,
    bits: formats.float16.mantissa_bits + 1,
    bits32: formats.float32.mantissa_bits + 1,
    stays: staysAt(formats.float16.mantissa_bits),
    before: staysAt(formats.float16.mantissa_bits) - 1,
    after: staysAt(formats.float16.mantissa_bits) + 2,
    stays32: staysAt(formats.float32.mantissa_bits),
  },
  array: {
    ...ARRAY,
    cells: ARRAY.rows * ARRAY.columns,
    work: work(ARRAY.m, ARRAY.columns, ARRAY.rows),
    cycles: arrayCycles(ARRAY.rows, ARRAY.columns, ARRAY.m),
    skew: ARRAY.rows + ARRAY.columns - 2,
    used: arrayUsed(ARRAY.rows, ARRAY.columns, ARRAY.m),
    enters: ARRAY.m * ARRAY.rows,
    without: work(ARRAY.m, ARRAY.columns, ARRAY.rows),
    longCycles: arrayCycles(ARRAY.rows, ARRAY.columns, ARRAY.long),
    longUsed: arrayUsed(ARRAY.rows, ARRAY.columns, ARRAY.long),
  },
  rest: {
    ...REST,
    tiles: tilesOfRest,
    sms,
    over: tilesOfRest - sms,
    more: (tilesOfRest - sms) / sms,
    rounds: rounds(tilesOfRest, sms),
    used: roundsUsed(tilesOfRest, sms),
    places: rounds(tilesOfRest, sms) * sms,
  },
} as const satisfies Record<ChapterName, Readonly<Record<string, number | string>>>;

/** Where the bench stands when a chapter opens it. */
export const BENCH: Readonly<Record<ChapterName, Readonly<Record<string, number | string>>>> = {
  table: { m: SMALL.rows, n: SMALL.columns, k: SMALL.deep, kernel: 'naive', format: 'float32' },
  single: { ...cube, kernel: 'naive', format: 'float32' },
  tile: { ...cube, kernel: 'tiled', t: SIDE, format: 'float32' },
  reads: { ...cube, kernel: 'tiled', t: 16, format: 'float32' },
  wait: {
    ...{ m: LATE.side, n: LATE.side, k: LATE.a.length, kernel: 'tiled', t: LATE.side, format: 'float32' },
    cut: 'second',
  },
  roof: { ...cube, kernel: 'tiled', t: SIDE, format: 'float32', chip: CHIP, at: 'roofs' },
  cache: { ...CACHE, chip: CHIP, at: 'order' },
  tensor: { m: 4096, n: 4096, k: 4096, kernel: 'tensor', format: 'float16', chip: CHIP, at: 'roofs' },
  array: { m: ARRAY.m, n: ARRAY.columns, k: ARRAY.rows, kernel: 'naive', format: 'int8' },
  rest: {
    m: REST.down * REST.high,
    n: REST.across * REST.wide,
    k: 4096,
    kernel: 'tensor',
    format: 'float16',
    bm: REST.high,
    bn: REST.wide,
    bk: 32,
    chip: CHIP,
    at: 'waves',
  },
};
