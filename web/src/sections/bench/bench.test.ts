import { expect, test } from 'vitest';
import type { Outcome, Row } from '../../gpu/bench';
import { spread } from '../../gpu/clock';
import { FAULTS } from '../../gpu/fault';
import { store } from '../../state/store';
import { csv, entries, json, plainName } from './export';
import { fastest, lines, ofThis, order, same, variantsOf } from './lines';
import here from './section';
import shared from '../../words/en.json';
import sharedIt from '../../words/it.json';
import { OF_LIMITS, OF_RUN } from './glossary';
import en from './words/en.json';
import it from './words/it.json';

store.open('#/bench?m=256&n=256&k=256&chip=a10');
const set = store.values(here);
const verdict = {
  right: true,
  compared: 65536,
  wrong: 0,
  unwritten: 0,
  infinite: 0,
  error: 1e-6,
  share: 0.1,
  first: null,
  rows: 256,
};

function outcome(seconds: readonly (readonly number[])[], software = false): Outcome {
  const rows: Row[] = variantsOf(set).map((variant, i) => ({
    variant,
    counted: { a: 1, b: 2 },
    walked: { a: 1, b: 2 },
    verdict,
    timing: seconds[i] ? { samples: seconds[i], repetitions: 4, spread: spread(seconds[i], 0) } : null,
    fault: null,
  }));
  const about = { name: 'a, "chip"', vendor: '', software, stamps: true, half: false };
  const { m, n, k, format, seed } = set;
  const asked = { shape: { m, n, k }, format, seed, variants: variantsOf(set) };
  return { asked, about, rows, source: 'stamps', stepS: 1e-9, distrusted: null };
}

test('every fault and every cause of a limit has words in both languages', () => {
  const keys = [
    ...FAULTS.map((name) => `bench.fault.${name}`),
    ...['compute', 'dram', 'shared'].map((name) => `bench.bound.${name}`),
    ...['drawing', 'checking', 'walking', 'counting', 'running', 'timing'].map((name) => `bench.stage.${name}`),
    ...['none', 'first', 'second', 'both'].map((name) => `bench.cut.${name}`),
    ...['first', 'second', 'both'].map((name) => `bench.tiled.${name}`),
    ...['stamps', 'wall'].map((name) => `bench.clock.${name}`),
  ];
  for (const words of [en, it]) expect(keys.filter((key) => !Object.hasOwn(words, key))).toEqual([]);
});

/** Words of the trade, by the one that explains them; in either language. */
const TRADE: Readonly<Record<string, RegExp>> = {
  adapter: /WebGPU|adapter|adattatore/i,
  bandwidth: /bandwidth|\bbanda\b|\bpeak\b|\bpicco\b/i,
  barrier: /barrier/i,
  dram: /DRAM/,
  float: /float\d/,
  flop: /FLOP/,
  kernel: /kernel/i,
  knee: /\bknee\b|ginocchio/i,
  l2: /\bL2\b/,
  order: /launch order|ordine di lancio/i,
  quartiles: /quartil/i,
  registers: /register|registri/i,
  roofline: /roofline/i,
  seed: /\bseed\b|\bseme\b/i,
  shared: /shared memory|memoria condivisa|\bcache\b/i,
  sm: /\bSMs?\b|\bwarp|\bcores?\b/,
  strip: /\bstrip|\bstrisc/i,
  team: /workgroup|\bprograms?\b|\bprogramm[ai]\b/i,
  tensor: /tensor core|mma/i,
  thread: /thread|invocation|invocazion/i,
  tile: /\btiles?\b|tesser/i,
  walked: /\bwalked\b|percorse/i,
  wave: /\bwaves?\b|ondat/i,
};
/** What is not to be read at the elementary level at all. */
const NOT_THERE = /WGSL|float64|shader|lock-?step|di pari passo|Strassen|intensity|intensità|timestamp/i;

