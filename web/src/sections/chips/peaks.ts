/** What the table shows and sorts by. */

import { bandwidthOf, kneeOf, peakOf, type Chip, type Figure } from '../../data/chips';
import { count, digits } from '../../words/numbers';
import type { SORTS } from './section';

/** Formats that one column stands for; the highest peak of them counts. */
export const WIDTHS = {
  float32: ['float32'],
  float16: ['float16', 'bfloat16'],
  int8: ['float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz', 'int8'],
} as const;
export type Width = keyof typeof WIDTHS;

/** The format of the column in which the chip is fastest, or null. */
export function best(of: Chip, width: Width): string | null {
  const has = WIDTHS[width].filter((format) => peakOf(of, format) !== null);
  return has.toSorted((a, b) => peakOf(of, b)! - peakOf(of, a)!)[0] ?? null;
}

/** The column that the knee is told for: 16 bits, else 8, else 32. */
export function told(of: Chip): string | null {
  return best(of, 'float16') ?? best(of, 'int8') ?? best(of, 'float32');
}

/** The peak's figure of a column. */
export function peakFigure(of: Chip, width: Width): Figure | null {
  const format = best(of, width);
  return format === null ? null : of.figure(`peaks.${format}.flop_per_s`);
}

/** The knee that the table tells: of the told format, at DRAM. */
export function toldKnee(of: Chip): number | null {
  const format = told(of);
  return format === null ? null : kneeOf(of, format);
}

/** Chips in the order of a column: names upwards, numbers from the highest, unknown ones last. */
export function sorted(chips: readonly Chip[], by: (typeof SORTS)[number]): Chip[] {
  const value = (of: Chip): number => {
    if (by === 'year') return of.year ?? 0;
    if (by === 'dram') return bandwidthOf(of, 'dram') ?? 0;
    if (by === 'knee') return toldKnee(of) ?? 0;
    return by === 'name' ? 0 : (peakFigure(of, by)?.value ?? 0);
  };
  return chips.toSorted((a, b) => value(b) - value(a) || a.name.localeCompare(b.name, 'en'));
}

/** A knee as both tables write it. */
export const kneeText = (knee: number): string => (knee < 100 ? digits(knee, 3) : count(Math.round(knee)));
