/** What no run of naive or tiled on a chip goes below, from the chip's own figures. */

import { bandwidthOf, peakOf, type Chip } from '../data/chips';
import type { Reads, Shape } from './reads';

export interface Limit {
  /** Seconds of the arithmetic, of each matrix once through DRAM, of the memory of workgroups; null: not known. */
  readonly compute: number | null;
  readonly dram: number | null;
  readonly shared: number | null;
  /** Seconds if every read went to DRAM, no cache helping. */
  readonly uncached: number | null;
  /** The longest of the first three. */
  readonly least: number | null;
  readonly bound: 'compute' | 'dram' | 'shared' | null;
}

/**
 * Peak of the lanes that such a kernel uses: it says no matrix instruction. Where only matrix units are rated, narrow
 * operands are widened to float32, and lanes do half of what those do.
 */
export function plainPeak(chip: Chip, format: string): number | null {
  const own = peakOf(chip, format);
  if (own === null || chip.units[format] !== 'tensor') return own;
  return format === 'float64' || chip.units['float32'] !== 'vector' ? own / 2 : peakOf(chip, 'float32');
}

export function limit(chip: Chip, { m, n, k }: Shape, format: string, bits: number, counted: Reads): Limit {
  const over = (amount: number, rate: number | null) => (rate && amount > 0 ? amount / rate : null);
  const memory = bandwidthOf(chip, 'dram');
  const found = {
    compute: over(counted.flop, plainPeak(chip, format)),
    dram: over(((m * k + k * n) * bits) / 8 + counted.stored, memory),
    shared: over(counted.shared, bandwidthOf(chip, 'shared')),
  };
  const known = (['compute', 'dram', 'shared'] as const).filter((name) => found[name] !== null);
  const bound = known.toSorted((one, other) => found[other]! - found[one]!)[0] ?? null;
  const complete = found.compute !== null && found.dram !== null;
  return {
    ...found,
    uncached: over(counted.bytes + counted.stored, memory),
    least: complete && bound ? found[bound] : null,
    bound: complete ? bound : null,
  };
}
