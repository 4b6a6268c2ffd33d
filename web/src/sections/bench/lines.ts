/** What the bench shows: a line for each kernel, counted and bounded, with what a run found. */

import { limit, plainPeak, type Limit } from '../../count/limit';
import { reads, type Reads } from '../../count/reads';
import { CHIPS, chipOf } from '../../data/chips';
import formats from '../../data/formats.json';
import type { Outcome, Row } from '../../gpu/bench';
import { ranks, toldApart } from '../../gpu/clock';
import type { Variant } from '../../gpu/wgsl';
import type { store } from '../../state/store';
import type here from './section';

export type Set = ReturnType<typeof store.values<(typeof here)['params'], (typeof here)['uses'][number]>>;

export interface Line {
  readonly variant: Variant;
  readonly counts: Reads;
  readonly limit: Limit;
  readonly found: Row | null;
  /** FLOP/s as timed, and what of the chip's limit that is; null: not known, or not to be believed. */
  readonly rate: number | null;
  readonly share: number | null;
  /** Why a time that was taken is not shown. */
  readonly refused: 'roof' | 'any' | null;
}

/** Share by which a clock may be off before a time under the limit is refused. */
const TOLERANCE = 0.05;
/** Barriers that a cut leaves out. */
export const WITHOUT = { none: null, first: [0], second: [1], both: [0, 1] } as const;

/** The multiplication and the chip, as files name them. */
export function fromSet({ m, n, k, format, seed, chip }: Set) {
  return { m, n, k, format, seed, chip };
}

/** The kernels that are set. */
export function variantsOf({
  naive,
  tiled,
  all,
  cut,
  t,
}: Pick<Set, 'naive' | 'tiled' | 'all' | 'cut' | 't'>): Variant[] {
  const tiles = all ? [...new Set([4, 8, 16, t])].sort((one, other) => one - other) : [t];
  const without = WITHOUT[cut];
  return [
    ...(naive ? [{ kernel: 'naive', tile: t, without: [] } as const] : []),
    ...(tiled ? tiles.map((tile) => ({ kernel: 'tiled', tile, without: [] }) as const) : []),
    ...(without ? [{ kernel: 'tiled', tile: t, without } as const] : []),
  ];
}

export function same(one: Variant, other: Variant): boolean {
  return one.kernel === other.kernel && one.tile === other.tile && `${one.without}` === `${other.without}`;
}

/** Whether a run was of this multiplication. */
export function ofThis(outcome: Outcome | null, set: Set): outcome is Outcome {
  const asked = outcome?.asked;
  return (
    asked !== undefined &&
    (['m', 'n', 'k'] as const).every((side) => asked.shape[side] === set[side]) &&
    asked.format === set.format &&
    asked.seed === set.seed
  );
}

/** FLOP/s that no chip of the list exceeds without matrix instructions. */
export function fastest(format: string): number {
  return Math.max(...CHIPS.map((chip) => plainPeak(chip, format) ?? 0));
}

export function lines(set: Set, outcome: Outcome | null): Line[] {
  const { bits, d_bits } = formats[set.format as keyof typeof formats];
  const chip = chipOf(set.chip, set.mine);
  const run = ofThis(outcome, set) ? outcome : null;
  const silicon = set.same && run !== null && !run.about.software;
  return variantsOf(set).map((variant) => {
    const counts = reads(variant.kernel, set, variant.tile, bits, d_bits);
    const bound = limit(chip, set, set.format, bits, counts);
    const found = run?.rows.find((row) => same(row.variant, variant)) ?? null;
    return { variant, counts, limit: bound, found, ...judged(found, counts, bound, silicon, set.format) };
  });
}

function judged(found: Row | null, counts: Reads, bound: Limit, silicon: boolean, format: string) {
  const time = found?.timing?.spread.median;
  if (!time) return { rate: null, share: null, refused: null };
  const rate = counts.flop / time;
  if (rate > fastest(format)) return { rate: null, share: null, refused: 'any' as const };
  if (!silicon || bound.least === null) return { rate, share: null, refused: null };
  if (time < bound.least * (1 - TOLERANCE)) return { rate: null, share: null, refused: 'roof' as const };
  return { rate, share: bound.least / time, refused: null };
}

export interface Order {
  /** Timed lines, the fastest first, with their places. */
  readonly places: readonly (readonly [Line, number])[];
  /** Pairs of different places that are not told apart all the same: each is apart from a third. */
  readonly close: readonly (readonly [Line, Line])[];
}

/** How the timed kernels rank; null where fewer than two have a time. */
export function order(of: readonly Line[]): Order | null {
  const timed = of.filter((line) => line.rate !== null);
  if (timed.length < 2) return null;
  const found = ranks(timed.map((line) => line.found!.timing!.spread));
  const places = timed
    .map((line, i) => [line, found[i]!] as const)
    .sort(
      (one, other) => one[1] - other[1] || one[0].found!.timing!.spread.median - other[0].found!.timing!.spread.median,
    );
  const close = places.flatMap(([one, place], i) =>
    places
      .slice(i + 1)
      .filter(([other, behind]) => behind > place && !toldApart(one.found!.timing!.spread, other.found!.timing!.spread))
      .map(([other]) => [one, other] as const),
  );
  return { places, close };
}
