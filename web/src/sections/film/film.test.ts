import { describe, expect, test } from 'vitest';
import { limits, type Limits } from '../../count/roofs';
import { wave } from '../../count/waves';
import { chipOf } from '../../data/chips';
import { uniform } from '../../state/random';
import { SHARED } from '../../state/shared';
import { store } from '../../state/store';
import { fill } from '../../words/words';
import bench from '../bench/section';
import { argumentsOf, FILM } from './chapters';
import { BENCH, CHIP, FACTS } from './facts';
import { ANSWERS, numberOf, reckon } from './reckon';
import here, { CHAPTERS, LARGEST } from './section';
import en from './words/en.json';
import it from './words/it.json';

const WORDS = { en, it } as const;
const LANGUAGES = ['en', 'it'] as const;

/** Words of a key at a level, with every place filled. */
function said(
  language: 'en' | 'it',
  level: 'elem' | 'adv',
  key: string,
  args: Record<string, string | number>,
): string {
  const words = WORDS[language] as Record<string, string>;
  const found = words[`${key}.${level}`] ?? words[key];
  expect(found, `${language} ${key}`).toBeDefined();
  const text = fill(found!, args, language);
  expect(text, `${language} ${key}`).not.toMatch(/[{}]|NaN|undefined|Infinity/);
  return text;
}

describe.each(LANGUAGES)('the film in %s', (language) => {
  test.each(FILM)('$name: every still has words at both levels, and the numbers have names', (chapter) => {
    store.setPage({ lang: language });
    const args = argumentsOf(chapter.name);
    const key = `film.${chapter.name}`;
    for (const level of ['elem', 'adv'] as const) {
      for (let step = 0; step < chapter.stills; step++) said(language, level, `${key}.${step}`, args);
      for (const each of ['', '.picture', '.ask', '.hint']) said(language, level, key + each, args);
      expect(said(language, level, `${key}.hint`, args)).not.toMatch(/\d/); // a second try is the reader's own
      for (const [fact] of chapter.rows) said(language, level, `film.n.${chapter.name}.${fact}`, args);
    }
    expect(chapter.ask).toBeLessThan(chapter.stills);
    store.setPage({ lang: 'en' });
  });

  test.each(CHAPTERS)('%s: any number is reckoned through with that number in it', (name) => {
    store.setPage({ lang: language });
    const draw = uniform(11);
    const facts = Object.values(FACTS[name]).filter((fact) => typeof fact === 'number');
    const near = facts.flatMap((fact) => [fact, fact - 1, fact + 1, 2 * fact, fact / 2, -fact]);
    const drawn = Array.from({ length: 200 }, () => Math.round(10 ** (draw() * 12)) * (draw() < 0.1 ? -1 : 1));
    for (const x of [0, 1, -1, 0.5, 1.5, 1e12, -1e12, 1e-6, 1 / 3, ...near, ...drawn]) {
      const { right, key, args } = reckon(name, x);
      expect(right, `${name} ${x}`).toBe(x === ANSWERS[name]);
      const text = said(language, 'adv', key, { ...argumentsOf(name), ...args });
      const answer = fill('{answer}', { answer: ANSWERS[name] }, language);
      expect(text, `${name} ${x}`).toContain(answer);
      if (!right) expect(text, `${name} ${x}`).toContain(fill('{x}', args, language));
    }
    store.setPage({ lang: 'en' });
  });
});

test('the answers are those that the chapters count', () => {
  expect(ANSWERS).toEqual({
    table: 120,
    single: 1024,
    tile: 32768,
    reads: 16,
    wait: 90,
    roof: 8,
    cache: 7,
    tensor: 2048,
    array: 16,
    rest: 2,
  });
  const { naive, t8, t16 } = FACTS.reads;
  expect([naive, t8, t16]).toEqual([2147483648, 268435456, 134217728]);
  expect(FACTS.roof.smallest).toBe(41);
});

