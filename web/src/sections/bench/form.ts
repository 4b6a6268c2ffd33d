/** What is multiplied, by which kernels, predicted for which chip, and run where. */

import { html, nothing, type TemplateResult } from 'lit';
import { CHIPS } from '../../data/chips';
import names from '../../data/names.json';
import { wholeNumber } from '../../shell/number';
import { store } from '../../state/store';
import { t } from '../../words/words';
import here, { CUTS } from './section';

export interface Actions {
  readonly running: boolean;
  readonly run: () => void;
  readonly breakIt: () => void;
  readonly stop: () => void;
}

type Name = keyof ReturnType<typeof values>;
const values = () => store.values(here);
const set = (changes: Partial<ReturnType<typeof values>>) => store.set(here, changes as never);

function number(name: 'm' | 'n' | 'k' | 't' | 'seed', label: string, low: number, high: number): TemplateResult {
  return wholeNumber(here, name, { label, low, high });
}

function check(name: 'naive' | 'tiled' | 'all' | 'same', label: string, disabled = false): TemplateResult {
  return html`<label class="check"
    ><input
      type="checkbox"
      data-name=${name}
      ?disabled=${disabled}
      .checked=${values()[name]}
      @change=${(event: Event) => set({ [name]: (event.target as HTMLInputElement).checked })}
    />
    ${label}</label
  >`;
}

function select(name: Name, label: string, among: readonly string[], text: (value: string) => string): TemplateResult {
  return html`<label
    >${label}
    <select data-name=${name} @change=${(event: Event) => set({ [name]: (event.target as HTMLSelectElement).value })}>
      ${among.map((each) => html`<option value=${each} .selected=${each === values()[name]}>${text(each)}</option>`)}
    </select></label
  >`;
}

export function form({ running, run, breakIt, stop }: Actions): TemplateResult {
  const { t: tile, where, m, n, k, cut } = values();
  const cube = (side: number) =>
    html`<button
      aria-pressed=${[m, n, k].every((each) => each === side)}
      @click=${() => set({ m: side, n: side, k: side })}
    >
      ${side}³
    </button>`;
  return html`<section class="card form" aria-labelledby="problem">
    <h2 id="problem">${t('bench.problem')}</h2>
    <div class="fields sides">
      ${number('m', 'm', 1, 131072)} ${number('n', 'n', 1, 131072)} ${number('k', 'k', 1, 131072)}
    </div>
    <div class="row small-buttons" role="group" aria-label=${t('bench.cubes')}>${[64, 128, 256, 1024].map(cube)}</div>
    ${select('format', t('bench.format'), names.formats, (name) => name)}
    <fieldset>
      <legend>${t('bench.kernels')}</legend>
      ${check('naive', t('bench.naive'))} ${check('tiled', t('bench.tiled.any'))} ${check('all', t('bench.all'))}
    </fieldset>
    ${number('t', t('bench.tile'), 1, 64)}
    <div class="row small-buttons" role="group" aria-label=${t('bench.tiles')}>
      ${[4, 8, 16].map(
        (side) => html`<button aria-pressed=${tile === side} @click=${() => set({ t: side })}>${side}</button>`,
      )}
    </div>
    ${select('cut', t('bench.cut'), CUTS, (name) => t(`bench.cut.${name}`))}
    ${select('chip', t('bench.chip'), [...CHIPS.map(({ name }) => name), 'own'], (name) =>
      name === 'own' ? t('bench.chip.own') : name,
    )}
    ${select('where', t('bench.where'), ['browser', 'machine', 'none'], (name) => t(`bench.where.${name}`))}
    ${check('same', t('bench.same'), where !== 'browser')}
    <details>
      <summary>${t('bench.more')}</summary>
      ${number('seed', t('bench.seed'), 0, 2 ** 31 - 1)}
    </details>
    ${
      where === 'none'
        ? nothing
        : html`<div class="actions">
            <button class="main" data-do="run" ?disabled=${running} @click=${run}>${t('bench.run')}</button>
            ${
              running
                ? html`<button data-do="stop" @click=${stop}>${t('bench.stop')}</button>`
                : where === 'machine'
                  ? nothing
                  : html`<button class="danger" data-do="break" @click=${breakIt}>
                      ${cut === 'none' ? t('bench.break') : t('bench.whole')}
                    </button>`
            }
          </div>`
    }
  </section>`;
}
