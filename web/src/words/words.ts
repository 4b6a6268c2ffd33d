/** The page's words: flat keys, English and Italian, some in two reading levels. */

import { store } from '../state/store';
import type { Language } from '../state/shared';
import en from './en.json';
import it from './it.json';
import { count } from './numbers';

type Words = Readonly<Record<string, string>>;
export type Arguments = Readonly<Record<string, string | number>>;

const held: Record<Language, Map<string, string>> = {
  en: new Map(Object.entries(en)),
  it: new Map(Object.entries(it)),
};
const files = import.meta.glob<{ default: Words }>('../sections/*/words/*.json');
const asked = new Map<string, Promise<void>>();

/** Load the words of a section in the page's language; at once where they are here. */
export function wordsOf(section: string, language: Language = store.page.lang): Promise<void> {
  const path = `../sections/${section}/words/${language}.json`;
  const load = files[path];
  if (!load) return Promise.resolve();
  let loading = asked.get(path);
  if (!loading) {
    loading = load().then(({ default: found }) => {
      for (const [key, text] of Object.entries(found)) held[language].set(key, text);
      store.refresh();
    });
    loading.catch(() => asked.delete(path));
    asked.set(path, loading);
  }
  return loading;
}

/** Whether a key has words. */
export function has(key: string): boolean {
  return find(key) !== undefined;
}

/**
 * The words of a key, for the page's language and reading level (`key.elem` or `key.adv` before `key`).
 *
 * `{name}` is an argument; numbers are written as the language writes them. `{name:one|many}` chooses by a number.
 */
export function t(key: string, given: Arguments = {}): string {
  const found = find(key);
  if (found === undefined) {
    console.error(`no words for ${key}`);
    return key;
  }
  return fill(found, given, store.page.lang);
}

/** Words with their places filled. */
export function fill(words: string, given: Arguments, language: Language): string {
  return words.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (whole, name: string, one?: string, many?: string) => {
    const value = given[name];
    if (value === undefined) return whole;
    if (one === undefined) return typeof value === 'number' ? count(value, language) : value;
    return new Intl.PluralRules(language).select(Number(value)) === 'one' ? one : (many ?? '');
  });
}

/** Words in the page's language, or in the other while those are still on their way. */
function find(key: string): string | undefined {
  const { lang, lvl } = store.page;
  const other = lang === 'en' ? 'it' : 'en';
  return (
    held[lang].get(`${key}.${lvl}`) ?? held[lang].get(key) ?? held[other].get(`${key}.${lvl}`) ?? held[other].get(key)
  );
}
