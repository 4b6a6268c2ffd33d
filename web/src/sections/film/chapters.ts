/** The chapters: how many stills each has, where it asks, its picture, and the words' numbers. */

import type { Known } from '../../shell/element';
import { count, digits, percent, si } from '../../words/numbers';
import type { Arguments } from '../../words/words';
import { cache, roof, wait } from './draw/limits';
import { readsPicture, single, table, tile } from './draw/tables';
import { array, rest, tensor } from './draw/units';
import type { Picture } from './draw/kit';
import { FACTS } from './facts';
import { CHAPTERS, type ChapterName } from './section';

export interface Chapter {
  readonly name: ChapterName;
  /** Stills, the question among them. */
  readonly stills: number;
  /** The still at which it waits for the reader's number. */
  readonly ask: number;
  readonly draw: (step: number) => Picture;
  /** Rows of its table of numbers: a fact, and how it is known. */
  readonly rows: readonly (readonly [fact: string, known: Known])[];
  /** Another section that shows the same at length. */
  readonly also?: 'schedules' | 'systolic' | 'precision';
}

const rows = (known: Known, ...facts: string[]) => facts.map((fact) => [fact, known] as const);

const DETAILS: Readonly<Record<ChapterName, Omit<Chapter, 'name'>>> = {
  table: { stills: 4, ask: 2, draw: table, rows: rows('counted', 'cells', 'work', 'flop', 'bigFlop') },
  single: { stills: 5, ask: 3, draw: single, rows: rows('counted', 'each', 'numbers', 'reads') },
  tile: { stills: 6, ask: 4, draw: tile, rows: rows('counted', 'numbers', 'work', 'perNumber', 'flopPerByte') },
  reads: { stills: 5, ask: 2, draw: readsPicture, rows: rows('counted', 'naive', 't8', 't16', 't32', 'floor') },
  wait: {
    stills: 6,
    ask: 4,
    draw: wait,
    rows: rows('counted', 'waits', 'right', 'late'),
    also: 'schedules',
  },
  roof: {
    stills: 5,
    ask: 3,
    draw: roof,
    rows: [
      ...rows('datasheet', 'peak', 'bandwidth'),
      ...rows('counted', 'knee', 't16', 't32', 'smallest'),
      ...rows('predicted', 'speed0', 'speed16', 'speed32'),
    ],
  },
  cache: {
    stills: 5,
    ask: 2,
    draw: cache,
    rows: rows('counted', 'alone', 'inRow', 'inBlock', 'rowBig', 'groupBig'),
  },
  tensor: {
    stills: 5,
    ask: 3,
    draw: tensor,
    rows: [...rows('datasheet', 'once', 'peak', 'peak16'), ...rows('counted', 'knee16', 'stays', 'stays32')],
    also: 'precision',
  },
  array: {
    stills: 5,
    ask: 3,
    draw: array,
    rows: rows('counted', 'work', 'cycles', 'used', 'enters', 'longCycles', 'longUsed'),
    also: 'systolic',
  },
  rest: {
    stills: 5,
    ask: 2,
    draw: rest,
    rows: [...rows('counted', 'tiles'), ...rows('datasheet', 'sms'), ...rows('counted', 'rounds', 'used')],
  },
};

export const FILM: readonly Chapter[] = CHAPTERS.map((name) => ({ name, ...DETAILS[name] }));
export const chapterOf = (name: ChapterName): Chapter => FILM[CHAPTERS.indexOf(name)]!;

/** Facts that are no plain counts, as the page's language writes them. */
const WRITTEN: Readonly<Record<string, (value: number) => string>> = {
  peak: (value) => si(value, 'FLOP/s'),
  peak16: (value) => si(value, 'FLOP/s'),
  bandwidth: (value) => si(value, 'B/s', 4),
  speed0: (value) => si(value, 'FLOP/s'),
  speed16: (value) => si(value, 'FLOP/s'),
  speed32: (value) => si(value, 'FLOP/s'),
  knee: (value) => digits(value),
  knee16: (value) => digits(value),
  used: (value) => percent(value, 3),
  longUsed: (value) => percent(value, 3),
  more: (value) => percent(value, 2),
};

export function written(fact: string, value: number | string): string {
  if (typeof value === 'string') return value;
  return WRITTEN[fact]?.(value) ?? count(value);
}

/** What the words of a chapter may name. */
export function argumentsOf(name: ChapterName): Arguments {
  return Object.fromEntries(
    Object.entries(FACTS[name]).map(([fact, value]) => [fact, WRITTEN[fact] ? written(fact, value) : value]),
  );
}
