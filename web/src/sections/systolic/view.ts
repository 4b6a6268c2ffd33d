/** Systolic: an array of any size, a multiplication passing through it, any cycle of it. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { ref } from 'lit/directives/ref.js';
import { countsOf, FLOWS, Tiles, type Counts, type Given } from '../../count/array';
import { Registers, type Kind } from '../../count/registers';
import { paintOn } from '../../draw/canvas';
import { define, LabElement, tag } from '../../shell/element';
import { wholeNumber } from '../../shell/number';
import { base } from '../../shell/style';
import { store } from '../../state/store';
import { t } from '../../words/words';
import { causes, curve, flows } from './figures';
import here, { SIZES } from './section';
import { draw, few, named, shape } from './stage';

const PACE = 200; //: ms a step
const TABLED = 8;

class Systolic extends LabElement {
  private ticking: ReturnType<typeof setInterval> | null = null;

  static override styles = [
    base,
    css`
      .stage canvas {
        max-width: 620px;
      }
      .legend {
        display: flex;
        flex-wrap: wrap;
        gap: 4px 18px;
        color: var(--quiet);
        margin-top: 8px;
      }
      svg.key {
        display: inline-block;
        width: 12px;
        height: 12px;
        vertical-align: -1px;
      }
      .light {
        font-weight: 400;
      }
      .gap {
        margin-top: 18px;
      }
      tr.now > * {
        background: var(--mist);
      }
      button.plain {
        border-color: transparent;
        background: none;
        padding: 2px 6px;
        min-height: 28px;
        color: var(--teal);
        text-decoration: underline;
        text-align: left;
      }
      button.plain[aria-pressed='true'] {
        color: var(--ink);
        text-decoration: none;
      }
      .figures svg {
        display: block;
        width: 100%;
      }
      table.small td {
        white-space: nowrap;
      }
      p.note {
        margin-top: 14px;
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.pause();
  }

  private given(): Given {
    const { am, an, ak, pes, flow, weights, drain } = store.values(here);
    return { m: am, n: an, k: ak, rows: Number(pes), cols: Number(pes), flow, weights, drain };
  }

  private cycle(counts: Counts): number {
    return Math.min(store.values(here).cycle, counts.cycles - 1);
  }

  protected override render(): TemplateResult {
    const given = this.given();
    const counts = countsOf(given);
    const cycle = this.cycle(counts);
    return html`
      <h1>${t('systolic.title')}</h1>
      <p>${t('systolic.lead')}</p>
      <section class="card" aria-label=${t('systolic.controls')}>${this.controls(given)}</section>
      <div class="pair gap">
        <section class="card stage" aria-labelledby="array">${this.stage(given, counts, cycle)}</section>
        <section class="card figures" aria-labelledby="used">
          <h2 id="used">${t('systolic.used')}</h2>
          ${curve(given, counts, cycle)} ${causes(counts)}
        </section>
      </div>
      <section class="card" aria-labelledby="three">
        <h2 id="three">${t('systolic.three')}</h2>
        ${flows(given)}
        <p class="small quiet">${t('systolic.three.about')}</p>
        <p class="small quiet">${t('systolic.tpu')}</p>
      </section>
    `;
  }

  private controls(given: Given): TemplateResult {
    const { m, n, k } = store.values(here);
    const sides = { am: 'm', an: 'n', ak: 'k' } as const;
    return html`
      <div class="fields snug">
        ${this.chooser('pes', SIZES, String(given.rows), (size) => `${size} x ${size}`)}
        ${this.chooser('flow', FLOWS, given.flow, (flow) => t(`systolic.flow.${flow}`))}
        ${
          given.flow === 'os'
            ? this.chooser('drain', ['side', 'bottom', 'shadow'], given.drain, (way) => t(`systolic.drain.${way}`))
            : this.chooser('weights', ['double', 'single'], given.weights, (way) => t(`systolic.weights.${way}`))
        }
        ${Object.entries(sides).map(([name, label]) => wholeNumber(here, name, { label, low: 1, high: 131072 }))}
      </div>
      <p class="row">
        <span class="small quiet">${t(`systolic.flow.${given.flow}.about`)}</span>
        <button @click=${() => store.set(here, { am: m, an: n, ak: k })}>${t('systolic.bench', { m, n, k })}</button>
      </p>
    `;
  }

  private chooser(name: string, among: readonly string[], now: string, text: (name: string) => string): TemplateResult {
    const choose = (event: Event) => store.set(here, { [name]: (event.target as HTMLSelectElement).value } as never);
    return html`<label
      >${t(`systolic.${name}`)}
      <select @change=${choose} data-name=${name}>
        ${among.map((each) => html`<option value=${each} .selected=${each === now}>${text(each)}</option>`)}
      </select></label
    >`;
  }

  private stage(given: Given, counts: Counts, cycle: number): TemplateResult {
    const found = new Registers(given, cycle);
    const tiles = new Tiles(given);
    const said = t('systolic.now', {
      cycle,
      working: found.working,
      pes: given.rows * given.cols,
      tile: Math.max(1, tiles.before(cycle) + 1),
      tiles: tiles.count,
    });
    const go = (to: number) => store.set(here, { cycle: Math.max(0, Math.min(counts.cycles - 1, to)) });
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    return html`
      <h2 id="array">${t('systolic.array')}</h2>
      <label
        >${t('systolic.cycle', { cycle, cycles: counts.cycles, last: counts.cycles - 1 })}
        <input
          type="range"
          min="0"
          max=${counts.cycles - 1}
          .value=${String(cycle)}
          aria-valuetext=${said}
          @input=${(event: Event) => go(Number((event.target as HTMLInputElement).value))}
        />
      </label>
      <p class="row">
        <button @click=${() => go(cycle - 1)} ?disabled=${cycle === 0}>${t('systolic.back')}</button>
        <button @click=${() => go(cycle + 1)} ?disabled=${cycle === counts.cycles - 1}>${t('systolic.on')}</button>
        ${
          still
            ? nothing
            : html`<button @click=${() => this.playOrPause()} aria-pressed=${this.ticking !== null}>
                ${t(this.ticking === null ? 'systolic.play' : 'systolic.pause')}
              </button>`
        }
      </p>
      <p>${said} ${tag('counted')}</p>
      <figure>
        <canvas
          role="img"
          aria-label=${said}
          ${ref((canvas) =>
            paintOn(
              canvas,
              (width) => width * shape(given),
              (pen, width, height) => draw(pen, width, height, given, cycle),
            ),
          )}
        ></canvas>
        <figcaption class="legend small">
          ${(
            [
              ['teal', 'busy'],
              ['sky', 'marked'],
              ['mist', 'holds'],
              ['grid', 'idle'],
              ...(few(given) ? ([['sand', 'coming']] as const) : []),
            ] as const
          ).map(
            ([colour, what]) =>
              html`<span
                ><svg class="key" viewBox="0 0 12 12" aria-hidden="true">
                  <rect width="12" height="12" fill="var(--${colour})"></rect>
                </svg>
                ${t(`systolic.key.${what}`)}</span
              >`,
          )}
        </figcaption>
        <p class="small quiet">${t(given.rows <= TABLED ? 'systolic.labels' : 'systolic.stripes')}</p>
      </figure>
      ${given.rows <= TABLED ? this.registers(given, found) : nothing}
    `;
  }

  private registers(given: Given, found: Registers): TemplateResult {
    const kinds = Object.entries(found.kinds) as [Kind, 'a' | 'b' | 'c'][];
    return html`<details>
      <summary>${t('systolic.registers')}</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${t('systolic.registers')}>
        <table class="small">
          <thead>
            <tr>
              <th scope="col">PE</th>
              ${kinds.map(([kind]) => html`<th scope="col">${t(`systolic.register.${kind}`)}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${Array.from({ length: given.rows * given.cols }, (_, at) => {
              const [i, j] = [Math.floor(at / given.cols), at % given.cols];
              return html`<tr>
                <th scope="row">${i},${j}</th>
                ${kinds.map(([kind, operand]) => {
                  const element = found.at(kind, i, j);
                  return html`<td>${element ? named(operand, element) : '-'}</td>`;
                })}
              </tr>`;
            })}
          </tbody>
        </table>
      </div>
    </details>`;
  }

  private playOrPause(): void {
    if (this.ticking !== null) return this.pause();
    this.ticking = setInterval(() => {
      const counts = countsOf(this.given());
      const cycle = this.cycle(counts);
      // a large array is crossed in as many steps as a small one
      const step = Math.max(1, Math.floor(this.given().rows / 8));
      if (cycle >= counts.cycles - 1) this.pause();
      else store.set(here, { cycle: Math.min(counts.cycles - 1, cycle + step) });
    }, PACE);
    this.requestUpdate();
  }

  private pause(): void {
    if (this.ticking !== null) clearInterval(this.ticking);
    this.ticking = null;
    this.requestUpdate();
  }
}

define('lab-systolic', Systolic);
