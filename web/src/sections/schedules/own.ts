/** The reader's own kernel, played by `gemmlab lab` on this machine: the same account of it as of the catalogue's. */

import { html, nothing, type TemplateResult } from 'lit';
import type { Play, Step } from '../../emulate/play';
import type { Pair } from '../../emulate/races';
import { tag } from '../../shell/element';
import { ask, caps, ServerError, type Caps } from '../../server/client';
import { has, t } from '../../words/words';
import type { State } from './played';
import { pairTold } from './result';
import { nearby, timeline } from './timeline';

/** Of a block, on every chip of today. */
const MOST_THREADS = 1024;
const EXAMPLE = `from numba import cuda, float32


@cuda.jit
def mine(a, b, c):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile = cuda.shared.array((4, 4), float32)
    total = float32(0)
    for start in range(0, a.shape[1], 4):
        tile[y, x] = a[row, start + x]
        # cuda.syncthreads()
        for i in range(4):
            total += tile[y, i] * b[start + i, col]
        cuda.syncthreads()
    c[row, col] = total
`;

/** What `POST /api/schedules` answers, as far as it is drawn. */
interface Answer {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly c: readonly (readonly (number | null)[])[];
  readonly wrong: readonly (readonly [number, number])[];
  readonly races: readonly Pair[];
  readonly faults: readonly { readonly kind: string }[];
  readonly spelled: string;
  readonly steps: {
    readonly thread: readonly number[];
    readonly line: readonly number[];
    readonly kind: readonly Step['kind'][];
    readonly array: readonly string[];
    readonly index: readonly (readonly number[])[];
    readonly value: readonly (number | boolean | null)[];
    readonly epoch: readonly number[];
    readonly stops: readonly boolean[];
  };
}

/** The answer in the player's own terms. */
export function playFrom(answer: Answer): Play {
  const { steps } = answer;
  return {
    m: answer.m,
    n: answer.n,
    k: answer.k,
    across: answer.block[0]!,
    threads: answer.block.reduce((product, side) => product * side, 1),
    steps: steps.thread.map((thread, at) => ({
      thread,
      line: steps.line[at]!,
      kind: steps.kind[at]!,
      array: steps.array[at]!,
      index: steps.index[at]!,
      value: steps.value[at] === null ? NaN : Number(steps.value[at]),
      epoch: steps.epoch[at]!,
      stops: steps.stops[at]!,
    })),
    races: answer.races,
    c: Float64Array.from(answer.c.flat(), (value) => value ?? NaN),
    expected: new Float64Array(),
    wrong: answer.wrong.map(([row, column]) => row * answer.n + column),
  };
}

/** Threads of a block along x, y and z: 8, 8x8, 8 x 8 x 2; null for what is none that a chip can start. */
export function blockOf(text: string): readonly number[] | null {
  if (!/^\d{1,4}(\s*[x×,*]\s*\d{1,4}){0,2}$/i.test(text.trim())) return null;
  const sides = text
    .trim()
    .split(/[x×,*]/i)
    .map(Number);
  const threads = sides.reduce((product, side) => product * side, 1);
  return threads >= 1 && threads <= MOST_THREADS ? sides : null;
}

/** An order as the menu calls it, whatever else its spelling says. */
function orderName(spelled: string): string {
  const key = `schedules.order.${spelled.split(':')[0]}`;
  return has(key) ? t(key) : t('schedules.own.order.other');
}

/** A kind of fault in words. */
function faultName(kind: string): string {
  return has(`schedules.fault.${kind}`) ? t(`schedules.fault.${kind}`) : t('schedules.fault.other');
}

/** What the card holds that no address can. */
export class Own {
  text = EXAMPLE;
  block = '4x4';
  private server: Caps | null = null;
  private asking = false;
  private error: ServerError | null = null;
  private told: {
    readonly of: Play;
    readonly faults: readonly string[];
    readonly spelled: string;
    /** The source that was played, by lines. */
    readonly lines: readonly string[];
  } | null = null;

