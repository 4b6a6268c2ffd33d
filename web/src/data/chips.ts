/** Chips as the page uses them: figures with their sources, from gemmlab's files or from the reader. */

import { OWN_CHIP } from '../state/shared';
import raw from './chips.json';

export interface Figure {
  /** Dotted, its end names the SI unit: `levels.dram.bandwidth_bytes_per_s`. */
  readonly path: string;
  readonly value: number;
  readonly source: string;
  readonly sure: boolean;
  readonly note: string;
}

export type LevelName = 'dram' | 'l2' | 'shared' | 'register';
export const LEVEL_NAMES: readonly LevelName[] = ['dram', 'l2', 'shared', 'register'];

export interface Chip {
  readonly name: string;
  readonly fullName: string;
  readonly vendor: string;
  readonly architecture: string;
  readonly kind: string;
  readonly year: number | null;
  readonly features: readonly string[];
  readonly notes: readonly string[];
  /** Whether predictions rest on a data sheet alone or on readings. */
  readonly standing: string;
  /** By format: `tensor` or `vector`. */
  readonly units: Readonly<Record<string, string>>;
  /** Lanes of a warp, where the chip has such. */
  readonly warpSize: number | null;
  readonly figures: readonly Figure[];
  /** The figure at a path, or null. */
  figure(path: string): Figure | null;
}

type Raw = (typeof raw)[keyof typeof raw];
export type OwnFigures = Readonly<Record<(typeof OWN_CHIP)[number], number | null>>;

function chip(about: Omit<Chip, 'figure'>): Chip {
  const byPath = new Map(about.figures.map((figure) => [figure.path, figure]));
  return { ...about, figure: (path) => byPath.get(path) ?? null };
}

function read(found: Raw): Chip {
  return chip({
    name: found.name,
    fullName: found.full_name,
    vendor: found.vendor,
    architecture: found.architecture,
    kind: found.kind,
    year: found.year || null,
    features: found.features,
    notes: found.notes,
    standing: found.standing,
    units: found.units as Record<string, string>,
    warpSize: found.warp_size,
    figures: (found.figures as unknown as [string, number, number, boolean, string][]).map(
      ([path, value, source, sure, note]) => ({ path, value, source: found.sources[source] ?? '', sure, note }),
    ),
  });
}

export const CHIPS: readonly Chip[] = Object.values(raw).map((found) => read(found as Raw));
const byName = new Map(CHIPS.map((found) => [found.name, found]));

/** Where each of the reader's figures goes. */
const PLACES: Readonly<Record<(typeof OWN_CHIP)[number], readonly string[]>> = {
  float32: ['peaks.float32.flop_per_s'],
  float16: ['peaks.bfloat16.flop_per_s', 'peaks.float16.flop_per_s'],
  dram: ['levels.dram.bandwidth_bytes_per_s'],
  l2: ['levels.l2.bandwidth_bytes_per_s'],
  shared: ['levels.shared.bandwidth_bytes_per_s'],
  register: ['levels.register.bandwidth_bytes_per_s'],
  l2bytes: ['levels.l2.capacity_bytes'],
  sms: ['sm_count'],
  clock: ['clock_hz'],
};

/** The reader's chip; figures not given are not there. `source` says in words that they are the reader's. */
export function ownChip(mine: OwnFigures, source: string): Chip {
  const figures = OWN_CHIP.flatMap((name) => {
    const value = mine[name];
    return value === null ? [] : PLACES[name].map((path) => ({ path, value, source, sure: true, note: '' }));
  });
  return chip({
    name: 'own',
    fullName: '',
    vendor: '',
    architecture: '',
    kind: 'gpu',
    year: null,
    features: [],
    notes: [],
    standing: 'data sheet only',
    units: {},
    warpSize: null,
    figures,
  });
}

/** A chip of the list, or the reader's. */
export function chipOf(name: string, mine: OwnFigures, source = ''): Chip {
  return name === 'own' ? ownChip(mine, source) : byName.get(name)!;
}

/** What the reader's form starts from: the figures of a chip. */
export function asOwn(from: Chip): OwnFigures {
  const value = (paths: readonly string[]) => paths.map((path) => from.figure(path)?.value).find(Boolean) ?? null;
  return Object.fromEntries(OWN_CHIP.map((name) => [name, value(PLACES[name].toReversed())])) as OwnFigures;
}

/** Dense peak of a format in FLOP/s, or null. */
export function peakOf(of: Chip, format: string): number | null {
  return of.figure(`peaks.${format}.flop_per_s`)?.value ?? null;
}

/** Bandwidth of a level in bytes/s, or null. */
export function bandwidthOf(of: Chip, level: LevelName): number | null {
  return of.figure(`levels.${level}.bandwidth_bytes_per_s`)?.value ?? null;
}

/** Capacity of a level in bytes, or null. */
export function capacityOf(of: Chip, level: LevelName): number | null {
  return of.figure(`levels.${level}.capacity_bytes`)?.value ?? null;
}

/** Formats that a chip multiplies, the widest first. */
export function formatsOf(of: Chip): string[] {
  return of.figures.flatMap(({ path }) => /^peaks\.(\w+)\.flop_per_s$/.exec(path)?.[1] ?? []);
}

/** FLOP/byte past which arithmetic and not that level bounds: peak over bandwidth; null where either is unknown. */
export function kneeOf(of: Chip, format: string, level: LevelName = 'dram'): number | null {
  const peak = peakOf(of, format);
  const bandwidth = bandwidthOf(of, level);
  return peak && bandwidth ? peak / bandwidth : null;
}
