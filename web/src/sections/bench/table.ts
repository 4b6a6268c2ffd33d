/** The count beside the time: a line for each kernel, and beneath it what is to be said of them. */

import { html, nothing, type TemplateResult } from 'lit';
import type { Loads } from '../../count/walk';
import type { Verdict } from '../../gpu/checker';
import { tag } from '../../shell/element';
import { between, count, digits, percent, si } from '../../words/numbers';
import { has, t } from '../../words/words';
import type { Line } from './lines';
import type { Predicted } from './model';
import { nameOf } from './names';

/** Columns and how their figures are known. */
const HEADS = [
  ['verdict', 'checked'],
  ['reads', 'counted'],
  ['walked', 'emulated'],
  ['adapter', 'measured'],
  ['intensity', 'counted'],
  ['least', 'predicted'],
  ['time', 'measured'],
] as const;

type Head = (typeof HEADS)[number][0];

/** A column's head, said again beside each figure where a screen is too narrow for columns. */
function head(name: Head): string {
  const known = HEADS.find(([each]) => each === name)![1];
  return `${t(`bench.head.${name}`)} (${t(`tag.${known}`)})`;
}

export type PredictedOf = (line: Line) => Predicted | null;

export function resultTable(lines: readonly Line[], chip: string, predicted: PredictedOf): TemplateResult {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t('bench.table')}>
    <table class="kernels">
      <caption class="unseen">
        ${t('bench.table')}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t('bench.head.kernel')}</th>
          ${HEADS.map(
            ([name, known]) =>
              html`<th scope="col" class=${name === 'verdict' ? '' : 'n'}>
                ${t(`bench.head.${name}`)}${name === 'least' ? html`<span class="note">${chip}</span>` : html`<br />`}${tag(known)}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${lines.map((line) => row(line, predicted(line)))}
      </tbody>
    </table>
  </div>`;
}

function row(line: Line, predicted: Predicted | null): TemplateResult {
  const { variant, counts, limit, found } = line;
  const whole = variant.without.length === 0;
  return html`<tr
    class=${whole ? '' : 'broken'}
    data-kernel=${variant.kernel}
    data-tile=${variant.tile}
    data-without=${variant.without.join(' ')}
  >
    <th scope="row" class=${whole ? 'whole' : ''}>${nameOf(variant)}</th>
    <td data-figure="verdict" data-head=${head('verdict')}>
      ${found?.fault ? html`<span class="wrong">${t('bench.fault')}</span>` : verdict(found?.verdict ?? null)}
    </td>
    <td class="n" data-figure="reads" data-head=${head('reads')}>${whole ? count(counts.elements) : '-'}</td>
    ${loads(whole ? (found?.walked ?? null) : null, counts.elements, 'walked')}
    ${loads(whole ? (found?.counted ?? null) : null, counts.elements, 'adapter')}
    <td class="n" data-head=${head('intensity')}>${whole ? digits(counts.intensity, 3) : '-'}</td>
    <td class="n" data-head=${head('least')}>
      ${
        limit.least === null || !whole
          ? '-'
          : html`${si(limit.least, 's')}<span class="note">${t(`bench.bound.${limit.bound!}`)}</span>`
      }
      ${
        predicted
          ? html`<span class="note" data-figure="model"
              >${t('bench.model', { time: si(predicted.seconds, 's'), bound: boundText(predicted.bound) })}</span
            >`
          : nothing
      }
    </td>
    ${timed(line)}
  </tr>`;
}

/** What bounds, in words; a CPU's parts go by their own names. */
function boundText(bound: string): string {
  return has(`bench.bound.${bound}`) ? t(`bench.bound.${bound}`) : bound;
}

function loads(found: Loads | null, formula: number, name: 'walked' | 'adapter'): TemplateResult {
  if (found === null) return html`<td class="n" data-figure=${name} data-head=${head(name)}>-</td>`;
  const total = found.a + found.b;
  return html`<td class="n" data-figure=${name} data-head=${head(name)}>
    ${count(total)}
    <span class="note ${total === formula ? 'right' : 'wrong'}"
      >${total === formula ? t('bench.equal') : t('bench.unequal')}</span
    >
  </td>`;
}

function timed({ found, rate, share, refused }: Line): TemplateResult {
  if (refused)
    return html`<td class="n" data-figure="time" data-head=${head('time')}>
      <span class="wrong">${t('bench.refused')}</span>
    </td>`;
  if (rate === null) return html`<td class="n" data-figure="time" data-head=${head('time')}>-</td>`;
  const { median, low, high } = found!.timing!.spread;
  return html`<td class="n" data-figure="time" data-head=${head('time')}>
    ${si(median, 's')}
    <span class="note">${between(low, high, 's', t('bench.quartiles'))}</span>
    <span class="note">${si(rate, 'FLOP/s')}</span>
    ${share === null ? nothing : html`<span class="note">${t('bench.share', { share: percent(share) })}</span>`}
  </td>`;
}

function verdict(found: Verdict | null): TemplateResult | string {
  if (found === null) return '-';
  const { right, wrong, compared, unwritten, infinite, share, first } = found;
  if (right) {
    return html`<span class="right">${t('bench.right')}</span>
      <span class="note">${t('bench.error', { share: percent(share) })}</span>`;
  }
  return html`<span class="wrong">${t('bench.wrong', { wrong, compared })}</span>
    ${first ? html`<span class="note">${t('bench.first', { row: first[0], column: first[1] })}</span>` : nothing}
    ${unwritten ? html`<span class="note">${t('bench.unwritten', { n: unwritten })}</span>` : nothing}
    ${infinite ? html`<span class="note">${t('bench.infinite', { n: infinite })}</span>` : nothing}`;
}
