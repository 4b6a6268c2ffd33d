/** One chip: its peaks and knees, then every figure with where it comes from. */

import { html, nothing, type TemplateResult } from 'lit';
import { accumulatorBytes, smallestTile } from '../../count/knee';
import { capacityOf, formatsOf, kneeOf, LEVEL_NAMES, peakOf, type Chip, type Figure } from '../../data/chips';
import formats from '../../data/formats.json';
import { tag } from '../../shell/element';
import { capacity, count, digits, si } from '../../words/numbers';
import { kneeText } from './peaks';
import { has, t } from '../../words/words';
import { told } from './told';

/** How a figure is shown, by the end of its path; the first that fits. */
const UNITS = [
  ['bytes_per_s', 'B/s'],
  ['flop_per_s', 'FLOP/s'],
  ['_hz', 'Hz'],
  ['_w', 'W'],
  ['_s', 's'],
] as const;

export function value(figure: Figure): string {
  const last = figure.path.split('.').at(-1)!;
  if (figure.path.startsWith('energy.')) return si(figure.value, 'J');
  if (last.includes('bytes') && !last.endsWith('_per_s')) return capacity(figure.value);
  const unit = UNITS.find(([end]) => last.endsWith(end))?.[1];
  return unit
    ? si(figure.value, unit, 4)
    : Number.isInteger(figure.value)
      ? count(figure.value)
      : digits(figure.value, 4);
}

/** What a figure is, in words; a constant of a calibration goes by its own name. */
export function label(figure: Figure): string {
  const parts = figure.path.split('.');
  const last = parts.at(-1)!;
  if (parts[0] === 'calibration') return t('chips.figure.calibration', { of: parts.slice(2).join('.') });
  if (parts[0] === 'energy' && parts[1] === 'flop') return t('chips.figure.energy_flop', { of: last });
  const of = parts.length < 3 ? '' : has(`level.${parts[1]}`) ? t(`level.${parts[1]}`) : parts[1]!;
  return t(`chips.figure.${last}`, { of });
}

export function sheet(of: Chip): TemplateResult {
  return html`
    <section class="card">
      <h2>${of.name === 'own' ? t('chips.own') : of.fullName}</h2>
      <p class="quiet">
        ${[of.architecture, of.year, of.name === 'own' ? t('chips.own.source') : t(`chips.standing.${of.standing.replaceAll(/[ ,]+/g, '_')}`)].filter(Boolean).join(' · ')}
      </p>
      ${formatsOf(of).length === 0 ? nothing : peaks(of)}
      ${
        of.notes.length === 0
          ? nothing
          : html`<ul>
              ${of.notes.map((note) => html`<li>${told(note)}</li>`)}
            </ul>`
      }
    </section>
  `;
}

function peaks(of: Chip): TemplateResult {
  const sparse = of.figure('sparse_factor')?.value ?? null;
  const levels = LEVEL_NAMES.filter((level) => of.figure(`levels.${level}.bandwidth_bytes_per_s`));
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t('chips.peaks')}>
      <table>
        <caption>
          ${t('chips.peaks')} ${of.name === 'own' ? nothing : tag('datasheet')} ${tag('counted')}
        </caption>
        <thead>
          <tr>
            <th scope="col">${t('chips.format')}</th>
            <th scope="col" class="n">${t('chips.dense')}</th>
            ${sparse ? html`<th scope="col" class="n">${t('chips.sparse')}</th>` : nothing}
            ${levels.map((level) => html`<th scope="col" class="n">${t('chips.knee', { level: t(`level.${level}`) })}</th>`)}
            <th scope="col" class="n">${t('chips.tile')}</th>
          </tr>
        </thead>
        <tbody>
          ${formatsOf(of).map((format) => {
            const peak = peakOf(of, format)!;
            // 2:4 is a feature of matrix units and of formats that have at most 32 bits
            const doubled = sparse && of.units[format] === 'tensor' && format !== 'float64';
            return html`<tr>
              <th scope="row">${format}</th>
              <td class="n">${si(peak, 'FLOP/s', 4)}</td>
              ${sparse ? html`<td class="n quiet">${doubled ? html`<s>${si(peak * sparse, 'FLOP/s', 4)}</s>` : '-'}</td>` : nothing}
              ${levels.map((level) => html`<td class="n">${kneeText(kneeOf(of, format, level)!)}</td>`)}
              <td class="n">${tile(of, format)}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    <p class="small quiet">${t('chips.peaks.about')} ${sparse ? t('chips.sparse.about') : ''}</p>
  `;
}

/** The smallest square tile past DRAM's knee, marked where its accumulators exceed the registers of an SM. */
function tile(of: Chip, format: string): TemplateResult | string {
  const knee = kneeOf(of, format);
  if (knee === null) return '-';
  const side = smallestTile(knee, formats[format as keyof typeof formats].bits);
  const file = capacityOf(of, 'register');
  const sms = of.figure('sm_count')?.value;
  const needed = accumulatorBytes(side);
  const over = file !== null && sms ? needed > file / sms : false;
  const said = t('chips.tile.over', { needed: capacity(needed), has: file && sms ? capacity(file / sms) : '' });
  return over ? html`${count(side)}<abbr title=${said}>*</abbr>` : count(side);
}

export function sources(of: Chip): TemplateResult {
  const places = [...new Set(of.figures.map(({ source }) => source))];
  const fitted = of.figures.filter(fittedOf);
  return html`
    <section class="card">
      <h2>${t('chips.figures')}</h2>
      <p class="quiet">
        ${t('chips.figures.about', { n: of.figures.length, unsure: of.figures.filter((f) => !f.sure).length })}
      </p>
      ${listed(
        of.figures.filter((figure) => !fittedOf(figure)),
        places,
        t('chips.figures'),
      )}
      ${
        fitted.length === 0
          ? nothing
          : html`<details>
              <summary>${t('chips.fitted', { n: fitted.length })}</summary>
              <p class="small quiet">${t('chips.fitted.about')}</p>
              ${listed(fitted, places, t('chips.fitted', { n: fitted.length }))}
            </details>`
      }
      <h3>${t('chips.sources')}</h3>
      <ol>
        ${places.map((place) => html`<li>${told(place)}</li>`)}
      </ol>
    </section>
  `;
}

/** Whether a figure is a constant of the model, fitted to runs on the chip. */
const fittedOf = ({ path }: Figure): boolean => path.startsWith('calibration.');

function listed(figures: readonly Figure[], places: readonly string[], name: string): TemplateResult {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}>
    <table>
      <thead>
        <tr>
          <th scope="col">${t('chips.figure')}</th>
          <th scope="col" class="n">${t('chips.value')}</th>
          <th scope="col" class="n">${t('chips.source')}</th>
        </tr>
      </thead>
      <tbody>
        ${figures.map(
          (figure) =>
            html`<tr>
              <th scope="row" class="light">
                ${label(figure)}
                ${
                  figure.sure && !figure.note
                    ? nothing
                    : html`<span class="note">
                        ${figure.sure ? nothing : html`<span class="doubt">${t('chips.unsure')}</span>`}
                        ${told(figure.note)}
                      </span>`
                }
              </th>
              <td class="n">${value(figure)}</td>
              <td class="n">[${places.indexOf(figure.source) + 1}]</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