test('at the elementary level each word of the trade is explained beside it, in both languages', () => {
  for (const [own, frame] of [
    [en, shared],
    [it, sharedIt],
  ] as [Record<string, string>, Record<string, string>][]) {
    const heard = { ...frame, ...own };
    const read = Object.entries(heard).filter(
      ([key]) =>
        /^(bench|level|kernel|field)\./.test(key) &&
        !key.endsWith('.adv') &&
        !key.startsWith('bench.word.') &&
        !Object.hasOwn(heard, `${key}.elem`),
    );
    for (const [key, text] of read) expect(text.replace(/{\w+/g, '{'), key).not.toMatch(NOT_THERE);
    const explained: readonly string[] = [...OF_RUN, ...OF_LIMITS];
    for (const [name, pattern] of Object.entries(TRADE)) {
      expect(
        read.some(([, text]) => pattern.test(text)),
        name,
      ).toBe(true);
      expect(explained, name).toContain(name);
      expect(heard[`bench.word.${name}`], name).toMatch(pattern);
    }
    for (const name of explained) expect(heard[`bench.word.${name}.is`], name).toBeDefined();
  }
});

test('the kernels that are set, each once', () => {
  const names = (given: Partial<typeof set>) => variantsOf({ ...set, ...given }).map(plainName);
  expect(names({})).toEqual(['naive', 'tiled-16']);
  expect(names({ all: true, t: 8 })).toEqual(['naive', 'tiled-4', 'tiled-8', 'tiled-16']);
  expect(names({ all: true, t: 5, naive: false })).toEqual(['tiled-4', 'tiled-5', 'tiled-8', 'tiled-16']);
  expect(names({ naive: false, tiled: false, cut: 'second' })).toEqual(['tiled-16-without-barrier-2']);
  expect(names({ naive: false, tiled: false })).toEqual([]);
  const [one, other] = variantsOf({ ...set, naive: false, cut: 'both' });
  expect([same(one!, one!), same(one!, other!)]).toEqual([true, false]);
});

test('what a run found shows with the multiplication that it was of, and with no other', () => {
  const found = outcome([[1], [2]]);
  expect(lines(set, found).map((line) => line.found?.timing?.spread.median)).toEqual([1, 2]);
  for (const changed of [{ m: 255 }, { seed: 2 }, { format: 'float16' }] as const) {
    expect(ofThis(found, { ...set, ...changed })).toBe(false);
    expect(lines({ ...set, ...changed }, found).every((line) => line.found === null)).toBe(true);
  }
  expect(lines({ ...set, t: 8 }, found).map((line) => line.found !== null)).toEqual([false, false]);
});

test('a time under the limit of the chip that the device is said to be is refused, and one that no chip reaches always', () => {
  const [naive] = lines(set, null);
  const { least } = naive!.limit;
  const shown = (seconds: number, given: object, software = false) => {
    const [line] = lines({ ...set, ...given }, outcome([[seconds, seconds, seconds]], software));
    return [line!.refused, line!.rate !== null, line!.share === null ? null : Number(line!.share.toFixed(6))];
  };
  expect(shown(least! * 2, { same: true })).toEqual([null, true, 0.5]);
  expect(shown(least! * 0.96, { same: true })).toEqual([null, true, 1.041667]);
  expect(shown(least! * 0.9, { same: true })).toEqual(['roof', false, null]);
  expect(shown(least! * 0.9, { same: false })).toEqual([null, true, null]);
  expect(shown(least! * 2, { same: true }, true)).toEqual([null, true, null]);
  const never = naive!.counts.flop / (fastest('float32') * 1.01);
  expect(shown(never, { same: false })).toEqual(['any', false, null]);
  expect(shown(never, { same: false }, true)).toEqual(['any', false, null]);
});

test('kernels are ordered only where their quartiles are apart', () => {
  const places = (seconds: readonly (readonly number[])[]) =>
    order(lines(set, outcome(seconds)))?.places.map(([line, place]) => [plainName(line.variant), place]);
  expect(
    places([
      [3, 3.1, 3.2],
      [1, 1.1, 1.2],
    ]),
  ).toEqual([
    ['tiled-16', 1],
    ['naive', 2],
  ]);
  expect(
    places([
      [1.05, 1.15, 1.25],
      [1, 1.1, 1.2],
    ]),
  ).toEqual([
    ['tiled-16', 1],
    ['naive', 1],
  ]);
  expect(places([[1, 1, 1]])).toBeUndefined();
  const three = { ...set, all: true, naive: false };
  const found = outcome([]);
  const timed = lines(three, null).map(({ variant }, i) => {
    const samples = [
      [1, 1.1, 1.2],
      [0.9, 1.3, 2],
      [1.5, 1.6, 1.7],
    ][i]!;
    return { ...found.rows[0]!, variant, timing: { samples, repetitions: 1, spread: spread(samples, 0) } };
  });
  const all = order(lines(three, { ...found, rows: timed }))!;
  expect(all.places.map(([, place]) => place)).toEqual([1, 1, 2]);
  expect(all.close.map((pair) => pair.map(({ variant }) => plainName(variant)))).toEqual([['tiled-8', 'tiled-16']]);
});

test('files hold every figure once, quoted where it has to be, and no time that is refused', () => {
  const found = outcome([
    [0.001, 0.001, 0.001],
    [1e-12, 1e-12, 1e-12],
  ]);
  const shown = lines(set, found);
  const told = entries(shown);
  expect(new Set(told.map(({ kernel, figure }) => `${kernel} ${figure}`)).size).toBe(told.length);
  expect(told.filter(({ figure }) => figure === 'time')).toEqual([
    { kernel: 'naive', figure: 'time', value: 0.001, unit: 's', known: 'measured' },
  ]);
  const text = csv(set, shown, found).trimEnd().split('\n');
  expect(text).toHaveLength(told.length + 1);
  expect(text[1]).toContain('"a, ""chip"""');
  expect(csv(set, lines(set, null), null).split('\n')[0]).toBe('m,n,k,format,seed,chip,kernel,figure,value,unit,known');
  expect(JSON.parse(json(set, shown, found))).toMatchObject({ device: { clock: 'stamps' }, figures: told });
  expect(JSON.parse(json(set, shown, null)).device).toBeNull();
});
