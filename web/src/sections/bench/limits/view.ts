/** What bounds the multiplication on the bench, by which kernel: rooflines, waves, launch order and L2. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { fits } from '../../../count/kernel';
import { define, LabElement, tag } from '../../../shell/element';
import { base } from '../../../shell/style';
import { misfitText } from '../../../shell/misfit';
import { problemFields } from '../../../shell/problem';
import { t } from '../../../words/words';
import './raster';
import './rooflines';
import { glossary, OF_LIMITS } from '../glossary';
import here from '../section';
import { now } from './state';
import './waves';

export class Limits extends LabElement {
  static override styles = [
    base,
    css`
      .fields {
        margin: 12px 0 4px;
      }
    `,
  ];

  /** Bring a part before the reader. */
  async show(part: string): Promise<void> {
    await this.updateComplete;
    // what the parts draw is there a frame later
    await new Promise(requestAnimationFrame);
    this.renderRoot.querySelector(`[aria-labelledby=${part}]`)?.scrollIntoView();
  }

  protected override render(): TemplateResult {
    const { asked, chip, found } = now();
    const { m, n, k, format } = asked;
    const square = asked.kernel === 'naive' || asked.kernel === 'tiled';
    const name = chip.name === 'own' ? t('bench.chip.own') : chip.name;
    return html`
      <section class="card" aria-labelledby="roofs">
        <h2 id="roofs">${t('bench.limits.title')}</h2>
        <p>${t('bench.limits.lead')}</p>
        <p class="small quiet">${t('bench.limits.of', { m, n, k, format, chip: name })}</p>
        ${problemFields(here, ['kernel', ...(square ? [] : (['bm', 'bn', 'bk'] as const)), 'raster', 'group'])}
        ${
          fits(found)
            ? html`<p class="small quiet" data-part="program">
                  ${t('bench.limits.program', {
                    tile: `${found.kernel.blockM} x ${found.kernel.blockN} x ${found.kernel.blockK}`,
                    threads: found.kernel.threads,
                  })}
                  ${square ? nothing : t('bench.limits.zero')} ${tag('counted')}
                </p>
                <lab-rooflines></lab-rooflines>
                ${glossary(OF_LIMITS)}`
            : html`<p class="wrong" role="alert">${misfitText(found)}</p>`
        }
      </section>
      ${
        fits(found)
          ? html`<section class="card" aria-labelledby="waves">
                <h2 id="waves">${t('bench.limits.waves')}</h2>
                <lab-waves></lab-waves>
              </section>
              <section class="card" aria-labelledby="order">
                <h2 id="order">${t('bench.limits.raster')}</h2>
                <lab-raster></lab-raster>
              </section>`
          : nothing
      }
    `;
  }
}

define('lab-limits', Limits);
