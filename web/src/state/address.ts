/** Addresses: `#/section?name=value&...`. Parsing is total: any text gives a valid state and says what it dropped. */

import type { Params } from './params';
import { paramsOf, byName, FRONT, type Section } from './sections';
import { PAGE } from './shared';

export const LONGEST = 8192;

export interface Dropped {
  readonly what: string;
  readonly why: 'section' | 'name' | 'value' | 'twice' | 'long';
  readonly allowed: string;
}

export interface Address {
  readonly section: Section;
  /** Texts of the parameters given, each valid. */
  readonly given: ReadonlyMap<string, string>;
  readonly dropped: readonly Dropped[];
}

const short = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}...` : text);

/** The state that a hash means. */
export function parse(hash: string): Address {
  const dropped: Dropped[] = [];
  let rest = hash.replace(/^#/, '');
  if (rest.length > LONGEST) {
    dropped.push({ what: short(rest), why: 'long', allowed: `${LONGEST}` });
    rest = '';
  }
  const mark = rest.indexOf('?');
  const path = (mark < 0 ? rest : rest.slice(0, mark)).replace(/^\/+|\/+$/g, '');
  const found = byName.get(path);
  if (path !== '' && !found)
    dropped.push({ what: short(path), why: 'section', allowed: [...byName.keys()].join(' | ') });
  const section = found ?? FRONT;
  const params = { ...PAGE, ...paramsOf(section) };
  const given = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(mark < 0 ? '' : rest.slice(mark + 1))) {
    const param = Object.hasOwn(params, name) ? params[name as keyof typeof params] : undefined;
    const what = short(`${name}=${value}`);
    if (!param) dropped.push({ what, why: 'name', allowed: '' });
    else if (given.has(name)) dropped.push({ what, why: 'twice', allowed: '' });
    else if (param.read(value) === null) dropped.push({ what, why: 'value', allowed: param.allowed });
    else given.set(name, value);
  }
  return { section, given, dropped };
}

/** The hash of a section with these texts; those that say what holds anyway are left out. */
export function hashOf(section: Section, texts: ReadonlyMap<string, string>): string {
  const query = new URLSearchParams();
  const params: Params = { ...paramsOf(section), ...PAGE };
  for (const [name, param] of Object.entries(params)) {
    const value = texts.get(name);
    if (value !== undefined && (param.always || value !== param.write(param.initial))) query.set(name, value);
  }
  const said = query.toString();
  return `#/${section.name}${said ? `?${said}` : ''}`;
}
