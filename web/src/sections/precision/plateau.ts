/** The truncation experiment: low bits cleared against outputs unchanged; the plateau is what the accumulator never had. */

import { html, svg, type TemplateResult } from 'lit';
import told from '../../data/precision.json';
import { unitOf, type UnitName } from '../../count/fused';
import { ink } from '../../draw/colours';
import { tag } from '../../shell/element';
import { count, percent } from '../../words/numbers';
import { t } from '../../words/words';
import { spoken } from './spoken';

const [WIDE, TALL, LEFT, FOOT] = [460, 200, 48, 42];

interface Swept {
  readonly bits: readonly number[];
  readonly unchanged: readonly number[];
  readonly outputs: number;
  readonly plateau: number | null;
  readonly width_bits: number | null;
  readonly shape: readonly number[];
  readonly block_k: number;
}
const swept = told.truncation as unknown as Readonly<Record<UnitName, Swept>>;

export function plateauCard(name: UnitName): TemplateResult {
  const here = swept[name];
  const unit = unitOf(name);
  const [m, n, k] = here.shape as [number, number, number];
  const plateau = here.plateau ?? 0;
  const x = (bits: number) => LEFT + (bits / 23) * (WIDE - LEFT - 8);
  const y = (share: number) => 8 + (1 - share) * (TALL - FOOT - 8);
  const path = here.bits.map((bits, at) => `${x(bits)},${y(here.unchanged[at]! / here.outputs)}`).join(' ');
  const said = t(plateau > 0 ? 'precision.plateau.said' : 'precision.plateau.none', {
    n: plateau,
    outputs: here.outputs,
    kept: 23 - plateau,
  });
  return html`
    <section class="card" aria-labelledby="plateau">
      <h2 id="plateau">${t('precision.plateau')}</h2>
      <p>${said} ${tag('emulated')}</p>
      <figure>
        <svg viewBox="0 0 ${WIDE} ${TALL}" role="img" aria-label=${said}>
          ${[0, 0.5, 1].map(
            (share) => svg`<line x1=${LEFT} x2=${WIDE - 8} y1=${y(share)} y2=${y(share)} stroke=${ink('grid')}></line>
              <text x=${LEFT - 6} y=${y(share) + 4} font-size="12" text-anchor="end">${percent(share)}</text>`,
          )}
          ${[0, 5, 10, 15, 20].map(
            (bits) => svg`<text x=${x(bits)} y=${TALL - FOOT + 20} font-size="12" text-anchor="middle">${bits}</text>`,
          )}
          <text x=${(LEFT + WIDE) / 2} y=${TALL - 2} font-size="12" text-anchor="middle">
            ${t('precision.cleared')}
          </text>
          ${
            plateau > 0
              ? svg`<rect x=${x(0)} y=${y(1)} width=${x(plateau) - x(0)} height=${y(0) - y(1)} fill=${ink('mist')}></rect>
                <text x=${(x(0) + x(plateau)) / 2} y=${y(0.5) + 4} font-size="13" text-anchor="middle">${t('precision.plateau.mark', { n: plateau })}</text>`
              : ''
          }
          <polyline points=${path} fill="none" stroke=${ink('teal')} stroke-width="2.5"></polyline>
          ${here.bits.map((bits, at) => svg`<circle cx=${x(bits)} cy=${y(here.unchanged[at]! / here.outputs)} r="3.5" fill=${ink('teal')}></circle>`)}
        </svg>
      </figure>
      <p class="small quiet">${t('precision.plateau.about', { m, n, k, block: here.block_k })}</p>
      <details>
        <summary>${t('precision.table')}</summary>
        <div class="scroll" tabindex="0" role="region" aria-label=${t('precision.plateau.table')}>
          <table>
            <thead>
              <tr>
                <th scope="col" class="n">${t('precision.cleared')}</th>
                <th scope="col" class="n">${t('precision.unchanged')}</th>
              </tr>
            </thead>
            <tbody>
              ${here.bits.map(
                (bits, at) =>
                  html`<tr>
                    <th scope="row" class="n">${bits}</th>
                    <td class="n">${count(here.unchanged[at]!)} / ${count(here.outputs)}</td>
                  </tr>`,
              )}
            </tbody>
          </table>
        </div>
      </details>
      <p class="small quiet">
        ${unit.silicon === '' ? t('precision.silicon.none') : t('precision.silicon', { chips: '' })}
        ${unit.silicon === '' ? '' : spoken(unit.silicon)}
      </p>
    </section>
  `;
}
