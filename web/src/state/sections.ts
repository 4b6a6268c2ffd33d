/** What a section of the page declares, and the list of all of them, found by their folders. */

import type { Params } from './params';
import { SHARED, type SharedName } from './shared';

export interface Section<P extends Params = Params, U extends SharedName = SharedName> {
  /** The folder's name, the address `#/name`, and the prefix of its words. */
  readonly name: string;
  /** Place in the navigation; null keeps it out. */
  readonly order: number | null;
  /** Shared parameters that it reads. */
  readonly uses: readonly U[];
  /** Its own. */
  readonly params: P;
  /** Other sections whose words its view needs too. */
  readonly words?: readonly string[];
  /** Loads the file that defines `<lab-NAME>`. */
  readonly load: () => Promise<unknown>;
}

/** Declare a section; types only. */
export function section<const P extends Params, const U extends SharedName>(found: Section<P, U>): Section<P, U> {
  return found;
}

/** All parameters that an address of this section may carry. */
export function paramsOf(found: Section): Params {
  const used = found.uses.map((name) => [name, SHARED[name]] as const);
  return { ...Object.fromEntries(used), ...found.params };
}

const modules = import.meta.glob<{ default: Section }>('../sections/*/section.ts', { eager: true });

export const SECTIONS: readonly Section[] = Object.values(modules)
  .map((module) => module.default)
  .sort((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity));

export const byName = new Map(SECTIONS.map((found) => [found.name, found]));

/** Where an address that names no section leads. */
export const FRONT = byName.get('film') ?? SECTIONS[0]!;
