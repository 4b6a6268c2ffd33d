import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Given } from '../../count/array';
import { Registers } from '../../count/registers';
import palette from '../../data/palette.json';
import { draw } from './stage';

const COLOUR = Object.fromEntries(Object.entries(palette).map(([role, [light]]) => [role, light!]));

/** What a pen has painted: the colour of every pixel's middle, and how many strokes it took. */
function painted(size: number, given: Given, cycle: number): readonly [string[], number] {
  const pixels = Array<string>(size * size).fill('');
  let strokes = 0;
  const pen = {
    fillStyle: '',
    fillRect(left: number, top: number, width: number, height: number) {
      strokes++;
      for (let y = Math.round(top); y < Math.round(top + height); y++) {
        pixels.fill(this.fillStyle, y * size + Math.round(left), y * size + Math.round(left + width));
      }
    },
  };
  draw(pen as unknown as CanvasRenderingContext2D, size, size, given, cycle);
  return [pixels, strokes];
}

/** The colour of a PE, from its registers alone. */
function expected(given: Given, found: Registers, i: number, j: number): string {
  const word = found.word(i, j);
  if (word >= 0) return COLOUR[Math.floor(word / Math.max(1, given.rows >> 4)) % 4 === 0 ? 'sky' : 'teal']!;
  const stays = (['held', 'behind', ...(given.flow === 'os' ? (['sums'] as const) : [])] as const).some(
    (kind) => found.kinds[kind] && found.at(kind, i, j) !== null,
  );
  return COLOUR[stays ? 'mist' : 'grid']!;
}

beforeEach(() => {
  vi.stubGlobal('document', { documentElement: { dataset: { theme: 'light' } } });
});
afterEach(() => vi.unstubAllGlobals());

describe('a large array', () => {
  const sides = { rows: 64, cols: 64, m: 70, n: 130, k: 90 };
  const ways: Given[] = [
    { ...sides, flow: 'ws', weights: 'double', drain: 'side' },
    { ...sides, flow: 'ws', weights: 'single', drain: 'side' },
    { ...sides, flow: 'is', weights: 'double', drain: 'side' },
    { ...sides, flow: 'os', weights: 'double', drain: 'side' },
    { ...sides, flow: 'os', weights: 'double', drain: 'bottom' },
    { ...sides, flow: 'os', weights: 'double', drain: 'shadow' },
  ];
  it.each(ways)('has every PE in the colour of what it does: %o', (given) => {
    for (const cycle of [0, 1, 50, 64, 100, 133, 190, 260, 400]) {
      const [pixels] = painted(3 * 64, given, cycle);
      const found = new Registers(given, cycle);
      const wrong: string[] = [];
      for (let i = 0; i < 64; i++) {
        for (let j = 0; j < 64; j++) {
          if (pixels[(3 * i + 1) * 192 + 3 * j + 1] !== expected(given, found, i, j)) wrong.push(`${i},${j}`);
        }
      }
      expect(wrong, `cycle ${cycle}`).toEqual([]);
    }
  });

  it('takes a stroke for neighbours that look alike, not one for each', () => {
    const given = { ...sides, rows: 256, cols: 256, m: 512, flow: 'ws', weights: 'double', drain: 'side' } as const;
    expect(painted(512, given, 300)[1]).toBeLessThan(256 * 256 * 0.1);
  });
});
