/** The reader's own chip: a form whose figures are in the address. */

import { html, type TemplateResult } from 'lit';
import { asOwn, chipOf, type OwnFigures } from '../../data/chips';
import { OWN_CHIP } from '../../state/shared';
import { store } from '../../state/store';
import { t } from '../../words/words';
import here from './section';

/** What the form counts each figure in. */
const UNITS: Readonly<Record<(typeof OWN_CHIP)[number], readonly [number, string]>> = {
  float32: [1e12, 'TFLOP/s'],
  float16: [1e12, 'TFLOP/s'],
  dram: [1e9, 'GB/s'],
  l2: [1e9, 'GB/s'],
  shared: [1e9, 'GB/s'],
  register: [1e9, 'GB/s'],
  l2bytes: [2 ** 20, 'MiB'],
  sms: [1, ''],
  clock: [1e9, 'GHz'],
};

export function ownForm(): TemplateResult {
  const { chip, mine } = store.values(here);
  const change = (name: (typeof OWN_CHIP)[number]) => (event: Event) => {
    const input = event.target as HTMLInputElement;
    const given = input.valueAsNumber * UNITS[name][0];
    const figure = Number.isFinite(given) && given > 0 ? Number(given.toPrecision(12)) : null;
    store.set(here, { chip: 'own', mine: { ...mine, [name]: figure } });
  };
  const start: OwnFigures = asOwn(chipOf(chip, mine));
  return html`
    <section class="card">
      <h2>${t('chips.own')}</h2>
      <p>${t('chips.own.about')}</p>
      <div class="fields wide">
        ${OWN_CHIP.map((name) => {
          const [scale, unit] = UNITS[name];
          const held = mine[name];
          return html`<label
            >${t(`chips.own.${name}`)}${unit ? ` (${unit})` : ''}
            <input
              type="number"
              min="0"
              step="any"
              data-figure=${name}
              .value=${held === null ? '' : String(Number((held / scale).toPrecision(9)))}
              @change=${change(name)}
          /></label>`;
        })}
      </div>
      <p class="row">
        ${
          chip === 'own'
            ? html`<strong class="right">${t('chips.own.used')}</strong>`
            : html`<button @click=${() => store.set(here, { chip: 'own', mine: start })}>
                  ${t('chips.own.start', { chip })}
                </button>
                <button
                  @click=${() => store.set(here, { chip: 'own' })}
                  ?disabled=${Object.values(mine).every((v) => v === null)}
                >
                  ${t('chips.own.use')}
                </button>`
        }
      </p>
    </section>
  `;
}
