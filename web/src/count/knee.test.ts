import { expect, test } from 'vitest';
import knees from '../../golden/knees.json';
import { CHIPS, formatsOf, kneeOf, LEVEL_NAMES, ownChip, asOwn } from '../data/chips';
import { accumulatorBytes, smallestTile } from './knee';

const golden = knees as Record<string, Record<string, number>>;

test('every knee of every chip is what the package says', () => {
  let held = 0;
  for (const chip of CHIPS) {
    const found: Record<string, number> = {};
    for (const format of formatsOf(chip)) {
      for (const level of LEVEL_NAMES) {
        const knee = kneeOf(chip, format, level);
        if (knee !== null) found[`${format}.${level}`] = knee;
      }
    }
    expect(Object.keys(found).sort()).toEqual(Object.keys(golden[chip.name]!).sort());
    for (const [place, knee] of Object.entries(found)) expect(knee).toBeCloseTo(golden[chip.name]![place]!, 9);
    held += Object.keys(found).length;
  }
  expect(Object.keys(golden).length).toBe(CHIPS.length);
  expect(held).toBeGreaterThan(500);
});

test('the published tiles past the knee of an A100', () => {
  const a100 = CHIPS.find(({ name }) => name === 'a100-pcie-80gb')!;
  expect(smallestTile(kneeOf(a100, 'float32')!, 32)).toBe(41);
  expect(smallestTile(kneeOf(a100, 'float16')!, 16)).toBe(323);
  expect(accumulatorBytes(323)).toBeGreaterThan(400 * 1024);
});

test('a chip taken as the start of one’s own has its figures', () => {
  const from = CHIPS.find(({ name }) => name === 'h200-sxm')!;
  const own = ownChip(asOwn(from), 'the reader');
  for (const level of LEVEL_NAMES) expect(kneeOf(own, 'float16', level)).toBe(kneeOf(from, 'float16', level));
  expect(own.figures.every(({ source }) => source === 'the reader')).toBe(true);
});
