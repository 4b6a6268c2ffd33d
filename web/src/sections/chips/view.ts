/** Chips: a table of all, one with a source for every figure, and the reader's own. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { chipOf } from '../../data/chips';
import { define, LabElement } from '../../shell/element';
import { base } from '../../shell/style';
import { store } from '../../state/store';
import { t } from '../../words/words';
import { ownForm } from './own';
import here from './section';
import { sheet, sources } from './sheet';
import { chipTable } from './table';

class Chips extends LabElement {
  static override styles = [
    base,
    css`
      .inline {
        display: inline-flex;
        white-space: nowrap;
        gap: 8px;
        align-items: center;
      }
      .tall {
        max-height: 460px;
        overflow: auto;
        margin-top: 10px;
      }
      .tall thead th {
        position: sticky;
        top: 0;
        background: var(--paper);
      }
      button.plain {
        border-color: transparent;
        background: none;
        padding: 2px 8px;
        margin-left: -8px;
        min-height: 28px;
        color: var(--teal);
        white-space: nowrap;
        text-decoration: underline;
      }
      button.plain[aria-pressed='true'] {
        background: var(--mist);
        color: var(--ink);
        text-decoration: none;
      }
      .light {
        font-weight: 400;
        overflow-wrap: anywhere;
      }
      .note {
        display: block;
        max-width: 80ch;
        overflow-wrap: anywhere;
        color: var(--quiet);
        font-size: 0.88rem;
      }
      .doubt {
        color: var(--ochre);
        font-weight: 600;
      }
      abbr {
        text-decoration: none;
        color: var(--ochre);
        font-weight: 700;
        cursor: help;
      }
      ul,
      ol {
        padding-left: 1.3em;
        color: var(--quiet);
        font-size: 0.9rem;
      }
      .fields.wide {
        grid-template-columns: repeat(auto-fit, minmax(150px, 1fr));
        margin: 10px 0;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const { chip, mine } = store.values(here);
    const of = chipOf(chip, mine, t('chips.own.source'));
    return html`
      <h1>${t('chips.title')}</h1>
      <p>${t('chips.lead')}</p>
      <section class="card">
        ${chipTable()}
        <p class="small quiet">${t('chips.table.about')}</p>
      </section>
      ${sheet(of)} ${ownForm()} ${of.name === 'own' ? nothing : sources(of)}
    `;
  }
}

define('lab-chips', Chips);
export { ready } from './told';
