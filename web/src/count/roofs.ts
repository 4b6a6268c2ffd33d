/** The rooflines of one kernel on one chip: each level's bytes, time, intensity and knee, and which of them bounds. */

import { bandwidthOf, capacityOf, LEVEL_NAMES, type Chip, type LevelName } from '../data/chips';
import { fits, fitted, formatOf, type Asked, type Kernel, type Misfit } from './kernel';
import { peakFor, resident, usableSms, type Peak, type Resident } from './machine';
import { moved, type Moved } from './moved';
import type { Shape } from './reads';
import { lockStepReads, waves, type Grid, type Waves } from './waves';

export interface Roof {
  readonly level: LevelName;
  readonly bytes: number;
  readonly bandwidth: number;
  readonly seconds: number;
  readonly intensity: number;
  readonly knee: number;
}

export interface Limits {
  readonly kernel: Kernel;
  readonly moved: Moved;
  readonly peak: Peak;
  readonly held: Resident;
  readonly grid: Grid;
  /** Null where nobody says how many SMs the chip has. */
  readonly waves: Waves | null;
  readonly roofs: readonly Roof[];
  readonly computeSeconds: number;
  /** The longest of arithmetic and each level, registers apart: no run is shorter while programs stay in step. */
  readonly seconds: number;
  readonly bound: LevelName | 'compute';
}

/** What the shared parameters of an address ask for. */
export type Bench = Asked & Shape & { readonly raster: 'n' | 'm'; readonly group: number };

/** DRAM bytes of a launch order, programs in lock-step: reads of A and B, and D once. */
export function dramBytes(chip: Chip, grid: Grid, counted: Moved): number {
  const l2 = capacityOf(chip, 'l2');
  if (l2 === null) return counted.compulsoryBytes;
  return lockStepReads(grid, l2, chip.features.includes('l2_partitions') ? 2 : 1) + counted.storeBytes;
}

export function limits(chip: Chip, asked: Bench): Limits | Misfit {
  const kernel = fitted(asked);
  if (!fits(kernel)) return kernel;
  const peak = peakFor(chip, kernel, asked.format);
  if (!peak) return { misfit: 'format', given: { format: asked.format, chip: chip.name } };
  const held = resident(chip, kernel, asked.format);
  if (!fits(held)) return held;
  const { bits, d_bits: resultBits } = formatOf(asked.format);
  const counted = moved(kernel, asked, asked.format, chip.features.includes('clusters'));
  const { m, n, k, raster, group } = asked;
  const { blockM, blockN } = kernel;
  const slots = usableSms(chip, kernel) * held.programs;
  const grid = { m, n, k, blockM, blockN, raster, group, slots, a: bits / 8, b: bits / 8, d: resultBits / 8 };
  const bytes: Record<LevelName, number> = {
    dram: dramBytes(chip, grid, counted),
    l2: counted.l2Bytes,
    shared: counted.sharedBytes,
    register: counted.registerBytes,
  };
  // warps and their registers mean nothing on a systolic array, whose memory hands a tile over once
  const inner: readonly LevelName[] = chip.kind === 'tpu' ? ['shared', 'register'] : [];
  const roofs = LEVEL_NAMES.filter((level) => !inner.includes(level)).flatMap((level) => {
    const bandwidth = bandwidthOf(chip, level);
    if (!bandwidth || bytes[level] <= 0) return [];
    const seconds = bytes[level] / bandwidth;
    const intensity = counted.flop / bytes[level];
    return [{ level, bytes: bytes[level], bandwidth, seconds, intensity, knee: peak.flopPerS / bandwidth }];
  });
  const computeSeconds = counted.flop / peak.flopPerS;
  const waiting = roofs.filter(({ level }) => level !== 'register');
  const longest = waiting.toSorted((a, b) => b.seconds - a.seconds)[0];
  const memory = longest && longest.seconds > computeSeconds ? longest : null;
  return {
    kernel,
    moved: counted,
    peak,
    held,
    grid,
    waves: chip.figure('sm_count') ? waves(grid) : null,
    roofs,
    computeSeconds,
    seconds: memory?.seconds ?? computeSeconds,
    bound: memory?.level ?? 'compute',
  };
}