  constructor(private readonly changed: () => void) {
    void caps().then((found) => {
      this.server = found;
      this.changed();
    });
  }

  card(state: State): TemplateResult {
    return html`
      <section class="card" aria-labelledby="own">
        <h2 id="own">${t('schedules.own')}</h2>
        ${
          this.server === null
            ? html`<p class="quiet">${t('schedules.own.none')} <code>gemmlab lab</code></p>`
            : this.server.token
              ? this.form(state)
              : html`<p class="quiet">${t('schedules.own.token')}</p>`
        }
      </section>
    `;
  }

  private form(state: State): TemplateResult {
    return html`
      <p class="small quiet">${t('schedules.own.about')}</p>
      <label
        >${t('schedules.own.text')}
        <textarea
          rows="18"
          wrap="off"
          spellcheck="false"
          .value=${this.text}
          @input=${(event: Event) => (this.text = (event.target as HTMLTextAreaElement).value)}
        ></textarea>
      </label>
      <div class="row level">
        <label
          >${t('schedules.own.block')}
          <input
            type="text"
            size="8"
            .value=${this.block}
            @change=${(event: Event) => (this.block = (event.target as HTMLInputElement).value)}
          />
        </label>
        <button class="main" ?disabled=${this.asking} @click=${() => this.play(state)}>
          ${t(this.asking ? 'schedules.own.wait' : 'schedules.own.play')}
        </button>
      </div>
      <div aria-live="polite">
        ${
          this.error
            ? html`<p class="wrong">${this.error.message}</p>
                ${this.error.hint ? html`<p class="small quiet">${this.error.hint}</p>` : nothing}`
            : nothing
        }
        ${this.told ? this.account(state, this.told) : nothing}
      </div>
    `;
  }

  private account(state: State, { of, faults, spelled, lines }: NonNullable<Own['told']>): TemplateResult {
    const wrong = of.wrong.length;
    const total = of.m * of.n;
    const here = { ...state, at: -1 };
    return html`
      <p class=${wrong > 0 ? 'wrong' : 'right'}>
        ${t(wrong > 0 ? 'schedules.cells.wrong' : 'schedules.cells.right', { n: wrong, total })} ${tag('emulated')}
      </p>
      <p class="small quiet">${t('schedules.own.order')} ${orderName(spelled)} (<code>${spelled}</code>)</p>
      ${
        faults.length > 0
          ? html`<p>${t('schedules.own.faults')}</p>
              <ul>
                ${faults.map((kind) => html`<li>${faultName(kind)} (<code>${kind}</code>)</li>`)}
              </ul>`
          : nothing
      }
      ${
        of.races.length > 0
          ? html`<p>${pairTold(of)}</p>
              <ol class="pairs">
                ${of.races[0]!.lines.map((line) => html`<li>${line}: <code>${lines[line - 1]?.trim()}</code></li>`)}
              </ol>`
          : html`<p>${t('schedules.pair.none')}</p>`
      }
      ${of.steps.length > 0 ? html`${timeline(here, of, false)} ${nearby(here, of, t('schedules.own.steps'))}` : nothing}
    `;
  }

  private async play(state: State): Promise<void> {
    const block = blockOf(this.block);
    this.error = block ? null : new ServerError(t('schedules.own.block.wrong', { what: this.block.slice(0, 40) }));
    this.asking = block !== null;
    if (!block) this.told = null;
    this.changed();
    if (!block) return;
    const lines = this.text.split('\n');
    const { pm: m, pn: n, pk: k, fill, order, seed } = state;
    const schedule = order === 'random' ? `random:seed=${seed}` : order;
    try {
      const answer = await ask<Answer>('schedules', { source: this.text, m, n, k, fill, schedule, block });
      const faults = [...new Set(answer.faults.map(({ kind }) => kind))];
      this.told = { of: playFrom(answer), faults, spelled: answer.spelled, lines };
    } catch (error) {
      this.told = null;
      this.error = error instanceof ServerError ? error : new ServerError(String(error));
    }
    this.asking = false;
    this.changed();
  }
}
