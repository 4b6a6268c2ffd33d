/** What the chips' files say in words: in the page's language where somebody has translated it, else marked as English. */

import { html, type TemplateResult } from 'lit';
import { store } from '../../state/store';

let table: typeof import('./italian') | null = null;

/** Have what the page's language needs. */
export async function ready(): Promise<void> {
  if (store.page.lang !== 'it' || table) return;
  table = await import('./italian');
  store.refresh();
}

export function told(text: string): TemplateResult {
  const italian = store.page.lang === 'it' ? (table?.italian(text) ?? null) : null;
  return italian === null ? html`<span lang="en">${text}</span>` : html`${italian}`;
}
