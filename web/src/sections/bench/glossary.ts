/** The technical words of a card, each explained in the card itself: for readers at the elementary level. */

import { html, nothing, type TemplateResult } from 'lit';
import { store } from '../../state/store';
import { t } from '../../words/words';

/** Words of what is set, counted and run. */
export const OF_RUN = [
  'kernel',
  'thread',
  'team',
  'tile',
  'barrier',
  'float',
  'flop',
  'walked',
  'adapter',
  'dram',
  'shared',
  'quartiles',
  'seed',
  'chip',
] as const;

/** Words of what bounds it. */
export const OF_LIMITS = [
  'roofline',
  'knee',
  'l2',
  'registers',
  'bandwidth',
  'tensor',
  'sm',
  'wave',
  'strip',
  'order',
] as const;

export function glossary(names: readonly string[]): TemplateResult | typeof nothing {
  if (store.page.lvl !== 'elem') return nothing;
  return html`<details class="glossary" open>
    <summary>${t('bench.words')}</summary>
    <dl class="small">
      ${names.map(
        (name) =>
          html`<div>
            <dt>${t(`bench.word.${name}`)}</dt>
            <dd>${t(`bench.word.${name}.is`)}</dd>
          </div>`,
      )}
    </dl>
  </details>`;
}
