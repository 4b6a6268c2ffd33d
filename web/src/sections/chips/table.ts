/** All chips, a line each. */

import { html, type TemplateResult } from 'lit';
import { CHIPS, type Chip, type Figure } from '../../data/chips';
import { tag } from '../../shell/element';
import { store } from '../../state/store';
import { digits } from '../../words/numbers';
import { t } from '../../words/words';
import { kneeText, peakFigure, sorted, toldKnee, type Width } from './peaks';
import here, { SORTS } from './section';

const NUMBERS: readonly Width[] = ['float32', 'float16', 'int8'];

/** A figure in a unit, with a mark where its sources leave doubt. */
export function shown(figure: Figure | null, unit: number): TemplateResult | string {
  if (figure === null) return '-';
  const text = digits(figure.value / unit, 4);
  return figure.sure ? text : html`${text}<abbr title=${t('chips.unsure')}>?</abbr>`;
}

export function chipTable(): TemplateResult {
  const { sort, kind, chip } = store.values(here);
  const rows = sorted(
    CHIPS.filter((each) => kind === 'all' || each.kind === kind),
    sort,
  );
  return html`
    <div class="row">
      <label class="inline"
        >${t('chips.kind')}
        <select
          @change=${(event: Event) => store.set(here, { kind: (event.target as HTMLSelectElement).value as 'all' })}
        >
          ${(['all', 'gpu', 'tpu', 'cpu'] as const).map(
            (each) => html`<option value=${each} .selected=${each === kind}>${t(`chips.kind.${each}`)}</option>`,
          )}
        </select></label
      >
      <label class="inline"
        >${t('chips.sort')}
        <select
          @change=${(event: Event) => store.set(here, { sort: (event.target as HTMLSelectElement).value as 'name' })}
        >
          ${SORTS.map((each) => html`<option value=${each} .selected=${each === sort}>${t(`chips.head.${each}`)}</option>`)}
        </select></label
      >
      <span class="small quiet">${tag('datasheet')}, ${t('chips.head.knee')} ${tag('counted')}</span>
    </div>
    <div class="scroll tall" tabindex="0" role="region" aria-label=${t('chips.table')}>
      <table>
        <caption class="unseen">
          ${t('chips.table')}
        </caption>
        <thead>
          <tr>
            ${SORTS.map(
              (each) =>
                html`<th
                  scope="col"
                  class=${each === 'name' ? '' : 'n'}
                  aria-sort=${each === sort ? (each === 'name' ? 'ascending' : 'descending') : 'none'}
                >
                  ${t(`chips.head.${each}`)}
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.map((each) => line(each, each.name === chip))}
        </tbody>
      </table>
    </div>
  `;
}

function line(of: Chip, chosen: boolean): TemplateResult {
  const knee = toldKnee(of);
  return html`<tr class=${chosen ? 'chosen' : ''}>
    <th scope="row">
      <button class="plain" aria-pressed=${chosen} @click=${() => store.set(here, { chip: of.name as 'own' })}>
        ${of.name}
      </button>
    </th>
    <td class="n">${of.year ?? '-'}</td>
    ${NUMBERS.map((width) => html`<td class="n">${shown(peakFigure(of, width), 1e12)}</td>`)}
    <td class="n">${shown(of.figure('levels.dram.bandwidth_bytes_per_s'), 1e9)}</td>
    <td class="n">${knee === null ? '-' : kneeText(knee)}</td>
  </tr>`;
}
