/** Accumulators of several widths: the same operands on other units, and how errors grow with k. */

import { html, svg, type TemplateResult } from 'lit';
import told from '../../data/precision.json';
import { UNITS, unitOf, type UnitName } from '../../count/fused';
import { ink, type Role } from '../../draw/colours';
import { tag } from '../../shell/element';
import { count, percent, power } from '../../words/numbers';
import { t } from '../../words/words';
import { traced } from './drawn';
import { said, small } from './trace';

const [WIDE, TALL, LEFT, FOOT] = [460, 240, 48, 42];
const LINES: Readonly<Record<string, readonly [Role, string]>> = {
  wgmma: ['brick', ''],
  promoted: ['ochre', '7 4'],
  tcgen05: ['teal', ''],
};
const { growth } = told;
const curves = growth.curves as Readonly<Record<string, readonly number[]>>;

/** The same operands on every unit that reads their format. */
export function others(name: UnitName, a: readonly number[], b: readonly number[]): TemplateResult {
  const { format } = unitOf(name);
  const names = (Object.keys(UNITS) as UnitName[]).filter((each) => unitOf(each).format === format);
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t('precision.others')}>
      <table>
        <caption>
          ${t('precision.others')} ${tag('emulated')}
        </caption>
        <thead>
          <tr>
            <th scope="col">${t('precision.unit')}</th>
            ${['kept', 'terms', 'result', 'error'].map((head) => html`<th scope="col" class="n">${t(`precision.head.${head}`)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${names.map((each) => {
            const of = traced(each, a, b);
            return html`<tr class=${each === name ? 'now' : ''}>
              <th scope="row">${broken(each)}</th>
              <td class="n">${of.unit.width}</td>
              <td class="n">${of.unit.terms}</td>
              <td class="n">${said(of.result)}</td>
              <td class="n">${of.result === of.exact ? '0' : said(of.result - of.exact)}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  `;
}

/** A name that may go on in the next line after each dot. */
const broken = (name: string): TemplateResult =>
  html`${name.split('.').map((part, at) => (at === 0 ? part : html`.<wbr />${part}`))}`;

export function widthsCard(): TemplateResult {
  const keys = Object.keys(LINES);
  const points = keys.flatMap((key) => curves[key]!.filter((error) => error > 0));
  const [least, most] = [Math.floor(Math.log10(Math.min(...points))), Math.ceil(Math.log10(Math.max(...points)))];
  const [first, last] = [Math.log2(growth.k[0]!), Math.log2(growth.k.at(-1)!)];
  const x = (k: number) => LEFT + ((Math.log2(k) - first) / (last - first)) * (WIDE - LEFT - 34);
  const y = (error: number) => 12 + ((most - Math.log10(error)) / (most - least)) * (TALL - FOOT - 12);
  const at = growth.k.length - 1;
  const summary = t('precision.widths.said', {
    k: growth.k[at]!,
    wgmma: percent(curves['wgmma']![at]!),
    promoted: percent(curves['promoted']![at]!),
    wide: small(curves['tcgen05']![at]!, 2),
  });
  return html`
    <section class="card" aria-labelledby="widths">
      <h2 id="widths">${t('precision.widths')}</h2>
      <p>${summary} ${tag('emulated')}</p>
      <figure>
        <svg viewBox="0 0 ${WIDE} ${TALL}" role="img" aria-label=${summary}>
          ${Array.from({ length: most - least + 1 }, (_, place) => {
            const error = 10 ** (least + place);
            return svg`<line x1=${LEFT} x2=${WIDE - 20} y1=${y(error)} y2=${y(error)} stroke=${ink('grid')}></line>
              <text x=${LEFT - 6} y=${y(error) + 4} font-size="12" text-anchor="end">${power(10, least + place)}</text>`;
          })}
          ${growth.k.map((k) => svg`<text x=${x(k)} y=${TALL - FOOT + 20} font-size="12" text-anchor="middle">${count(k)}</text>`)}
          <text x=${(LEFT + WIDE) / 2} y=${TALL - 2} font-size="12" text-anchor="middle">
            ${t('precision.products')}
          </text>
          ${keys.map((key) => {
            const [role, dashes] = LINES[key]!;
            const told = growth.k.flatMap((k, place) =>
              curves[key]![place]! > 0 ? [[x(k), y(curves[key]![place]!)] as const] : [],
            );
            return svg`<polyline points=${told.map((point) => point.join()).join(' ')} fill="none" stroke=${ink(role)} stroke-width="2.5" stroke-dasharray=${dashes}></polyline>
              ${told.map(([cx, cy]) => svg`<circle cx=${cx} cy=${cy} r="3.5" fill=${ink(role)}></circle>`)}`;
          })}
        </svg>
        <figcaption class="legend small">
          ${keys.map((key) => {
            const [role, dashes] = LINES[key]!;
            return html`<span
              ><svg class="line" viewBox="0 0 26 8" aria-hidden="true">
                <line
                  x1="0"
                  x2="26"
                  y1="4"
                  y2="4"
                  stroke=${ink(role)}
                  stroke-width="2.5"
                  stroke-dasharray=${dashes}
                ></line></svg
              >${t(`precision.way.${key}`, { n: growth.promote })}</span
            >`;
          })}
        </figcaption>
      </figure>
      <p class="small quiet">${t('precision.widths.about')}</p>
      ${table(keys)}
    </section>
  `;
}

function table(keys: readonly string[]): TemplateResult {
  return html`<details>
    <summary>${t('precision.table')}</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${t('precision.widths.table')}>
      <table>
        <thead>
          <tr>
            <th scope="col" class="n">${t('precision.products')}</th>
            ${keys.map((key) => html`<th scope="col" class="n">${t(`precision.way.${key}`, { n: growth.promote })}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${growth.k.map(
            (k, place) =>
              html`<tr>
                <th scope="row" class="n">${count(k)}</th>
                ${keys.map((key) => html`<td class="n">${small(curves[key]![place]!, 3)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}
