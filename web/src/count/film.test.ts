import { expect, test } from 'vitest';
import golden from '../../golden/film.json';
import {
  allowed,
  arrayCycles,
  arrayUsed,
  dot,
  lateSum,
  rounds,
  roundsUsed,
  spacing,
  staysAt,
  stepIntensity,
  stepNumbers,
  stepWork,
  strips,
  tileOf,
} from './film';

test.each(golden.strips)(
  'strips of %i x %i tiles, groups of %i, %i at once',
  (down, across, group, programs, found) => {
    const { a, b } = strips(down!, across!, group!, programs!);
    expect(a + b).toBe(found);
  },
);

test('an order visits every tile once', () => {
  for (const [down, across, group] of [
    [5, 7, 2],
    [1, 9, 4],
    [6, 12, 3],
  ] as const) {
    const seen = Array.from({ length: down * across }, (_, i) => String(tileOf(i, down, across, group)));
    expect(new Set(seen).size).toBe(down * across);
  }
});

test.each(golden.rounds as [string, number, number, number][])('%s: %i SMs, %i tiles', (_, sms, tiles, used) => {
  expect(roundsUsed(tiles, sms)).toBeCloseTo(used, 12);
  expect(rounds(tiles, sms)).toBe(Math.round(tiles / sms / used));
});

test.each(golden.arrays)('an array of %i x %i, %i rows', (rows, columns, m, cycles, used) => {
  expect(arrayCycles(rows!, columns!, m!)).toBe(cycles);
  expect(arrayUsed(rows!, columns!, m!)).toBeCloseTo(used!, 12);
});

test.each(golden.sticking as [string, number, number, [number, number][]][])(
  '%s with %i bits stays at %d',
  (_, bits, at, neighbours) => {
    expect(staysAt(bits)).toBe(at);
    for (const [value, step] of neighbours) expect(spacing(value, bits)).toBe(step);
  },
);

test.each(golden.late as [number, number[], number[], number, number][])(
  'tiles of %i, %j and %j: %d, late %d',
  (side, a, b, right, late) => {
    expect(dot(a, b)).toBe(right);
    expect(lateSum(a, b, side)).toBe(late);
  },
);

test('a step of a tile 32 wide, and what memory lets through', () => {
  expect([stepNumbers(32), stepWork(32), stepIntensity(32, 4)]).toEqual([2048, 32768, 8]);
  expect(allowed(8, 2, 20)).toBe(16);
  expect(allowed(80, 2, 20)).toBe(20);
});
