/** What bounds the multiplication on the bench: rooflines, launch order and L2, waves. */

import { css, html, type TemplateResult } from 'lit';
import { fits } from '../../count/kernel';
import { define, LabElement } from '../../shell/element';
import { base } from '../../shell/style';
import { misfitText } from '../../shell/misfit';
import { problemFields, tileFields } from '../../shell/problem';
import { t } from '../../words/words';
import './raster';
import './rooflines';
import here from './section';
import { now } from './state';
import './waves';

class Limits extends LabElement {
  static override styles = [
    base,
    css`
      .pair {
        margin-top: 18px;
      }
      .pair .card {
        margin: 0;
      }
      .column {
        display: grid;
        gap: 18px;
        min-width: 0;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const { asked, found } = now();
    const fields = ['m', 'n', 'k', 'format', 'kernel', ...tileFields(asked.kernel), 'raster', 'group', 'chip'] as const;
    return html`
      <h1>${t('limits.title')}</h1>
      <p>${t('limits.lead')}</p>
      <section class="card">${problemFields(here, fields)}</section>
      ${
        fits(found)
          ? html`
              <div class="pair">
                <section class="card">
                  <h2>${t('limits.roofs')}</h2>
                  <lab-rooflines></lab-rooflines>
                </section>
                <div class="column">
                  <section class="card">
                    <h2>${t('limits.waves')}</h2>
                    <lab-waves></lab-waves>
                  </section>
                  <section class="card">
                    <h2>${t('limits.raster')}</h2>
                    <lab-raster></lab-raster>
                  </section>
                </div>
              </div>
            `
          : html`<p class="card wrong" role="alert">${misfitText(found)}</p>`
      }
    `;
  }
}

define('lab-limits', Limits);
