/** What came of it: the first pair that no barrier orders, and C with the cells that are wrong. */

import { html, nothing, svg, type TemplateResult } from 'lit';
import { kernelOf } from '../../emulate/kernels';
import type { Play, Step } from '../../emulate/play';
import { ink } from '../../draw/colours';
import { tag } from '../../shell/element';
import { store } from '../../state/store';
import { t } from '../../words/words';
import { element, threadName, type State } from './played';
import bench from '../bench/section';
import here from './section';

const TOLD = 12;

export function pairCard(of: Play): TemplateResult {
  const pair = of.races[0];
  return html`
    <section class="card" aria-labelledby="pair">
      <h2 id="pair">${t('schedules.pair')}</h2>
      <div aria-live="polite">
        ${pair ? told(of) : html`<p>${t(of.steps.length === 0 ? 'schedules.pair.empty' : 'schedules.pair.none')} ${tag('emulated')}</p>`}
      </div>
      <p class="small quiet">${t('schedules.pair.about')}</p>
    </section>
  `;
}

/** The pair in words. */
export function pairTold(of: Play): string {
  const pair = of.races[0]!;
  const [one, other] = pair.steps.map((number) => of.steps[number]!) as [Step, Step];
  return t(`schedules.pair.${one.kind}.${other.kind}`, {
    element: element(pair),
    one: threadName(one.thread, of),
    other: threadName(other.thread, of),
    line: String(one.line),
    otherline: String(other.line),
  });
}

function told(of: Play): TemplateResult {
  return html`
    <p>${pairTold(of)} ${tag('emulated')}</p>
    <p class="row">
      ${of.races[0]!.steps.map(
        (step, place) =>
          html`<button @click=${() => store.set(here, { at: step })}>
            <span class="mark">${place + 1}</span> ${t('schedules.goto', { step })}
          </button>`,
      )}
    </p>
    ${of.races.length > 1 ? html`<p class="small quiet">${t('schedules.pair.more', { n: of.races.length - 1 })}</p>` : nothing}
  `;
}

export function cellsCard(state: State, of: Play): TemplateResult {
  const wrong = new Set(of.wrong);
  const total = of.m * of.n;
  const size = 12;
  const { side } = kernelOf(state.rung);
  const block = side * size;
  const left = Math.min(state.bx, Math.ceil(of.n / side) - 1) * block;
  const top = Math.min(state.by, Math.ceil(of.m / side) - 1) * block;
  return html`
    <section class="card" aria-labelledby="cells">
      <h2 id="cells">${t('schedules.cells')}</h2>
      <p aria-live="polite" class=${wrong.size > 0 ? 'wrong' : 'right'}>
        ${t(wrong.size > 0 ? 'schedules.cells.wrong' : 'schedules.cells.right', { n: wrong.size, total })}
      </p>
      <p>${tag('emulated')} ${tag('checked')}</p>
      <figure class="cells">
        <svg
          viewBox="-1 -1 ${of.n * size + 2} ${of.m * size + 2}"
          role="img"
          aria-label=${t('schedules.cells.about', { n: wrong.size, total })}
        >
          ${Array.from({ length: total }, (_, at) => {
            const x = (at % of.n) * size;
            const y = Math.floor(at / of.n) * size;
            const bad = wrong.has(at);
            return svg`<rect x=${x + 0.5} y=${y + 0.5} width=${size - 1} height=${size - 1} fill=${ink(bad ? 'brick' : 'mist')}></rect>
              ${bad ? svg`<path d="M${x + 3} ${y + 3}l${size - 6} ${size - 6}m0 ${6 - size}l${6 - size} ${size - 6}" stroke=${ink('paper')} stroke-width="1.5"></path>` : nothing}`;
          })}
          <rect
            x=${left}
            y=${top}
            width=${Math.min(block, of.n * size - left)}
            height=${Math.min(block, of.m * size - top)}
            fill="none"
            stroke=${ink('ink')}
            stroke-width="1.5"
          ></rect>
        </svg>
      </figure>
      <p class="small quiet">${t('schedules.cells.block')}</p>
      ${wrong.size > 0 ? list(of) : nothing} ${chip(state)}
    </section>
  `;
}

function list(of: Play): TemplateResult {
  return html`<details>
    <summary>${t('schedules.cells.list')}</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${t('schedules.cells.list')}>
      <table>
        <thead>
          <tr>
            <th scope="col">${t('schedules.cell')}</th>
            <th scope="col" class="n">${t('schedules.got')}</th>
            <th scope="col" class="n">${t('schedules.due')}</th>
          </tr>
        </thead>
        <tbody>
          ${of.wrong.slice(0, TOLD).map(
            (at) =>
              html`<tr>
                <th scope="row">c[${Math.floor(at / of.n)}, ${at % of.n}]</th>
                <td class="n wrong">${Number.isFinite(of.c[at]!) ? of.c[at]! : t('schedules.nan')}</td>
                <td class="n">${of.expected[at]!}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${of.wrong.length > TOLD ? html`<p class="small quiet">${t('schedules.cells.more', { n: of.wrong.length - TOLD })}</p>` : nothing}
  </details>`;
}

/** The same kernel on the reader's chip: the bench has it, with the same barriers out. */
function chip(state: State): TemplateResult {
  const { side, barriers } = kernelOf(state.rung);
  const out = [0, 1].filter((number) => number < barriers.length && state.out.includes(number));
  const cut = out.length === 2 ? 'both' : ((['first', 'second'] as const)[out[0] ?? -1] ?? 'none');
  const to = { m: state.pm, n: state.pn, k: state.pk, t: side, cut, tiled: state.rung !== 'naive' } as const;
  return html`<p><a href=${store.hash(bench, to)}>${t('schedules.chip')}</a></p>`;
}
