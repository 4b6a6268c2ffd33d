import { describe, expect, test } from 'vitest';
import arrays from '../../golden/arrays.json';
import states from '../../golden/registers.json';
import { countsOf, Tiles, type Given } from './array';
import { Registers, type Kind } from './registers';

type Row = [number, number, number, number, number, Given['flow'], Given['weights'], Given['drain']];
const givenOf = ([m, n, k, rows, cols, flow, weights, drain]: Row): Given => ({
  m,
  n,
  k,
  rows,
  cols,
  flow,
  weights,
  drain,
});

test('cycles by cause, words moved and utilisation are the closed form of the package', () => {
  for (const { given, utilisation, ...told } of arrays) {
    const counts = countsOf(givenOf(given as Row));
    expect({ ...counts, utilisation: 0 }, given.join(' ')).toEqual({ ...told, utilisation: 0 });
    expect(counts.utilisation).toBeCloseTo(utilisation, 12);
  }
});

const grid = <T>(rows: number, cols: number, at: (i: number, j: number) => T) =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: cols }, (_, j) => at(i, j)));

describe.each(states.map((each) => [each.given.join(' '), each] as const))('registers of %s', (_, each) => {
  const given = givenOf(each.given as Row);
  test('hold the same elements after each cycle', () => {
    expect(countsOf(given).cycles).toBe(each.cycles);
    for (const state of each.states) {
      const found = new Registers(given, state.cycle);
      const kinds = Object.keys(found.kinds) as Kind[];
      expect(kinds.toSorted()).toEqual(
        Object.keys(state)
          .filter((key) => !['cycle', 'leaving'].includes(key))
          .sort(),
      );
      for (const kind of kinds) {
        const told = grid(given.rows, given.cols, (i, j) => found.at(kind, i, j));
        expect(told, `${kind} after cycle ${state.cycle}`).toEqual((state as Record<string, unknown>)[kind]);
      }
      const order = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
      expect(order(found.leaving()), `leaving in cycle ${state.cycle}`).toEqual(order(state.leaving));
    }
  });

  test('make every multiply-add once', () => {
    let made = 0;
    for (let cycle = 0; cycle < each.cycles; cycle++) {
      const found = new Registers(given, cycle);
      expect(found.working).toBe(
        grid(given.rows, given.cols, (i, j) => Number(found.busy(i, j)))
          .flat()
          .reduce((a, b) => a + b),
      );
      made += found.working;
    }
    expect(made).toBe(given.m * given.n * given.k);
  });
});

test('a tile is found by its time as by its number', () => {
  for (const { given } of arrays) {
    const tiles = new Tiles(givenOf(given as Row));
    const step = Math.max(1, Math.floor(tiles.count / 50));
    for (let number = 0; number < tiles.count; number += step) {
      const { start } = tiles.at(number);
      expect(tiles.before(start), given.join(' ')).toBe(number);
      if (number > 0) expect(tiles.before(start - 1)).toBe(number - 1);
    }
  }
});
