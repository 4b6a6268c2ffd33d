/** What follows from the reader's number: right or not, and the words that go through it. */

import { allowed, spacing } from '../../count/film';
import formats from '../../data/formats.json';
import { digits, percent, si } from '../../words/numbers';
import type { Arguments } from '../../words/words';
import { FACTS } from './facts';
import { LARGEST, type ChapterName } from './section';

export interface Reckoned {
  readonly right: boolean;
  /** Key of its words. */
  readonly key: string;
  readonly args: Arguments;
}

/** The answer of each chapter's question. */
export const ANSWERS: Readonly<Record<ChapterName, number>> = {
  table: FACTS.table.work,
  single: FACTS.single.n,
  tile: FACTS.tile.work,
  reads: FACTS.reads.times,
  wait: FACTS.wait.late,
  roof: FACTS.roof.t32,
  cache: FACTS.cache.inBlock,
  tensor: FACTS.tensor.stays,
  array: FACTS.array.cycles,
  rest: FACTS.rest.rounds,
};

type Kind = readonly [kind: string, args?: Arguments];
type Way = (x: number) => Kind;

/** A number in full where it is whole and exact, else to four digits. */
const shown = (value: number): string | number => (Number.isSafeInteger(value) ? value : digits(value, 4));

/** What a wrong number is, where it is the answer to another question; else what would follow from it. */
const WRONG: Readonly<Record<ChapterName, Way>> = {
  table(x) {
    const { cells, flop, sizeA, sizeB } = FACTS.table;
    if (x === cells) return ['cells'];
    if (x === flop) return ['flop'];
    if (x === sizeA || x === sizeB) return ['size', { of: x === sizeA ? 'A' : 'B' }];
    return ['other', { share: shown(x / cells) }];
  },
  single(x) {
    const { each, numbers } = FACTS.single;
    if (x === 1) return ['once'];
    if (x === each) return ['worker'];
    return ['other', { would: shown(x * numbers) }];
  },
  tile(x) {
    const { workers, numbers, flop } = FACTS.tile;
    if (x === workers) return ['workers'];
    if (x === numbers) return ['numbers'];
    if (x === flop) return ['flop'];
    return ['other', { each: shown(x / workers) }];
  },
  reads(x) {
    const { area, t16, naive, times8 } = FACTS.reads;
    if (x === area) return ['area', { would: shown(naive / x) }];
    if (x === times8) return ['eight'];
    if (x === t16) return ['count'];
    return Number.isInteger(x) && x <= FACTS.reads.n
      ? ['tile', { would: shown(naive / x) }]
      : ['other', { would: shown(naive / x) }];
  },
  wait(x) {
    const { right, twice, secondSum, mixedSum } = FACTS.wait;
    if (x === right) return ['clean'];
    if (x === twice) return ['twice'];
    if (x === secondSum || x === mixedSum) return ['part'];
    return ['other', { left: shown(x - secondSum) }];
  },
  roof(x) {
    const { perNumber, bandwidth, peak, knee } = FACTS.roof;
    if (x === perNumber) return ['number'];
    if (x === perNumber / 2) return ['adds'];
    const speed = si(allowed(x, bandwidth, peak), 'FLOP/s');
    return [x < knee ? 'left' : 'past', { speed }];
  },
  cache(x) {
    const { programs, alone, inRow } = FACTS.cache;
    if (x === programs) return ['tiles'];
    if (x === alone) return ['alone'];
    if (x === inRow) return ['row'];
    return ['other', { serves: shown(alone / x) }];
  },
  tensor(x) {
    const { stays } = FACTS.tensor;
    return x < stays
      ? ['early', { next: x + 1, gap: shown(spacing(x, formats.float16.mantissa_bits)) }]
      : ['late', { beyond: stays + 1 }];
  },
  array(x) {
    const { rows, m, skew, cells, work } = FACTS.array;
    if (x === rows + m) return ['skewless'];
    if (x === m + skew) return ['loadless'];
    if (x * cells < work) return ['fast', { could: shown(x * cells) }];
    return ['other', { could: shown(x * cells), share: percent(work / (x * cells), 3) }];
  },
  rest(x) {
    const { sms, tiles } = FACTS.rest;
    if (x === 1) return ['one'];
    if (x === tiles || x === sms) return ['each'];
    return ['other', { could: shown(x * sms), idle: shown(x * sms - tiles) }];
  },
};

/** Chapters whose answer need not be a whole number to be reckoned with. */
const FRACTIONS: readonly ChapterName[] = ['reads', 'roof', 'rest'];

/** What follows from a reader's number. */
export function reckon(chapter: ChapterName, x: number): Reckoned {
  const args = { x: shown(x), answer: ANSWERS[chapter] };
  if (x === ANSWERS[chapter]) return { right: true, key: `film.${chapter}.right`, args };
  const whole = Number.isInteger(x) || FRACTIONS.includes(chapter);
  if (chapter !== 'wait' && (x <= 0 || !whole)) return { right: false, key: 'film.reckon.none', args };
  if (chapter === 'rest' && !Number.isInteger(x)) return { right: false, key: 'film.rest.wrong.part', args };
  const [kind, more = {}] = WRONG[chapter](x);
  return { right: false, key: `film.${chapter}.wrong.${kind}`, args: { ...args, ...more } };
}

/** The number that a text means, digits grouped and decimals marked as in the language; null where it is none. */
export function numberOf(text: string, language: 'en' | 'it'): number | null {
  const [group, mark] = language === 'it' ? ['\\.', ','] : [',', '\\.'];
  const plain = text.trim().replace(/[\s\u00a0\u202f'’]/g, '');
  // nobody groups digits behind a zero: 0.125 has the mark of another language
  const grouped = new RegExp(`^[-+]?[1-9]\\d{0,2}(${group}\\d{3})+(${mark}\\d+)?$`);
  const single = /^[-+]?\d+([.,]\d+)?$/;
  if (grouped.test(plain)) return within(plain.replace(new RegExp(group, 'g'), ''));
  return single.test(plain) ? within(plain) : null;
}

/** Six decimals at most, and no further from zero than an address may say. */
function within(text: string): number | null {
  const value = Number(Number(text.replace(',', '.')).toFixed(6));
  return Math.abs(value) <= LARGEST ? value + 0 : null;
}
