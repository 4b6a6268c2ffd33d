/** What every element of the page is: it follows the state, and speaks in the page's words. */

import { html, LitElement, type CSSResultGroup, type PropertyValues, type TemplateResult } from 'lit';
import { store } from '../state/store';
import { t } from '../words/words';
import { base } from './style';

export abstract class LabElement extends LitElement {
  static override styles: CSSResultGroup = base;
  #unfollow: (() => void) | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unfollow = store.subscribe(() => this.requestUpdate());
  }

  protected override updated(_: PropertyValues): void {
    for (const each of this.renderRoot.querySelectorAll<HTMLElement>('.scroll')) follow(each);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unfollow?.();
    this.#unfollow = null;
  }
}

/** What is wider than its place says so above itself, as no browser shows a bar before it is scrolled. */
const sizes = globalThis.ResizeObserver
  ? new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const place = target.closest<HTMLElement>('.scroll')!;
        const over = place.scrollWidth > place.clientWidth + 1;
        if (over !== 'more' in place.dataset)
          over ? (place.dataset['more'] = t('page.more')) : delete place.dataset['more'];
      }
    })
  : null;
const followed = new WeakSet<Element>();

function follow(place: HTMLElement): void {
  for (const each of [place, ...place.children]) {
    if (followed.has(each)) continue;
    followed.add(each);
    sizes?.observe(each);
  }
  if ('more' in place.dataset) place.dataset['more'] = t('page.more');
}

export type Known = 'counted' | 'emulated' | 'predicted' | 'measured' | 'checked' | 'datasheet';

/** How a figure is known, as a small label. */
export function tag(known: Known): TemplateResult {
  return html`<span class="tag ${known}" title=${t(`tag.${known}.why`)}>${t(`tag.${known}`)}</span>`;
}

/** Define an element once: the page, the export and a notebook may load the same file. */
export function define(name: string, element: CustomElementConstructor): void {
  if (!customElements.get(name)) customElements.define(name, element);
}
