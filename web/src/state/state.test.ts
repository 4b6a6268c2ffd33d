import { describe, expect, test, vi } from 'vitest';
import { hashOf, parse } from './address';
import { choice, figures, flag, int, ints, real, text, type Param, type Params } from './params';
import { uniform } from './random';
import { byName, paramsOf, SECTIONS } from './sections';
import { PAGE, SHARED } from './shared';
import { Store } from './store';

const HOSTILE = [
  '', '#', '#/', '#//', '#?', '#/?', '#/chips?', '#/chips?=', '#/chips?&&&', '#/chips?chip', '#/chips?chip=', '#/chips?chip=%',
  '#/chips?chip=%E0%A4%A', '#/chips?__proto__=1', '#/__proto__', '#/constructor?toString=1', '#/chips?chip=a10&chip=t4',
  '#/chips?lang=it&lang=en', '#/chips?lvl=ELEM', '#/chips?theme=dark%00', '#/bench?m=1e3', '#/bench?m=-1', '#/bench?m=NaN',
  '#/bench?m=Infinity', '#/bench?m=0x10', '#/bench?m=٣', '#/bench?m= 5', '#/bench?m=1.5', '#/bench?m=' + '9'.repeat(400),
  '#/../../etc/passwd', '#/chips#/chips', '#javascript:alert(1)', '#/<script>alert(1)</script>', '#/chips?chip=<img src=x onerror=1>',
  '#/chips?mine=________', '#/chips?mine=1_2', '#/chips?mine=' + '_'.repeat(9000), '#/chips?' + 'a=1&'.repeat(3000), '#/\u0000\ud800',
  '#/chips?mine=1e999________', '#/chips?sort=name;drop', '#/CHIPS', '#/chips/', '#chips?sort=year', '#/chips?sort=year&sort=year',
]; // prettier-ignore

const draw = uniform(7);
const pick = <T>(among: readonly T[]): T => among[Math.floor(draw() * among.length)]!;
const scraps = [
  '',
  '0',
  '1',
  '-1',
  '16',
  '1e9',
  '1e400',
  'NaN',
  'own',
  'it',
  'elem',
  'dark',
  'a10',
  '%',
  '%zz',
  '&',
  '=',
  '?',
  '#',
  '_',
  '\u202e',
  '💥',
];

function anyHash(): string {
  const keys = [...Object.keys(SHARED), ...SECTIONS.flatMap((s) => Object.keys(s.params)), 'x', '__proto__', ''];
  const pairs = Array.from({ length: Math.floor(draw() * 12) }, () => `${pick(keys)}=${pick(scraps)}${pick(scraps)}`);
  return `#/${pick([...byName.keys(), '', 'x', '..'])}?${pairs.join('&')}`;
}

/** Every value is one that its parameter allows. */
function valid(store: Store): void {
  const values = { ...store.values(store.section), ...store.page } as Record<string, unknown>;
  for (const [name, param] of Object.entries({ ...PAGE, ...paramsOf(store.section) } as Params)) {
    expect(param.read(param.write(values[name])), `${name}=${String(values[name])}`).toEqual(values[name]);
  }
}

describe('addresses', () => {
  test.each([...HOSTILE, ...Array.from({ length: 500 }, anyHash)].map((hash) => [hash]))(
    '%j gives a valid state',
    (hash) => {
      const store = new Store();
      store.open(hash);
      valid(store);
      const again = new Store();
      again.open(store.hash());
      expect(again.dropped).toEqual([]);
      expect(again.values(again.section)).toEqual(store.values(store.section));
      expect(again.page).toEqual(store.page);
    },
  );

  test('what is dropped is said, with what is allowed', () => {
    const { dropped } = parse('#/nowhere?m=0&zzz=1&lang=it&lang=en');
    expect(dropped.map(({ why }) => why)).toEqual(['section', expect.stringMatching(/value|name/), 'name', 'twice']);
    const far = parse('#/chips?sort=height').dropped;
    expect(far).toEqual([{ what: 'sort=height', why: 'value', allowed: expect.stringContaining('knee') }]);
    expect(parse(`#/chips?mine=${'1'.repeat(9000)}`).dropped[0]!.why).toBe('long');
  });

  test('a state that is set comes back from its address; what holds anyway is not written', () => {
    const store = new Store();
    const chips = byName.get('chips')!;
    expect(hashOf(chips, new Map())).toBe('#/chips');
    store.go(chips as never, { sort: 'knee', chip: 'tpu-v1', lang: 'it' } as never);
    expect(store.hash()).toBe('#/chips?chip=tpu-v1&sort=knee&lang=it');
    expect(store.values(chips as never)).toMatchObject({ sort: 'knee', chip: 'tpu-v1' });
    store.set(chips as never, { chip: 'no such chip' } as never);
    expect(store.values(chips as never)).toMatchObject({ chip: 'h100-sxm' });
  });
});

