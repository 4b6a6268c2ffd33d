/** Threads by time: a row a thread, a column a step of the block, drawn on a canvas; and the steps around one as a table. */

import { html, type TemplateResult } from 'lit';
import { ref } from 'lit/directives/ref.js';
import type { Play, Step } from '../../emulate/play';
import { paintOn } from '../../draw/canvas';
import { solid, type Role } from '../../draw/colours';
import { t } from '../../words/words';
import { cursor, deed, threadName, type State } from './played';

const INKS: Readonly<Record<string, Role>> = { load: 'sky', store: 'ochre', barrier: 'quiet', atomic: 'plum' };
/** Steps shown before and behind the one pointed at. */
const AROUND = 4;

/** Steps that the picture shows: all, or so many around the one pointed at. */
export function span(of: Play, at: number, close: boolean): readonly [number, number] {
  if (!close) return [0, of.steps.length];
  const wide = Math.min(of.steps.length, 3 * of.threads);
  const first = Math.max(0, Math.min(at - Math.floor(wide / 2), of.steps.length - wide));
  return [first, first + wide];
}

export function timeline(state: State, of: Play, close: boolean): TemplateResult {
  const at = cursor(state, of);
  const { threads } = of;
  return html`
    <figure>
      <canvas
        role="img"
        aria-label=${t('schedules.timeline.about', { threads, steps: of.steps.length, epochs: epochs(of.steps) })}
        ${ref((canvas) =>
          paintOn(
            canvas,
            () => heightOf(of),
            (pen, width, height) => draw(pen, width, height, of, at, close),
          ),
        )}
      ></canvas>
      <figcaption class="legend small">
        ${['load', 'store', 'barrier'].map(
          (kind) =>
            html`<span
              ><svg class="key" viewBox="0 0 12 12" aria-hidden="true">
                <rect width="12" height="12" fill="var(--${INKS[kind]})"></rect>
              </svg>
              ${t(`schedules.key.${kind}`)}</span
            >`,
        )}
        <span
          ><svg class="key" viewBox="0 0 12 12" aria-hidden="true">
            <circle cx="6" cy="6" r="4.5" fill="none" stroke="var(--brick)" stroke-width="2"></circle>
          </svg>
          ${t('schedules.key.pair')}</span
        >
      </figcaption>
    </figure>
  `;
}

/** Rows of one pixel where threads are many. */
const heightOf = (of: Play) => (of.threads > 64 ? of.threads : 4 * of.threads);

function draw(
  pen: CanvasRenderingContext2D,
  width: number,
  height: number,
  of: Play,
  at: number,
  close: boolean,
): void {
  pen.fillStyle = solid('paper');
  pen.fillRect(0, 0, width, height);
  const [first, past] = span(of, at, close);
  const wide = width / Math.max(1, past - first);
  const tall = height / of.threads;
  const across = (step: number) => (step - first) * wide;
  pen.fillStyle = solid('grid');
  for (let number = first + 1; number < past; number++) {
    if (of.steps[number]!.epoch !== of.steps[number - 1]!.epoch) pen.fillRect(across(number), 0, 1.5, height);
  }
  // what is rarer lies on top: where a pixel holds many steps, a write among reads stays to be seen
  for (const kind of ['load', 'barrier', 'store'] as const) {
    pen.fillStyle = solid(INKS[kind]!);
    for (let number = first; number < past; number++) {
      const step = of.steps[number]!;
      if (step.kind !== kind) continue;
      pen.fillRect(across(number), step.thread * tall, Math.max(wide, 1.2), Math.max(1, tall - 0.6));
    }
  }
  pen.lineWidth = 2;
  pen.strokeStyle = solid('ink');
  pen.beginPath();
  pen.moveTo(across(at) + wide / 2, 0);
  pen.lineTo(across(at) + wide / 2, height);
  pen.stroke();
  pen.strokeStyle = solid('brick');
  for (const number of of.races[0]?.steps ?? []) {
    if (number < first || number >= past) continue;
    pen.beginPath();
    pen.arc(across(number) + wide / 2, (of.steps[number]!.thread + 0.5) * tall, 6, 0, 2 * Math.PI);
    pen.stroke();
  }
}

/** Intervals between barriers. */
export function epochs(steps: readonly Step[]): number {
  return (steps.at(-1)?.epoch ?? 0) + 1;
}

/** The steps around the one pointed at. */
export function nearby(state: State, of: Play, name: string): TemplateResult {
  const at = cursor(state, of);
  const first = Math.max(0, Math.min(at - AROUND, of.steps.length - 2 * AROUND - 1));
  const pair: readonly number[] = of.races[0]?.steps ?? [];
  return html`
    <div class="scroll steps" tabindex="0" role="region" aria-label=${name}>
      <table>
        <caption class="unseen">
          ${name}
        </caption>
        <thead>
          <tr>
            <th scope="col" class="n">${t('schedules.step')}</th>
            <th scope="col">${t('schedules.who')}</th>
            <th scope="col" class="n">${t('schedules.line')}</th>
            <th scope="col">${t('schedules.what')}</th>
          </tr>
        </thead>
        <tbody>
          ${of.steps.slice(first, first + 2 * AROUND + 1).map((step, place) => {
            const number = first + place;
            const mark = pair.indexOf(number);
            return html`<tr class=${number === at ? 'now' : ''}>
              <th scope="row" class="n">
                ${mark < 0 ? '' : html`<span class="mark">${mark + 1}</span>`} ${number}${number === at ? ' ◂' : ''}
              </th>
              <td class="who">${threadName(step.thread, of)}</td>
              <td class="n">${step.line}</td>
              <td class="what">${deed(step)}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  `;
}
