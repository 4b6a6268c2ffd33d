import { expect, test } from 'vitest';
import { names } from '../sections/precision/names';
import vectors from '../../golden/fused.json';
import { dot, encode, FORMATS, UNITS, unitOf, valueOf, type Sum, type UnitName } from './fused';

test('500 dot products come out to the bit as in the package, of every unit', () => {
  expect(vectors.length).toBe(500);
  expect(new Set(vectors.map(([name]) => name)).size).toBe(Object.keys(UNITS).length);
  for (const [name, a, b, c, code] of vectors as [UnitName, number[], number[], number, number][]) {
    expect(dot(unitOf(name), a, b, c), `${name} ${a} ${b} ${c}`).toBe(code);
  }
});

test('an address names the units that there are', () => expect([...names]).toEqual(Object.keys(UNITS)));

test('what is watched adds up to the result', () => {
  for (const [name, a, b, c, code] of vectors as [UnitName, number[], number[], number, number][]) {
    const sums: Sum[] = [];
    dot(unitOf(name), a, b, c, (sum) => sums.push(sum));
    const { terms, k } = unitOf(name);
    expect(sums.length).toBe((Math.ceil(a.length / k) * k) / terms);
    expect(sums.at(-1)!.result).toBe(code);
    for (const sum of sums) expect(sum.kept.reduce((x, y) => x + y, 0n)).toBe(sum.total);
  }
});

test('every code of the small formats is the nearest to its own value', () => {
  for (const [name, form] of Object.entries(FORMATS)) {
    const step = form.bits > 16 ? 65_537 * 3 : 1;
    for (let code = 0; code <= form.max_magnitude; code += step) {
      expect(encode(valueOf(code, name), name), `${name} ${code}`).toBe(code);
    }
  }
  expect(encode(1e9, 'float8_e4m3fn')).toBe(FORMATS.float8_e4m3fn.max_magnitude);
  expect(valueOf(encode(0.1, 'float32'), 'float32')).toBe(Math.fround(0.1));
  expect(valueOf(encode(-3.3, 'float16'), 'float16')).toBe(-3.30078125);
});
