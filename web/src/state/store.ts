/** The page's state. It lives in the address; between sections the page remembers what each was set to. */

import { hashOf, parse, type Dropped } from './address';
import type { Param, Params, Values } from './params';
import { byName, FRONT, paramsOf, type Section } from './sections';
import { PAGE, SHARED, type PageValues, type SharedName } from './shared';

type Shared<U extends SharedName> = Pick<Values<typeof SHARED>, U>;
type Changes<P extends Params, U extends SharedName> = Partial<Values<P> & Shared<U> & PageValues>;

const AGAIN_MS = 1000;

export class Store {
  section: Section = FRONT;
  /** What the address asked for and cannot be had. */
  dropped: readonly Dropped[] = [];
  private readonly texts = new Map<string, string>();
  private readonly listeners = new Set<() => void>();
  private window: Window | null = null;
  /** The next try to write the address, where a browser would not take the last. */
  private later: ReturnType<typeof setTimeout> | undefined;

  /** Take the state from a window's address, and follow it. Without one the state lives in memory alone. */
  attach(window: Window): void {
    this.window = window;
    window.addEventListener('hashchange', () => this.open(window.location.hash));
    this.open(window.location.hash);
  }

  /** Go where a hash leads. What it leaves out of the section's own parameters falls back to what holds at first. */
  open(hash: string): void {
    clearTimeout(this.later);
    const { section, given, dropped } = parse(hash);
    for (const name of Object.keys(paramsOf(section))) this.texts.delete(slot(section, name));
    for (const [name, text] of given) this.texts.set(slot(section, name), text);
    for (const name of Object.keys(PAGE)) if (!given.has(name)) this.texts.delete(name);
    this.section = section;
    this.dropped = dropped;
    this.tell();
  }

  /** What a section is set to: its own parameters and the shared ones that it uses. */
  values<P extends Params, U extends SharedName>(of: Section<P, U>): Values<P> & Shared<U> {
    const found = Object.entries(paramsOf(of as unknown as Section)).map(([name, param]) => [
      name,
      this.value(slot(of, name), param),
    ]);
    return Object.fromEntries(found) as Values<P> & Shared<U>;
  }

  /** Whether a parameter was given or changed, so that the address says it. */
  says(of: { readonly name: string }, name: string): boolean {
    return this.texts.has(slot(of, name));
  }

  /** Language, reading level and theme. */
  get page(): PageValues {
    return Object.fromEntries(Object.entries(PAGE).map(([n, p]) => [n, this.value(n, p)])) as unknown as PageValues;
  }

  /** Change parameters of a section, the one shown unless another is named; values that are not allowed become the nearest. */
  set<P extends Params, U extends SharedName>(of: Section<P, U>, changes: Changes<P, U>): void {
    const params: Params = { ...paramsOf(of as unknown as Section), ...PAGE };
    for (const [name, value] of Object.entries(changes)) {
      const param = params[name];
      if (!param) throw new Error(`${of.name} has no parameter ${name}`);
      this.texts.set(slot(of, name), param.write(value));
    }
    this.dropped = [];
    this.write();
    this.tell();
  }

  /** Put the state into the address. Browsers bound how often that is done, some by an error: then once more, later. */
  private write(): void {
    clearTimeout(this.later);
    try {
      this.window?.history.replaceState(null, '', this.hash());
    } catch {
      this.later = setTimeout(() => this.write(), AGAIN_MS);
    }
  }

  /** Change language, level or theme. */
  setPage(changes: Partial<PageValues>): void {
    this.set(this.section, changes as never);
  }

  /** The address of a section as it is set now, or with these changes: what a link to it holds. */
  hash<P extends Params, U extends SharedName>(
    to: Section<P, U> | string = this.section as never,
    changes: Changes<P, U> = {} as Changes<P, U>,
  ): string {
    const found = (typeof to === 'string' ? byName.get(to) : to) as Section | undefined;
    if (!found) throw new Error(`no section ${String(to)}`);
    const texts = new Map<string, string>();
    const params: Params = { ...paramsOf(found), ...PAGE };
    for (const [name, param] of Object.entries(params)) {
      const held = this.texts.get(slot(found, name));
      if (Object.hasOwn(changes, name)) texts.set(name, param.write((changes as Record<string, unknown>)[name]));
      else if (held !== undefined) texts.set(name, held);
    }
    return hashOf(found, texts);
  }

  /** Go to another section: a new entry of the browser's history. */
  go<P extends Params, U extends SharedName>(
    to: Section<P, U> | string,
    changes: Changes<P, U> = {} as Changes<P, U>,
  ): void {
    const hash = this.hash(to, changes);
    if (this.window) this.window.location.hash = hash;
    this.open(hash); // at once: the event comes later, and a key that is pressed before it must not undo the way
  }

  /** Forget what was dropped: the reader has seen it. */
  seen(): void {
    this.dropped = [];
    this.tell();
  }

  /** Draw again: something that is no state, such as words, has come. */
  refresh(): void {
    this.tell();
  }

  /** Call back after every change, until the function returned is called. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private value<T>(at: string, param: Param<T>): T {
    const text = this.texts.get(at);
    return text === undefined ? param.initial : (param.read(text) ?? param.initial);
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

/** Shared parameters are kept once, a section's own under its name. */
function slot(of: { readonly name: string }, name: string): string {
  return Object.hasOwn(SHARED, name) ? name : `${of.name}.${name}`;
}

export const store = new Store();
