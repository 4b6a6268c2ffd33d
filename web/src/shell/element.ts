/** What every element of the page is: it follows the state, and speaks in the page's words. */

import { html, LitElement, type CSSResultGroup, type TemplateResult } from 'lit';
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

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unfollow?.();
    this.#unfollow = null;
  }
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
