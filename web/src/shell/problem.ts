/** Fields of shared state that a section shows as they are: kernel, tile, launch order. */

import { html, type TemplateResult } from 'lit';
import names from '../data/names.json';
import { BENCH } from '../state/shared';
import { store } from '../state/store';
import { t } from '../words/words';
import type { Section } from '../state/sections';
import { wholeNumber } from './number';

type Name = keyof typeof BENCH;

/** A field for each name; `section` is the one whose address carries them. */
export function problemFields(section: Section<any, any>, shown: readonly Name[]): TemplateResult {
  const values = store.values(section) as Record<string, string | number>;
  const set = (name: Name, value: unknown) => store.set(section, { [name]: value } as never);
  return html`<div class="fields snug">
    ${shown.map((name) => {
      const label = t(`field.${name}`);
      const among = CHOICES[name];
      if (among) {
        return html`<label
          >${label}
          <select data-field=${name} @change=${(event: Event) => set(name, (event.target as HTMLSelectElement).value)}>
            ${among.map(
              (each) => html`<option value=${each} .selected=${each === values[name]}>${spoken(name, each)}</option>`,
            )}
          </select></label
        >`;
      }
      const [low, high] = BENCH[name].allowed.split('..');
      return wholeNumber(section, name, { label, low: low!, high: high! });
    })}
  </div>`;
}

const CHOICES: Partial<Record<Name, readonly string[]>> = {
  kernel: names.kernels,
  raster: ['n', 'm'],
};

function spoken(name: Name, value: string): string {
  return name === 'raster' ? t(`field.raster.${value}`) : t(`kernel.${value}`);
}
