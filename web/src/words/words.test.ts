import { describe, expect, test, vi } from 'vitest';
import { SECTIONS } from '../state/sections';
import { store } from '../state/store';
import en from './en.json';
import it from './it.json';
import { between, capacity, count, digits, percent, power, si } from './numbers';
import { fill, t } from './words';

type Words = Record<string, string>;
const files = import.meta.glob<Words>('../sections/*/words/*.json', { eager: true, import: 'default' });
const sources = import.meta.glob<string>(['../**/*.ts', '!../**/*.test.ts'], {
  eager: true,
  query: '?raw',
  import: 'default',
});
const sectionsWithWords = [...new Set(Object.keys(files).map((path) => path.split('/')[2]!))];
const of = (name: string, language: string): Words => files[`../sections/${name}/words/${language}.json`] ?? {};
const places = (text: string) => [...text.matchAll(/\{(\w+)/g)].map((m) => m[1]!).sort();
const every: Words = Object.assign({}, en, ...sectionsWithWords.map((name) => of(name, 'en')));

describe.each([
  ['the frame', en, it] as const,
  ...sectionsWithWords.map((n) => [n, of(n, 'en'), of(n, 'it')] as const),
])('words of %s', (name, english, italian) => {
  test('both languages have the same keys, places and levels', () => {
    expect(Object.keys(italian).sort()).toEqual(Object.keys(english).sort());
    for (const [key, text] of Object.entries(english)) {
      expect([...new Set(places((italian as Words)[key]!))], key).toEqual([...new Set(places(text))]);
      const other = key.endsWith('.elem')
        ? key.replace(/elem$/, 'adv')
        : key.endsWith('.adv')
          ? key.replace(/adv$/, 'elem')
          : key;
      expect(Object.hasOwn(english, other) || Object.hasOwn(english, key.replace(/\.(elem|adv)$/, '')), other).toBe(
        true,
      );
    }
  });

  test('no text is empty, and a section keeps to its own keys', () => {
    for (const [key, text] of [...Object.entries(english), ...Object.entries(italian as Words)]) {
      expect(text.trim(), key).not.toBe('');
      expect(text, key).not.toMatch(/\u2014|TODO/);
      if (name !== 'the frame') expect(key.startsWith(`${name}.`), key).toBe(true);
    }
  });
});

test('every key that the sources name has words, and every section a title', () => {
  const known = (key: string) => ['', '.elem', '.adv'].some((end) => Object.hasOwn(every, key + end));
  const missing = Object.entries(sources).flatMap(([path, source]) =>
    [...source.matchAll(/\bt\(\s*'([^']+)'/g)]
      .map((m) => m[1]!)
      .filter((key) => !known(key))
      .map((key) => `${path}: ${key}`),
  );
  expect(missing).toEqual([]);
  expect(SECTIONS.map(({ name }) => `nav.${name}`).filter((key) => !known(key))).toEqual([]);
});

test('places are filled, numbers as the language writes them', () => {
  expect(fill('{n} {n:tile|tiles} of {what}', { n: 1, what: 'A' }, 'en')).toBe('1 tile of A');
  expect(fill('{n} {n:tile|tiles}', { n: 134217728 }, 'it')).toBe('134.217.728 tiles');
  expect(fill('{gone}', {}, 'en')).toBe('{gone}');
  expect(count(1234, 'it')).toBe('1.234');
  expect(digits(1935, 4, 'it')).toBe('1.935');
  expect(si(1.935e12, 'B/s', 3, 'en')).toBe('1.94 TB/s');
  expect(si(1.935e12, 'B/s', 4, 'it')).toBe('1,935 TB/s');
  expect(si(0.00352, 's', 3, 'en')).toBe('3.52 ms');
  expect(si(2690, 's', 3, 'en')).toBe('2,690 s');
  expect(between(0.2041, 0.2079, 's', 'to', 'en')).toBe('204 to 208 ms');
  expect(between(9.5e-4, 1.2e-3, 's', '-', 'it')).toBe('950 µs - 1,2 ms');
  expect(power(10, -6) + power(2, 137)).toBe('10⁻⁶2¹³⁷');
  expect(capacity(41943040, 'en')).toBe('40 MiB');
  expect(percent(0.514, 2, 'en')).toBe('51%');
});

test('the reading level chooses words, and a missing key shows itself', () => {
  store.setPage({ lang: 'it', lvl: 'elem' });
  expect(t('page.level.elem.name')).toBe('Elementare');
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  expect(t('no.such.key')).toBe('no.such.key');
  expect(said).toHaveBeenCalledOnce();
  store.setPage({ lang: 'en', lvl: 'adv' });
});
