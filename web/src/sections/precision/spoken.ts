/** What the table of units says, in the page's language or marked as English. */

import { html, type TemplateResult } from 'lit';
import { store } from '../../state/store';
import { italian } from './italian';

export function spoken(text: string): TemplateResult {
  const found = store.page.lang === 'it' ? italian(text) : null;
  return found === null ? html`<span lang="en">${text}</span>` : html`${found}`;
}