test.each([
  ['table', 240, 'flop'],
  ['table', 20, 'cells'],
  ['table', 100, 'other'],
  ['single', 2048, 'worker'],
  ['tile', 1024, 'workers'],
  ['reads', 256, 'area'],
  ['reads', 8, 'eight'],
  ['reads', 32, 'tile'],
  ['wait', 70, 'clean'],
  ['wait', 106, 'twice'],
  ['roof', 32, 'number'],
  ['roof', 12, 'past'],
  ['roof', 4, 'left'],
  ['cache', 12, 'tiles'],
  ['cache', 13, 'row'],
  ['tensor', 2047, 'early'],
  ['tensor', 65504, 'late'],
  ['array', 10, 'skewless'],
  ['array', 12, 'loadless'],
  ['array', 5, 'fast'],
  ['rest', 1.0185, 'part'],
  ['rest', 110, 'each'],
] as const)('%s: %d is told apart as %s', (name, x, kind) => {
  expect(reckon(name, x).key).toBe(`film.${name}.wrong.${kind}`);
});

test('what follows from a wrong number is reckoned with it', () => {
  expect(reckon('table', 100).args['share']).toBe(5);
  expect(reckon('single', 512).args['would']).toBe(512 * 2 * 1024 * 1024);
  expect(reckon('reads', 32).args['would']).toBe(67108864);
  expect(reckon('wait', 100).args['left']).toBe(47);
  expect(reckon('roof', 4).args['speed']).toBe('7.74 TFLOP/s');
  expect(reckon('tensor', 1500).args).toMatchObject({ next: 1501, gap: 1 });
  expect(reckon('array', 24).args).toMatchObject({ could: 384, share: '25%' });
  expect(reckon('rest', 3).args).toMatchObject({ could: 324, idle: 214 });
});

test.each([
  ['en', '32,768', 32768],
  ['en', '32768', 32768],
  ['en', ' 32 768 ', 32768],
  ['en', '2,147,483,648', 2147483648],
  ['en', '1.5', 1.5],
  ['en', '1,5', 1.5],
  ['it', '32.768', 32768],
  ['it', '32\u202f768', 32768],
  ['it', '1,5', 1.5],
  ['it', '1.5', 1.5],
  ['it', '2.147.483.648', 2147483648],
  ['it', '-7', -7],
  ['en', '623,178,822,221', 623178822221],
  ['it', '999.999.999.999', 999999999999],
  ['en', '996573112905.0255123', 996573112905.025512],
  ['it', '0.125', 0.125],
  ['en', '0,125', 0.125],
  ['en', '0.125', 0.125],
  ['it', '-0.500', -0.5],
  ['it', '10.500', 10500],
  ['en', '0,125,000', null],
  ['en', '', null],
  ['en', 'sixteen', null],
  ['en', '1e3', null],
  ['en', '1,2,3', null],
  ['en', '9999999999999', null],
  ['it', '١٦', null],
] as const)('%s: "%s" is read as %s', (language, text, value) => {
  expect(numberOf(text, language)).toBe(value);
});

test('every answer that is read has an address, and comes back from it', () => {
  for (const x of [0.123457, -1e12, LARGEST, 16, 1 / 3]) {
    const value = numberOf(String(Math.round(x * 1e6) / 1e6), 'en')!;
    const answers = { ...here.params.answers.initial, reads: value };
    expect(here.params.answers.read(here.params.answers.write(answers))).toEqual(answers);
  }
});

test('the bench can stand at the numbers of every chapter', () => {
  for (const [chapter, numbers] of Object.entries(BENCH)) {
    for (const [name, value] of Object.entries(numbers)) {
      const param = { ...SHARED, ...bench.params }[name as keyof typeof SHARED];
      expect(param.read(String(value)), `${chapter} ${name}`).toBe(value);
    }
  }
});

test('the bench counts strips and rounds as the chapters that open it do', () => {
  const on = (chapter: 'cache' | 'rest', changes = {}) =>
    limits(chipOf(CHIP, {} as never), {
      t: 16,
      raster: 'n',
      group: 1,
      ...BENCH[chapter],
      ...changes,
    } as never) as Limits;
  const strips = ({ grid }: Limits) => wave(grid, 0).rows.size + wave(grid, 0).columns.size;
  expect(strips(on('cache'))).toBe(FACTS.cache.groupBig);
  expect(strips(on('cache', { group: 1 }))).toBe(FACTS.cache.rowBig);
  const { waves, grid } = on('rest');
  expect([waves!.programs, grid.slots, Math.ceil(waves!.waves)]).toEqual([
    FACTS.rest.tiles,
    FACTS.rest.sms,
    FACTS.rest.rounds,
  ]);
  expect(waves!.efficiency).toBeCloseTo(FACTS.rest.used, 12);
});
