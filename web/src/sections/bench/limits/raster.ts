/** <lab-raster>: the tiles of one wave on C, the strips of A and B that they need, and launch orders compared. */

import { css, html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { ceilDiv } from '../../../count/kernel';
import { dramBytes, type Limits } from '../../../count/roofs';
import { programAt, tileOf, wave, type Grid } from '../../../count/waves';
import { bandwidthOf, capacityOf } from '../../../data/chips';
import { solid } from '../../../draw/colours';
import { Drawn, halved } from '../../../draw/drawn';
import { define, tag } from '../../../shell/element';
import { base } from '../../../shell/style';
import { store } from '../../../state/store';
import { count, si } from '../../../words/numbers';
import { t } from '../../../words/words';
import here from '../section';
import { found, now } from './state';

/** Launch orders to compare: groups of rows, groups of columns. */
const ORDERS = [
  ['n', 1],
  ['n', 4],
  ['n', 8],
  ['n', 16],
  ['m', 1],
] as const;
const STRIP = 14;
const WIDEST = 380;

class Raster extends Drawn {
  protected override readonly widest = 1000;
  static override styles = [
    base,
    css`
      canvas {
        max-width: 380px;
      }
      .swatch {
        display: inline-block;
        width: 12px;
        height: 12px;
        margin-right: 5px;
        vertical-align: -1px;
        border: 1px solid var(--edge);
      }
      .teal {
        background: var(--teal);
      }
      .mist {
        background: var(--mist);
      }
      .ochre {
        background: var(--ochre);
      }
      .plum {
        background: var(--plum);
      }
      tbody th {
        font-weight: 400;
      }
      tr.chosen > * {
        font-weight: 700;
      }
      input {
        max-width: 380px;
      }
    `,
  ];

  private get index(): number {
    const limits = found();
    return limits?.waves ? Math.min(store.values(here).wave, Math.ceil(limits.waves.waves) - 1) : 0;
  }

  protected override render(): TemplateResult | typeof nothing {
    const limits = found();
    if (!limits) return nothing;
    if (!limits.waves) return html`<p>${t('bench.limits.no_sms')}</p>`;
    const { grid } = limits;
    const index = this.index;
    const rounds = Math.ceil(limits.waves.waves);
    const at = wave(grid, index);
    const said = t('bench.limits.wave', {
      wave: index + 1,
      rounds,
      programs: at.programs,
      rows: at.rows.size,
      columns: at.columns.size,
    });
    return html`<div class="pair">
      <div>
        ${rounds === 1 ? nothing : this.ways(index, rounds)}
        <figure>
          <canvas role="img" aria-label=${said}></canvas>
        </figure>
        <p aria-live="polite">${said} ${tag('predicted')}</p>
        <p class="row small quiet">
          ${(['teal', 'mist', 'ochre', 'plum'] as const).map(
            (colour) => html`<span><span class="swatch ${colour}"></span>${t(`bench.limits.key.${colour}`)}</span>`,
          )}
        </p>
      </div>
      <div>${this.orders(limits)}</div>
    </div>`;
  }

  private ways(index: number, rounds: number): TemplateResult {
    const go = (to: number) => store.set(here, { wave: Math.min(rounds - 1, Math.max(0, to)) });
    return html`<div class="row">
        <button @click=${() => go(index - 1)} ?disabled=${index === 0}>${t('bench.limits.before')}</button>
        <button @click=${() => go(index + 1)} ?disabled=${index >= rounds - 1}>${t('bench.limits.next')}</button>
      </div>
      <label
        >${t('bench.limits.slider')}
        <input
          type="range"
          min="1"
          max=${rounds}
          .value=${String(index + 1)}
          @input=${(event: Event) => go((event.target as HTMLInputElement).valueAsNumber - 1)}
      /></label>`;
  }

  /** The order that is set first, then the usual ones. */
  private orders({ grid, moved }: Limits): TemplateResult {
    const { chip } = now();
    const speed = bandwidthOf(chip, 'dram');
    const set = [grid.raster, grid.group] as const;
    const rest = ORDERS.filter(([raster, group]) => raster !== set[0] || group !== set[1]);
    const line = ([raster, group]: readonly [Grid['raster'], number], chosen: boolean) => {
      const other = { ...grid, raster, group };
      const bytes = dramBytes(chip, other, moved);
      const strips = wave(other, this.index);
      return html`<tr class=${chosen ? 'chosen' : ''}>
        <th scope="row">
          ${group === 1 ? t(`bench.limits.order.${raster}`) : t(`bench.limits.order.${raster}.grouped`, { group })}${
            chosen ? html`, ${t('bench.limits.order.set')}` : nothing
          }
        </th>
        <td class="n">${count(strips.rows.size + strips.columns.size)}</td>
        <td class="n">${si(bytes, 'B')}</td>
        <td class="n">${speed ? si(bytes / speed, 's') : '-'}</td>
      </tr>`;
    };
    const bound = (name: string, bytes: number) =>
      html`<tr class="quiet">
        <th scope="row">${name}</th>
        <td class="n">-</td>
        <td class="n">${si(bytes, 'B')}</td>
        <td class="n">${speed ? si(bytes / speed, 's') : '-'}</td>
      </tr>`;
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${t('bench.limits.orders')}>
        <table>
          <caption>
            ${t('bench.limits.orders')} ${tag('predicted')}
          </caption>
          <thead>
            <tr>
              <th scope="col">${t('bench.limits.order')}</th>
              <th scope="col" class="n">${t('bench.limits.strips')}</th>
              <th scope="col" class="n">${t('bench.limits.dram')}</th>
              <th scope="col" class="n">${t('bench.limits.head.time')}</th>
            </tr>
          </thead>
          <tbody>
            ${line(set, true)} ${rest.map((order) => line(order, false))}
            ${bound(t('bench.limits.floor'), moved.compulsoryBytes)}
            ${bound(t('bench.limits.raw'), moved.loadBytes + moved.storeBytes)}
          </tbody>
        </table>
      </div>
      <p class="small quiet">
        ${capacityOf(chip, 'l2') === null ? t('bench.limits.no_l2') : t('bench.limits.orders.about')}
      </p>`;
  }

  protected override updated(changed: PropertyValues): void {
    super.updated(changed);
    const canvas = this.renderRoot.querySelector('canvas');
    const limits = found();
    if (canvas && limits) paint(canvas, limits.grid, this.index, Math.min(WIDEST, halved(this.width)));
  }
}

/** Draw C's tiles: those of the wave, those before it, and beside them the strips that the wave needs. */
function paint(canvas: HTMLCanvasElement, grid: Grid, index: number, width: number): void {
  const down = ceilDiv(grid.m, grid.blockM);
  const across = ceilDiv(grid.n, grid.blockN);
  const room = width - STRIP - 4;
  const side = Math.min(40, room / Math.max(across, down));
  const scale = devicePixelRatio || 1;
  canvas.width = Math.ceil((STRIP + 4 + side * across) * scale);
  canvas.height = Math.ceil((STRIP + 4 + side * down) * scale);
  canvas.style.setProperty('width', `${canvas.width / scale}px`);
  const pen = canvas.getContext('2d')!;
  pen.scale(scale, scale);
  const left = STRIP + 4;
  const gap = side > 5 ? 1 : 0;
  const fill = (x: number, y: number, w: number, h: number) =>
    pen.fillRect(x, y, Math.max(0.6, w - gap), Math.max(0.6, h - gap));
  pen.fillStyle = solid('grid');
  pen.fillRect(left, left, side * across, side * down);
  const { first, programs, rows, columns } = wave(grid, index);
  pen.fillStyle = solid('mist');
  // one look a tile, or a pixel where tiles are smaller than that
  const step = Math.max(1, 1 / side);
  for (let y = 0; y < down; y += step) {
    let from = -1; // where a run of finished tiles begins: without gaps it is one rectangle
    for (let x = 0; x < across + step; x += step) {
      const done = x < across && programAt(grid, Math.floor(y), Math.floor(x)) < first;
      if (done && from < 0) from = x;
      if (from < 0 || (done && gap === 0)) continue;
      const to = done ? x + step : Math.min(x, across);
      fill(left + from * side, left + y * side, (to - from) * side, side * step);
      from = -1;
    }
  }
  pen.fillStyle = solid('teal');
  for (let program = first; program < first + programs; program++) {
    const [row, column] = tileOf(grid, program);
    fill(left + column * side, left + row * side, side, side);
  }
  pen.fillStyle = solid('ochre');
  for (const row of rows) fill(0, left + row * side, STRIP, side);
  pen.fillStyle = solid('plum');
  for (const column of columns) fill(left + column * side, 0, side, STRIP);
}

define('lab-raster', Raster);
