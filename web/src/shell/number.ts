/** A field for a whole number: what is typed becomes the nearest that is allowed, and the field shows which. */

import { html, type TemplateResult } from 'lit';
import { store } from '../state/store';
import type { Section } from '../state/sections';

export interface Whole {
  readonly label: string;
  readonly low: number | string;
  readonly high: number | string;
  /** What changes with it. */
  readonly also?: Readonly<Record<string, unknown>>;
}

type Held = Record<string, number>;

/** The field of a parameter of a section. */
export function wholeNumber(section: Section<any, any>, name: string, about: Whole): TemplateResult {
  const held = () => (store.values(section) as Held)[name]!;
  const change = (event: Event) => {
    const input = event.target as HTMLInputElement;
    const given = Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : held();
    store.set(section, { ...about.also, [name]: given } as never);
    // what is set may be what was set before, and then nothing is drawn again
    input.value = String(held());
  };
  return html`<label
    >${about.label}
    <input
      type="number"
      min=${about.low}
      max=${about.high}
      step="1"
      data-name=${name}
      .value=${String(held())}
      @change=${change}
  /></label>`;
}
