/** Schedules: a kernel whose barriers come out, its threads in the order that the reader chooses, and what goes wrong. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { KERNELS, kernelOf } from '../../emulate/kernels';
import { define, LabElement, tag } from '../../shell/element';
import { wholeNumber } from '../../shell/number';
import { base } from '../../shell/style';
import { store } from '../../state/store';
import { t } from '../../words/words';
import { Own } from './own';
import { cursor, deed, playOf, stateOf, threadName, type State } from './played';
import { cellsCard, pairCard } from './result';
import here, { ORDERS } from './section';
import { sourceCard } from './source';
import { nearby, timeline } from './timeline';

const PACE = 60; //: ms a step

/** A field for a whole number; another launch begins at the first step of its pair. */
function number(name: string, label: string, high: number, low = 0): TemplateResult {
  return wholeNumber(here, name, { label, low, high, also: { at: -1 } });
}

class Schedules extends LabElement {
  private close = false;
  private readonly own = new Own(() => this.requestUpdate());
  private ticking: ReturnType<typeof setInterval> | null = null;

  static override styles = [
    base,
    css`
      ol.code {
        list-style: none;
        margin: 0;
        padding: 0;
      }
      ol.code li {
        display: flex;
        gap: 10px;
        align-items: baseline;
        padding: 0 8px;
        border-left: 4px solid transparent;
      }
      /* a line too long for the card goes on below, further in */
      ol.code code {
        flex: 1;
        min-width: 0;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      code.hang0 {
        padding-left: 2ch;
        text-indent: -2ch;
      }
      code.hang1 {
        padding-left: 6ch;
        text-indent: -6ch;
      }
      code.hang2 {
        padding-left: 10ch;
        text-indent: -10ch;
      }
      code.hang3 {
        padding-left: 14ch;
        text-indent: -14ch;
      }
      code.hang4 {
        padding-left: 18ch;
        text-indent: -18ch;
      }
      ol.code .indent {
        white-space: pre;
        margin-right: -10px;
        font:
          0.86rem/1.5 ui-monospace,
          Menlo,
          Consolas,
          monospace;
      }
      .gap {
        margin-top: 18px;
      }
      .fields {
        margin-bottom: 8px;
      }
      .number {
        flex: none;
        width: 2.2em;
        text-align: right;
        color: var(--quiet);
        font-size: 0.8rem;
        font-variant-numeric: tabular-nums;
      }
      li.now .number {
        color: var(--ink);
      }
      li.now {
        background: var(--mist);
        border-color: var(--teal);
      }
      li.gone code {
        text-decoration: line-through;
        color: var(--quiet);
      }
      label.barrier {
        padding: 1px 10px;
        color: var(--ink);
        background: var(--paper);
        border: 1px solid var(--edge);
        border-radius: 7px;
        margin: 2px 0;
        font-size: 0.85rem;
        white-space: nowrap;
      }
      .mark {
        display: inline-block;
        min-width: 1.5em;
        padding: 0 4px;
        border: 2px solid var(--brick);
        border-radius: 99px;
        color: var(--brick);
        font-size: 0.75rem;
        font-weight: 700;
        line-height: 1.4;
        text-align: center;
      }
      tr.now > * {
        background: var(--mist);
      }
      tbody th,
      td.who,
      td.what {
        white-space: nowrap;
      }
      figure canvas {
        border: 1px solid var(--grid);
        border-radius: 6px;
      }
      .legend {
        display: flex;
        flex-wrap: wrap;
        gap: 4px 18px;
        color: var(--quiet);
        margin-top: 6px;
      }
      svg.key {
        display: inline-block;
        width: 12px;
        height: 12px;
        vertical-align: -1px;
      }
      textarea {
        display: block;
        width: 100%;
        margin: 2px 0 10px;
        padding: 8px 10px;
        font:
          0.86rem/1.5 ui-monospace,
          Menlo,
          Consolas,
          monospace;
        color: var(--ink);
        background: var(--paper);
        border: 1px solid var(--edge);
        border-radius: 7px;
      }
      .steps {
        max-width: 640px;
      }
      .level {
        align-items: flex-end;
        margin-bottom: 8px;
      }
      ol.pairs {
        margin: 4px 0;
        padding-left: 1.6em;
      }
      .cells svg {
        max-width: 420px;
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.pause();
  }

  protected override render(): TemplateResult {
    const state = stateOf();
    const of = playOf(state);
    const step = of.steps[cursor(state, of)];
    return html`
      <h1>${t('schedules.title')}</h1>
      <p>${t('schedules.lead')}</p>
      <section class="card" aria-label=${t('schedules.controls')}>${this.controls(state)}</section>
      <div class="pair gap">${sourceCard(state, of, step?.line ?? null)} ${cellsCard(state, of)}</div>
      ${pairCard(of)}
      <section class="card" aria-labelledby="time">
        <h2 id="time">${t('schedules.timeline')}</h2>
        <p class="quiet small">${t('schedules.timeline.how')} ${tag('emulated')}</p>
        ${of.steps.length === 0 ? nothing : this.player(state)}
      </section>
      ${this.own.card(state)}
    `;
  }

  private controls(state: State): TemplateResult {
    const sides = { pm: 'm', pn: 'n', pk: 'k' } as const;
    const { side } = kernelOf(state.rung);
    const blocks = { bx: Math.ceil(state.pn / side), by: Math.ceil(state.pm / side) } as const;
    return html`
      <div class="fields snug">
        ${this.chooser('rung', KERNELS, state.rung)} ${this.chooser('order', ORDERS, state.order)}
        ${state.order === 'random' ? number('seed', t('schedules.seed'), 9999) : nothing}
        ${Object.entries(sides).map(([name, label]) => number(name, label, 32, 1))}
        ${this.chooser('fill', ['zero', 'nan'], state.fill)}
        ${Object.entries(blocks).map(([name, many]) =>
          many > 1 ? number(name, t(`schedules.${name}`), Math.min(3, many - 1)) : nothing,
        )}
      </div>
      <p class="small quiet">${t(`schedules.order.${state.order}.about`)}</p>
    `;
  }

  private chooser(name: 'rung' | 'order' | 'fill', among: readonly string[], now: string): TemplateResult {
    const choose = (event: Event) =>
      store.set(here, { [name]: (event.target as HTMLSelectElement).value, at: -1 } as never);
    return html`<label
      >${t(`schedules.${name}`)}
      <select @change=${choose} data-name=${name}>
        ${among.map((each) => html`<option value=${each} .selected=${each === now}>${t(`schedules.${name}.${each}`)}</option>`)}
      </select></label
    >`;
  }

  private player(state: State): TemplateResult {
    const of = playOf(state);
    const last = of.steps.length - 1;
    const at = cursor(state, of);
    const step = of.steps[at]!;
    const go = (to: number) => store.set(here, { at: Math.max(0, Math.min(last, to)) });
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    return html`
      ${timeline(state, of, this.close)}
      <label class="slide"
        >${t('schedules.step.of', { n: at, last })}
        <input
          type="range"
          min="0"
          max=${last}
          .value=${String(at)}
          aria-valuetext=${`${threadName(step.thread, of)}: ${deed(step)}`}
          @input=${(event: Event) => go(Number((event.target as HTMLInputElement).value))}
        />
      </label>
      <p class="row">
        <button @click=${() => go(at - 1)} ?disabled=${at === 0}>${t('schedules.back')}</button>
        <button @click=${() => go(at + 1)} ?disabled=${at === last}>${t('schedules.on')}</button>
        ${
          still
            ? nothing
            : html`<button @click=${() => this.playOrPause()} aria-pressed=${this.ticking !== null}>
                ${t(this.ticking === null ? 'schedules.play' : 'schedules.pause')}
              </button>`
        }
        <button
          aria-pressed=${this.close}
          @click=${() => {
            this.close = !this.close;
            this.requestUpdate();
          }}
        >
          ${t('schedules.close')}
        </button>
      </p>
      ${nearby(state, of, t('schedules.steps'))}
    `;
  }

  private playOrPause(): void {
    if (this.ticking !== null) return this.pause();
    this.ticking = setInterval(() => {
      const state = stateOf();
      const of = playOf(state);
      const at = cursor(state, of);
      if (at >= of.steps.length - 1) this.pause();
      else store.set(here, { at: at + 1 });
    }, PACE);
    this.requestUpdate();
  }

  private pause(): void {
    if (this.ticking !== null) clearInterval(this.ticking);
    this.ticking = null;
    this.requestUpdate();
  }
}

define('lab-schedules', Schedules);
