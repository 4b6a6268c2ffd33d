/** Precision: what an accumulator keeps, a dot product bit by bit, accumulators of several widths beside each other. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { UNITS, unitOf, type UnitName } from '../../count/fused';
import { define, LabElement } from '../../shell/element';
import { wholeNumber } from '../../shell/number';
import { base } from '../../shell/style';
import { store } from '../../state/store';
import { t } from '../../words/words';
import { spoken } from './spoken';
import { numbers, operands, plain, traced, type State } from './drawn';
import { plateauCard } from './plateau';
import here from './section';
import { outcome, traceFigure, traceTable } from './trace';
import { others, widthsCard } from './widths';

class Precision extends LabElement {
  static override styles = [
    base,
    css`
      svg.bits {
        display: block;
        margin: 10px 0;
      }
      svg.bits text.on {
        fill: var(--paper);
      }
      svg.bits text.off {
        fill: var(--brick);
      }
      .legend {
        display: flex;
        flex-wrap: wrap;
        gap: 4px 18px;
        color: var(--quiet);
        margin-top: 6px;
      }
      svg.line {
        display: inline-block;
        width: 26px;
        height: 8px;
        vertical-align: 2px;
        margin-right: 6px;
      }
      figure svg {
        max-width: 760px;
      }
      @media (max-width: 600px) {
        figure svg text {
          font-size: 14px;
        }
      }
      tr.now > * {
        background: var(--mist);
      }
      .gap {
        margin-top: 18px;
      }
      .fields.wide {
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 220px), 1fr));
        margin-top: 10px;
      }
      summary {
        margin: 8px 0;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const state = store.values(here);
    const name = state.unit as UnitName;
    const { about, terms, width, accumulate, format, sum } = unitOf(name);
    return html`
      <h1>${t('precision.title')}</h1>
      <p>${t('precision.lead')}</p>
      <section class="card" aria-label=${t('precision.unit')}>
        <label
          >${t('precision.unit')}
          <select data-name="unit" @change=${(event: Event) => this.set('unit', event)}>
            ${Object.keys(UNITS).map((each) => html`<option value=${each} .selected=${each === name}>${each}</option>`)}
          </select></label
        >
        <p class="small quiet">
          ${spoken(about)}:
          ${t('precision.unit.about', { terms, width, accumulate, format, sum: t(`precision.sum.${sum}`) })}
        </p>
      </section>
      <div class="pair gap">${plateauCard(name)} ${widthsCard()}</div>
      ${this.traceCard(state, name)}
    `;
  }

  private traceCard(state: State, name: UnitName): TemplateResult {
    const [a, b] = operands(state);
    const of = traced(name, a, b);
    const many = of.sums.filter(
      (sum) => sum.special || sum.terms.some(({ where }) => where !== 'c' && where < a.length),
    ).length;
    const place = Math.min(state.sum, many - 1);
    const sum = of.sums[place]!;
    const drawn = numbers(state.xa).length === 0 || numbers(state.xb).length === 0;
    return html`
      <section class="card" aria-labelledby="trace">
        <h2 id="trace">${t('precision.trace')}</h2>
        <div class="fields">
          ${drawn ? wholeNumber(here, 'length', { label: t('precision.length'), low: 1, high: 64 }) : nothing}
          ${
            drawn
              ? html`<label
                  >${t('precision.sizes')}
                  <select data-name="sizes" @change=${(event: Event) => this.set('sizes', event)}>
                    ${(['alike', 'apart', 'cancel'] as const).map(
                      (each) =>
                        html`<option value=${each} .selected=${each === state.sizes}>
                          ${t(`precision.sizes.${each}`)}
                        </option>`,
                    )}
                  </select></label
                >`
              : nothing
          }
          ${drawn ? wholeNumber(here, 'seed', { label: t('precision.seed'), low: 0, high: 9999 }) : nothing}
          ${
            many > 1
              ? html`<label
                  >${t('precision.sum', { n: place + 1, many })}
                  <input
                    type="range"
                    min="0"
                    max=${many - 1}
                    .value=${String(place)}
                    data-name="sum"
                    @input=${(event: Event) => this.set('sum', event)}
                  />
                </label>`
              : nothing
          }
        </div>
        <div class="fields wide">${this.own('xa', 'a', state.xa)} ${this.own('xb', 'b', state.xb)}</div>
        ${outcome(of)}
        ${sum.special ? html`<p>${t('precision.special')}</p>` : html`${traceFigure(of, sum)} ${traceTable(of, sum)}`}
        ${others(name, a, b)}
      </section>
    `;
  }

  private set(name: string, event: Event): void {
    const { value } = event.target as HTMLInputElement;
    store.set(here, { [name]: name === 'sum' ? Number(value) : value } as never);
  }

  private own(name: 'xa' | 'xb', side: string, now: string): TemplateResult {
    return html`<label
      >${t('precision.own', { side })}
      <input
        type="text"
        maxlength="400"
        placeholder="1.5 -0.25 448"
        .value=${now}
        data-name=${name}
        @change=${(event: Event) => {
          const input = event.target as HTMLInputElement;
          store.set(here, { [name]: plain(input.value, store.page.lang) });
          input.value = store.values(here)[name];
        }}
      />
    </label>`;
  }
}

define('lab-precision', Precision);
