import { describe, expect, test } from 'vitest';
import golden from '../../golden/reads.json';
import { chipOf, ownChip } from '../data/chips';
import formats from '../data/formats.json';
import { limit } from './limit';
import { reads, type BenchKernel } from './reads';
import { steps, walk } from './walk';

const bitsOf = (format: string) => formats[format as keyof typeof formats];
const counted = golden.counts.map((each) => {
  const [m, n, k] = each.shape as [number, number, number];
  return { ...each, kernel: each.kernel as BenchKernel, at: { m, n, k } };
});

test.each(counted)('$kernel, $shape, tile $tile, $format: as the package counts', (each) => {
  const { bits, d_bits } = bitsOf(each.format);
  const found = reads(each.kernel, each.at, each.tile, bits, d_bits);
  for (const name of ['elements', 'bytes', 'stored', 'flop', 'programs'] as const) {
    expect(found[name], name).toBe(each[name]);
  }
  expect(found.intensity).toBeCloseTo(each.intensity, 12);
  if (each.tile <= 32) expect(found.shared).toBe(each.shared);
});

test.each(counted.filter(({ emulated }) => emulated))('$kernel, $shape, tile $tile: as the emulator loads', (each) => {
  const { a, b } = reads(each.kernel, each.at, each.tile, 32);
  expect([a, b]).toEqual(each.emulated);
});

describe('walking every invocation', () => {
  const small = counted.filter(({ kernel, at, tile }) => steps(kernel, at, tile) < 2e6);
  test.each(small)('$kernel, $shape, tile $tile: as the formula', ({ kernel, at, tile }) => {
    const { a, b } = reads(kernel, at, tile, 32);
    let last = { a: 0, b: 0 };
    for (const found of walk(kernel, at, tile)) last = found;
    expect(last).toEqual({ a, b });
  });
});

test.each(golden.limits)('$chip, $format, $kernel: seconds of each limit as the package says', (each) => {
  const { bits, d_bits } = bitsOf(each.format);
  const shape = { m: 96, n: 80, k: 112 };
  const counts = reads(each.kernel as BenchKernel, shape, 16, bits, d_bits);
  const found = limit(chipOf(each.chip, {} as never), shape, each.format, bits, counts);
  for (const name of ['compute', 'dram', 'shared'] as const) {
    const wanted = each[name] ?? null;
    if (wanted === null) expect(found[name], name).toBeNull();
    else expect(found[name]! / wanted, name).toBeCloseTo(1, 12);
  }
  expect(found.least).toBe(Math.max(found.compute!, found.dram!, found.shared ?? 0));
  expect(found.uncached!).toBeGreaterThanOrEqual(found.dram!);
});

test('a chip without figures bounds nothing', () => {
  const nothing = Object.fromEntries(
    ['float32', 'float16', 'dram', 'l2', 'shared', 'register', 'l2bytes', 'sms', 'clock'].map((name) => [name, null]),
  );
  const shape = { m: 4, n: 4, k: 4 };
  const found = limit(ownChip(nothing as never, ''), shape, 'float32', 32, reads('naive', shape, 16, 32));
  expect(found).toMatchObject({ least: null, bound: null, compute: null, uncached: null });
});
