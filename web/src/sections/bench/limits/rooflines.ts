/** <lab-rooflines>: one roof for each level of memory, with the kernel's point on each, and the figures as a table. */

import { css, html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import type { Limits, Roof } from '../../../count/roofs';
import { LogAxis, stagger, textWidth } from '../../../draw/axis';
import { ink, type Role } from '../../../draw/colours';
import { Drawn } from '../../../draw/drawn';
import { define, tag } from '../../../shell/element';
import { base } from '../../../shell/style';
import { digits, percent, si } from '../../../words/numbers';
import { t } from '../../../words/words';
import { found } from './state';

/** Colour, dashes and marker of a level: three ways to tell them apart. */
const LOOKS: Readonly<Record<Roof['level'], readonly [Role, string, string]>> = {
  dram: ['teal', '', 'M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0'],
  l2: ['ochre', '7 3', 'M-4.5 -4.5h9v9h-9z'],
  shared: ['sky', '2 3', 'M0 -6l6 6l-6 6l-6 -6z'],
  register: ['quiet', '9 3 2 3', 'M0 -6l6 10h-12z'],
};
const ROW = 15;
/** From here on the picture has the table beside it. */
const WIDE = 840;

class Rooflines extends Drawn {
  protected override readonly widest = 1000;
  static override styles = [
    base,
    css`
      .beside {
        display: grid;
        gap: 18px;
        grid-template-columns: minmax(0, 1fr);
        align-items: start;
      }
      .beside.wide {
        grid-template-columns: minmax(0, 2fr) minmax(0, 3fr);
      }
      .key {
        display: inline-block;
        width: 24px;
        height: 11px;
        flex: none;
      }
      table {
        font-size: 0.87rem;
      }
      .level {
        display: flex;
        gap: 6px;
        align-items: center;
      }
      td,
      th {
        padding-right: 6px;
      }
      tr > :last-child {
        padding-right: 0;
      }
      figure text {
        paint-order: stroke;
        stroke: var(--paper);
        stroke-width: 3px;
        stroke-linejoin: round;
      }
      tr.bounds > * {
        font-weight: 700;
      }
    `,
  ];

  protected override render(): TemplateResult | typeof nothing {
    const limits = found();
    if (!limits) return nothing;
    const { bound, seconds, peak, moved, computeSeconds } = limits;
    const reached = moved.flop / seconds;
    const name = bound === 'compute' ? t('bench.limits.arithmetic') : t(`level.${bound}`);
    return html`
      <p aria-live="polite">
        ${t('bench.limits.bound', { name, time: si(seconds, 's'), rate: si(reached, 'FLOP/s'), share: percent(reached / peak.flopPerS, 3) })}
        ${tag('predicted')}
      </p>
      <div class=${this.width < WIDE ? 'beside' : 'beside wide'}>
        <figure>${this.picture(limits)}</figure>
        <div class="scroll" tabindex="0" role="region" aria-label=${t('bench.limits.roofs')}>
          <table>
            <caption>
              ${t('bench.limits.head.bytes')} ${tag('counted')}, DRAM ${tag('predicted')};
              ${t('bench.limits.head.bandwidth')} ${tag('datasheet')}; ${t('bench.limits.head.time')}
              ${tag('predicted')}
            </caption>
            <thead>
              <tr>
                <th scope="col">${t('bench.limits.level')}</th>
                ${(['bytes', 'bandwidth', 'time', 'intensity', 'knee'] as const).map(
                  (head) => html`<th scope="col" class="n">${t(`bench.limits.head.${head}`)}</th>`,
                )}
              </tr>
            </thead>
            <tbody>
              <tr class=${bound === 'compute' ? 'bounds' : ''}>
                <th scope="row">${t('bench.limits.arithmetic')}</th>
                <td class="n">-</td>
                <td class="n">${si(peak.flopPerS, 'FLOP/s', 4)}</td>
                <td class="n">${si(computeSeconds, 's')}</td>
                <td class="n">-</td>
                <td class="n">-</td>
              </tr>
              ${limits.roofs.map((roof) => {
                const [colour, dash, shape] = LOOKS[roof.level];
                return html`<tr class=${bound === roof.level ? 'bounds' : ''}>
                  <th scope="row">
                    <span class="level">
                      <svg class="key" viewBox="-15 -7 30 14" aria-hidden="true">
                        <path d="M-15 0h30" stroke=${ink(colour)} stroke-width="2" stroke-dasharray=${dash} />
                        <path d=${shape} fill=${ink(colour)} />
                      </svg>
                      ${t(`level.${roof.level}`)}
                    </span>
                  </th>
                  <td class="n">${si(roof.bytes, 'B')}</td>
                  <td class="n">${si(roof.bandwidth, 'B/s')}</td>
                  <td class="n">${si(roof.seconds, 's')}</td>
                  <td class="n">${digits(roof.intensity)}</td>
                  <td class="n">${digits(roof.knee)}</td>
                </tr>`;
              })}
            </tbody>
          </table>
        </div>
      </div>
      <p class="small quiet">${t('bench.limits.roofs.about')}</p>
    `;
  }

  private picture(limits: Limits): SVGTemplateResult {
    const { roofs, peak, moved, seconds, bound } = limits;
    const top = peak.flopPerS;
    const reached = moved.flop / seconds;
    const width = this.width < WIDE ? this.width : ((this.width - 18) * 2) / 5;
    const values = roofs.flatMap(({ intensity, knee }) => [intensity, knee]);
    const x = new LogAxis(Math.min(...values, 1) / 2, Math.max(...values, 1) * 8, 50, width - 12);
    const knees = roofs.map(({ level, knee }) =>
      t('bench.limits.knee', { level: t(`level.${level}`), knee: digits(knee) }),
    );
    const label = (text: string, at: number) => Math.min(at, width - 12 - textWidth(text, 11));
    const above = roofs.map(({ knee }, i) => label(knees[i]!, x.at(knee) + 4));
    const rows = stagger(
      above,
      knees.map((text) => textWidth(text, 11)),
    );
    const names = roofs.map(({ level }) => t(`level.${level}`));
    const under = roofs.map(({ intensity }, i) => label(names[i]!, x.at(intensity) + 4));
    const below = stagger(
      under,
      names.map((text) => textWidth(text, 12)),
    );
    const roofY = 34 + ROW * (Math.max(0, ...rows) + 1);
    const bottom = roofY + 200;
    const y = new LogAxis(Math.min(reached, top) / 50, top, bottom, roofY);
    const height = bottom + 40;
    const point = y.at(reached);
    const first = Math.min(x.high, ...roofs.map(({ knee }) => knee));
    return svg`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label=${this.sentence(limits)}>
      <g stroke=${ink('grid')}>
        ${x.ticks(46).map((v) => svg`<path d="M${x.at(v)} ${roofY}V${bottom}" />`)}
        ${y.ticks(24).map((v) => svg`<path d="M${x.start} ${y.at(v)}H${x.end}" />`)}
      </g>
      <g font-size="11" color=${ink('quiet')}>
        ${x.ticks(46).map((v) => svg`<text x=${x.at(v)} y=${bottom + 16} text-anchor="middle">${digits(v)}</text>`)}
        ${y.ticks(24).map((v) => svg`<text x=${x.start - 6} y=${y.at(v) + 4} text-anchor="end">${si(v, '').trim()}</text>`)}
        <text x=${x.end} y=${bottom + 33} text-anchor="end">${t('bench.limits.axis.x')}</text>
        <text x="4" y="14">FLOP/s</text>
      </g>
      <text x=${x.end} y="14" font-size="11" font-weight="700" text-anchor="end">${t('bench.limits.peak', { peak: si(top, 'FLOP/s', 4) })}</text>
      <path d="M${x.at(first)} ${roofY}H${x.end}" stroke=${ink('ink')} stroke-width=${bound === 'compute' ? 3 : 1.5} />
      ${roofs.map((roof, i) => {
        const [colour, dash, shape] = LOOKS[roof.level];
        const start = Math.max(x.low, y.low / roof.bandwidth);
        const stroke = ink(colour);
        const left = x.at(roof.intensity);
        const mark = roofY - 8 - ROW * rows[i]!;
        const name = point + 20 + ROW * below[i]!;
        return svg`
          <path d="M${x.at(start)} ${y.at(start * roof.bandwidth)}L${x.at(roof.knee)} ${roofY}" fill="none" stroke=${stroke} stroke-width=${bound === roof.level ? 3.5 : 1.6} stroke-dasharray=${dash} />
          <path d="M${x.at(roof.knee)} ${roofY}V${mark - 6}" stroke=${stroke} />
          <text x=${above[i]!} y=${mark} font-size="11" color=${stroke}>${knees[i]}</text>
          <path d="M${left} ${point}V${y.at(Math.min(top, roof.intensity * roof.bandwidth))}" stroke=${stroke} stroke-dasharray="1 3" />
          <path d="M${left} ${point}V${name}" stroke=${stroke} />
          <path d=${shape} transform="translate(${left} ${point})" fill=${stroke} />
          <text x=${under[i]!} y=${name} font-size="12" color=${stroke} font-weight=${bound === roof.level ? 700 : 400}>${names[i]}</text>`;
      })}
    </svg>`;
  }

  private sentence({ roofs, bound, peak }: Limits): string {
    const parts = roofs.map(({ level, intensity, knee }) =>
      t('bench.limits.said', { level: t(`level.${level}`), intensity: digits(intensity), knee: digits(knee) }),
    );
    const name = bound === 'compute' ? t('bench.limits.arithmetic') : t(`level.${bound}`);
    return `${t('bench.limits.picture', { peak: si(peak.flopPerS, 'FLOP/s', 4), name })} ${parts.join('; ')}.`;
  }
}

define('lab-rooflines', Rooflines);
