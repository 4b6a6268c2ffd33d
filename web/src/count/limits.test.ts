import { describe, expect, test } from 'vitest';
import golden from '../../golden/limits.json';
import { capacityOf, CHIPS } from '../data/chips';
import { fits, fitted, formatOf, type KernelName } from './kernel';
import { peakFor, resident, usableSms } from './machine';
import { moved } from './moved';
import { lockStepReads, programAt, tileOf, wave, waves } from './waves';

const cases = golden.cases as unknown as Record<string, any>[];
const chips = new Map(CHIPS.map((chip) => [chip.name, chip]));

/** Equal to the last digit that a float64 holds. */
function same(found: number, wanted: number, what: string): void {
  expect(Math.abs(found - wanted), `${what}: ${found}, not ${wanted}`).toBeLessThanOrEqual(1e-12 * Math.abs(wanted));
}

test('there are cases of every kind', () => {
  expect(cases.filter((c) => c['kernel_found']).length).toBeGreaterThan(200);
  expect(cases.filter((c) => c['kernel_found'] === null).length).toBeGreaterThan(20);
  expect(cases.filter((c) => c['reads']).length).toBeGreaterThan(100);
  expect(cases.filter((c) => c['programs'] === null).length).toBeGreaterThan(5);
  expect(cases.filter((c) => c['kernel_found'] && c['peak'] === null).length).toBeGreaterThan(5);
});

describe.each(
  cases.map((c, i) => [i, `${c['kernel']} ${c['m']}x${c['n']}x${c['k']} ${c['format']} on ${c['chip']}`, c] as const),
)('case %i, %s', (_, __, c) => {
  const kernel = fitted({ ...(c as any), kernel: c['kernel'] as KernelName });
  const chip = chips.get(c['chip'])!;
  const shape = { m: c['m'], n: c['n'], k: c['k'] };

  test('kernel, counts, peak, programs resident and reads are what the package says', () => {
    expect(fits(kernel)).toBe(c['kernel_found'] !== null);
    if (!fits(kernel)) return;
    const { blockM, blockN, blockK, threadM, threadN, warpM, warpN, warps, mma } = kernel;
    expect({
      block_m: blockM,
      block_n: blockN,
      block_k: blockK,
      thread_m: threadM,
      thread_n: threadN,
      warp_m: warpM,
      warp_n: warpN,
      warps,
      mma: [...mma],
    }).toEqual(c['kernel_found']);

    const { counted } = c as any;
    const found = moved(kernel, shape, c['format'], chip.features.includes('clusters'));
    same(found.elements, counted.elements, 'elements');
    same(found.loadBytes, counted.load, 'loads');
    same(found.storeBytes, counted.store, 'stores');
    same(found.compulsoryBytes, counted.compulsory, 'compulsory');
    same(found.sharedBytes, counted.shared, 'shared memory');
    same(found.registerBytes, counted.register, 'registers');
    same(found.paddedFlop, counted.padded, 'padded');
    expect(found.programs).toBe(counted.programs);
    if (counted.l2 !== null) same(found.l2Bytes, counted.l2, 'l2');

    const peak = peakFor(chip, kernel, c['format']);
    if (c['peak'] === null) expect(peak).toBeNull();
    else same(peak!.flopPerS, c['peak'], 'peak');
    if (c['sms'] !== undefined) expect(usableSms(chip, kernel)).toBe(c['sms']);

    const held = resident(chip, kernel, c['format']);
    expect(fits(held)).toBe(c['programs'] !== null);
    if (!fits(held)) return;
    expect(held).toEqual({ programs: c['programs'], limit: c['limit'] });
    if (c['reads'] === undefined) return;
    const { bits, d_bits } = formatOf(c['format']);
    const grid = {
      ...shape,
      blockM,
      blockN,
      raster: c['raster'],
      group: c['group'],
      a: bits / 8,
      b: bits / 8,
      d: d_bits / 8,
    };
    const partitions = chip.features.includes('l2_partitions') ? 2 : 1;
    const slots = c['sms'] * held.programs;
    const reads = lockStepReads({ ...grid, slots }, capacityOf(chip, 'l2')!, partitions);
    expect(Math.abs(reads / c['reads'] - 1)).toBeLessThan(1e-9);
  });
});

test.each(golden.orders.map((order, i) => [i, order] as const))('launch order %i', (_, order) => {
  const grid = { ...order, k: 1, blockM: 1, blockN: 1, a: 4, b: 4, d: 4, raster: order.raster as 'n' | 'm' };
  expect(order.tiles.map((__, program) => tileOf(grid, program))).toEqual(order.tiles);
  expect(order.waves.map((__, i) => [wave(grid, i).rows.size, wave(grid, i).columns.size])).toEqual(order.waves);
  expect(order.tiles.map(([row, column]) => programAt(grid, row!, column!))).toEqual(order.tiles.map((__, i) => i));
  expect(new Set(order.tiles.map(String)).size).toBe(order.m * order.n);
});

test('110 tiles on 108 SMs take two rounds, the last nearly empty', () => {
  const found = waves({
    m: 110,
    n: 1,
    k: 1,
    blockM: 1,
    blockN: 1,
    raster: 'n',
    group: 1,
    slots: 108,
    a: 4,
    b: 4,
    d: 4,
  });
  expect(found.efficiency).toBeCloseTo(0.509, 3);
});
