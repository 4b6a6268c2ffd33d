/** Cycles by cause, words moved, and the three dataflows beside each other; PEs at work by cycle as a curve. */

import { html, svg, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { countsOf, FLOWS, type Counts, type Given } from '../../count/array';
import { Registers } from '../../count/registers';
import { ink } from '../../draw/colours';
import { tag } from '../../shell/element';
import { store } from '../../state/store';
import { count, percent } from '../../words/numbers';
import { t } from '../../words/words';
import here from './section';

const POINTS = 240;
const [WIDE, TALL] = [720, 120];

/** Where a cycle lies in the curve. */
const across = (cycle: number, { cycles }: Counts): number => (cycles === 1 ? 0 : (cycle / (cycles - 1)) * WIDE);

/** The corners of the curve. */
function corners(given: Given, counts: Counts): string {
  const points = Math.min(POINTS, counts.cycles);
  const pes = given.rows * given.cols;
  const line = Array.from({ length: points }, (_, place) => {
    const cycle = points === 1 ? 0 : Math.round((place * (counts.cycles - 1)) / (points - 1));
    const share = new Registers(given, cycle).working / pes;
    return `${across(cycle, counts).toFixed(1)},${(TALL - share * TALL).toFixed(1)}`;
  });
  return `0,${TALL} ${line.join(' ')} ${WIDE},${TALL}`;
}

/** PEs at work in cycles spread over the whole run. */
export function curve(given: Given, counts: Counts, cycle: number): TemplateResult {
  const x = across(cycle, counts);
  const level = TALL - counts.utilisation * TALL;
  return html`
    <figure>
      <svg
        viewBox="-2 -4 ${WIDE + 4} ${TALL + 8}"
        role="img"
        aria-label=${t('systolic.curve.about', { share: percent(counts.utilisation) })}
      >
        <polygon
          points=${guard(Object.values(given), () => corners(given, counts))}
          fill=${ink('mist')}
          stroke=${ink('teal')}
        ></polygon>
        <line
          x1="0"
          x2=${WIDE}
          y1=${level}
          y2=${level}
          stroke=${ink('ochre')}
          stroke-width="1.5"
          stroke-dasharray="6 4"
        ></line>
        ${svg`<line x1=${x} x2=${x} y1="-4" y2=${TALL + 4} stroke=${ink('ink')} stroke-width="2"></line>`}
      </svg>
      <figcaption class="small quiet">${t('systolic.curve', { share: percent(counts.utilisation, 3) })}</figcaption>
    </figure>
  `;
}

export function causes(counts: Counts): TemplateResult {
  const parts = ['active', 'shift', 'skew', 'drain'] as const;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t('systolic.cycles')}>
      <table>
        <caption>
          ${t('systolic.cycles')} ${tag('counted')}
        </caption>
        <tbody>
          ${parts.map(
            (part) =>
              html`<tr>
                <th scope="row" class="light">${t(part === 'drain' ? 'systolic.drain.cycles' : `systolic.${part}`)}</th>
                <td class="n">${count(counts[part])}</td>
                <td class="n quiet">${percent(counts[part] / counts.cycles)}</td>
              </tr>`,
          )}
          <tr>
            <th scope="row">${t('systolic.all')}</th>
            <td class="n"><strong>${count(counts.cycles)}</strong></td>
            <td></td>
          </tr>
        </tbody>
      </table>
    </div>
  `;
}

export function flows(given: Given): TemplateResult {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t('systolic.flows')}>
      <table>
        <caption>
          ${t('systolic.flows')} ${tag('counted')}
        </caption>
        <thead>
          <tr>
            <th scope="col">${t('systolic.flow')}</th>
            ${['cycles', 'use', 'a', 'b', 'partial'].map((head) => html`<th scope="col" class="n">${t(`systolic.head.${head}`)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${FLOWS.map((flow) => {
            const told = countsOf({ ...given, flow });
            return html`<tr class=${flow === given.flow ? 'now' : ''}>
              <th scope="row">
                <button class="plain" aria-pressed=${flow === given.flow} @click=${() => store.set(here, { flow })}>
                  ${t(`systolic.flow.${flow}`)}
                </button>
              </th>
              <td class="n">${count(told.cycles)}</td>
              <td class="n">${percent(told.utilisation, 3)}</td>
              ${told.reads.map((read) => html`<td class="n">${count(read)}</td>`)}
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  `;
}
