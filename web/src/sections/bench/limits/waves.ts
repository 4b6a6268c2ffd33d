/** <lab-waves>: programs in rounds of those that fit the chip at once, and what the last round leaves idle. */

import { html, nothing, svg, type TemplateResult } from 'lit';
import { textWidth } from '../../../draw/axis';
import { ink } from '../../../draw/colours';
import { Drawn } from '../../../draw/drawn';
import { define, tag } from '../../../shell/element';
import { count, percent } from '../../../words/numbers';
import { t } from '../../../words/words';
import { found, now } from './state';

const MOST = 8; // rounds that are drawn; those between are alike

class Waves extends Drawn {
  protected override render(): TemplateResult | typeof nothing {
    const limits = found();
    if (!limits) return nothing;
    const { waves, grid, held, moved } = limits;
    if (!waves) return html`<p>${t('bench.limits.no_sms')}</p>`;
    const rounds = Math.ceil(waves.waves);
    const last = waves.programs - (rounds - 1) * grid.slots;
    const shown =
      rounds <= MOST ? Array.from({ length: rounds }, (_, i) => i) : [0, 1, 2, null, rounds - 2, rounds - 1];
    const width = this.width;
    const gutter = textWidth(count(rounds), 12) + 12;
    const padded = moved.flop / moved.paddedFlop;
    const said = t('bench.limits.waves.said', {
      programs: waves.programs,
      slots: grid.slots,
      waves: Math.round(waves.waves * 100) / 100,
      rounds,
      share: percent(last / grid.slots, 3),
      efficiency: percent(waves.efficiency, 3),
    });
    return html`
      <p aria-live="polite">${said} ${tag('predicted')}</p>
      <figure>
        ${svg`<svg viewBox="0 0 ${width} ${shown.length * 22 + 4}" role="img" aria-label=${said}>
          ${shown.map((round, i) => {
            const y = i * 22 + 2;
            if (round === null) return svg`<text x=${gutter} y=${y + 13} font-size="13">...</text>`;
            const share = round === rounds - 1 ? last / grid.slots : 1;
            return svg`
              <text x=${gutter - 6} y=${y + 13} font-size="12" text-anchor="end">${count(round + 1)}</text>
              <rect x=${gutter} y=${y} width=${width - gutter - 4} height="17" fill=${ink('grid')} />
              <rect x=${gutter} y=${y} width=${(width - gutter - 4) * share} height="17" fill=${ink('teal')} />`;
          })}
        </svg>`}
      </figure>
      <p class="small quiet">
        ${t('bench.limits.resident', { programs: held.programs, limit: t(`bench.limits.limit.${now().chip.name === 'own' ? 'unknown' : held.limit}`) })}
        ${padded < 1 ? t('bench.limits.padded', { share: percent(padded, 3) }) : nothing}
        ${t('bench.limits.waves.about')}
      </p>
    `;
  }
}

define('lab-waves', Waves);