test('a browser that takes no more addresses for a while holds nothing up, and has the last one later', () => {
  vi.useFakeTimers();
  const store = new Store();
  let refusing = false;
  const window = Object.assign(new EventTarget(), {
    location: { hash: '#/chips' },
    history: {
      replaceState(_: unknown, __: string, hash: string) {
        if (refusing) throw new DOMException('more than 100 times per 30 seconds', 'SecurityError');
        window.location.hash = hash;
      },
    },
  });
  store.attach(window as unknown as Window);
  const seen = vi.fn();
  store.subscribe(seen);
  const chips = byName.get('chips')! as never;
  refusing = true;
  store.set(chips, { sort: 'knee' } as never);
  store.set(chips, { sort: 'year' } as never);
  expect(seen).toHaveBeenCalledTimes(2);
  expect(store.values(chips)).toMatchObject({ sort: 'year' });
  expect(window.location.hash).toBe('#/chips');
  vi.advanceTimersByTime(5000);
  refusing = false;
  vi.advanceTimersByTime(5000);
  expect(window.location.hash).toBe('#/chips?sort=year');
  refusing = true;
  store.set(chips, { sort: 'name' } as never);
  store.open('#/film'); // the reader has gone on: what was to be written is no longer so
  refusing = false;
  vi.advanceTimersByTime(5000);
  expect(window.location.hash).toBe('#/chips?sort=year');
  vi.useRealTimers();
});

describe('parameters', () => {
  const kinds: [string, Param<any>][] = [
    ['int', int(-3, 40, 2)],
    ['real', real(0.5, 1e18, 2)],
    ['choice', choice(['a', 'b'], 'b')],
    ['flag', flag(true)],
    ['text', text(12)],
    ['ints', ints(3, 0, 9, [1, 2])],
    ['figures', figures(['p', 'q'], 1, 1e12)],
  ];

  test.each(kinds)('%s: the first value, and whatever is read, is written and read again', (_, param) => {
    expect(param.read(param.write(param.initial))).toEqual(param.initial);
    for (let i = 0; i < 2000; i++) {
      const given = Array.from({ length: Math.floor(draw() * 6) }, () =>
        pick([...scraps, '3', '7', 'a', 'b', '.', '5e-1']),
      ).join('');
      const value = param.read(given);
      if (value !== null) expect(param.read(param.write(value))).toEqual(value);
    }
  });

  test('whatever number is set is read again, however long it is', () => {
    const param = real(-1e21, 1e21, 1);
    for (const value of [
      0.1 + 0.2,
      1.2345678901234567e-5,
      1e17,
      5e20,
      -123456789012345680000,
      1e-6 / 3,
      5e-324,
      2 / 3,
    ]) {
      expect(param.read(param.write(value))).toBe(value);
    }
    expect(SHARED.mine.read(SHARED.mine.write({ ...SHARED.mine.initial, float16: 5e17 }))?.float16).toBe(5e17);
  });

  test('what is set outside the range becomes the nearest in it', () => {
    expect(int(1, 64, 16).write(1000)).toBe('64');
    expect(int(1, 64, 16).write(NaN)).toBe('16');
    expect(real(1, 2, 1).write(-Infinity)).toBe('1');
    expect(ints(2, 0, 9).write([1, 99, 3])).toBe('1_9');
  });
});

test('sections: addresses, names and own parameters that no other meaning has', () => {
  expect(byName.size).toBe(SECTIONS.length);
  for (const found of SECTIONS) {
    expect(found.name).toMatch(/^[a-z]+$/);
    for (const name of Object.keys(found.params)) {
      expect(Object.hasOwn(SHARED, name), `${found.name}.${name} is shared`).toBe(false);
      expect(name).toMatch(/^[a-z]\w*$/i);
    }
  }
});
