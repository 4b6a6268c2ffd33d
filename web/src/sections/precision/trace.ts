/** One fused sum bit by bit: each summand under the largest exponent, what is kept of it, what falls off. */

import { html, nothing, svg, type TemplateResult } from 'lit';
import { bitLength, valueOf, type Sum, type Term } from '../../count/fused';
import { ink } from '../../draw/colours';
import { tag } from '../../shell/element';
import { count, digits, power } from '../../words/numbers';
import { t } from '../../words/words';
import type { Traced } from './drawn';

const ROW = 20;
/** Width of a bit and of the names in front, and how many bits below the cut are drawn; less on a phone, to be in sight. */
const PLENTY = { cell: 14, left: 150, below: 14, font: 11 };
const NARROW = { cell: 9, left: 122, below: 8, font: 9 };

/** A number as the reader may check it. */
export const said = (value: number): string => (Number.isFinite(value) ? small(value, 7) : String(value));

/** A number that may be far below 1: from there on with a power of ten. */
export function small(value: number, significant: number): string {
  if (value === 0 || Math.abs(value) >= 1e-3) return digits(value, significant);
  const place = Math.floor(Math.log10(Math.abs(value)));
  return `${digits(value / 10 ** place, significant)} · ${power(10, place)}`;
}

const low = ({ exponent, fraction }: Term): number => (exponent ?? 0) - fraction;
const size = (value: bigint): bigint => (value < 0n ? -value : value);

/** The bits of value * 2^scale as [exponent, 0 or 1], the leading one first. */
function bitsOf(value: bigint, scale: number): [number, string][] {
  if (value === 0n) return [];
  const text = size(value).toString(2);
  return [...text].map((bit, at) => [scale + text.length - 1 - at, bit]);
}

/** Terms that are there: what only fills the last instruction is left out. */
export function shown(sum: Sum, length: number): readonly number[] {
  return sum.terms.flatMap((term, at) => (term.where === 'c' || term.where < length ? [at] : []));
}

/** What falls off a term. */
export function lost(sum: Sum, at: number): number {
  const term = sum.terms[at]!;
  return Number(term.value) * 2 ** low(term) - Number(sum.kept[at]!) * 2 ** sum.scale;
}

export function traceFigure(of: Traced, sum: Sum): TemplateResult {
  const { cell, left, below, font } = matchMedia('(max-width: 600px)').matches ? NARROW : PLENTY;
  const rows = shown(sum, of.a.length);
  const result = valueOf(sum.result, of.unit.accumulate);
  const top = Math.max(sum.largest + 2, bitLength(sum.total) - 1 + sum.scale);
  const foot = Math.max(
    sum.scale - below,
    Math.min(sum.scale, ...rows.map((at) => (sum.terms[at]!.value === 0n ? sum.scale : low(sum.terms[at]!)))),
  );
  const wide = left + (top - foot + 1) * cell + 30;
  const tall = (rows.length + 4) * ROW;
  const x = (exponent: number) => left + (top - exponent) * cell;
  const cut = x(sum.scale) + cell;
  const rowOf = (
    value: bigint,
    scale: number,
    at: number,
    kept: (exponent: number) => boolean,
    role: 'teal' | 'plum',
  ) =>
    bitsOf(value, scale)
      .filter(([exponent]) => exponent >= foot)
      .map(
        ([exponent, bit]) => svg`
          <rect x=${x(exponent) + 0.5} y=${at * ROW + 2.5} width=${cell - 1} height=${ROW - 5} rx="2"
            fill=${kept(exponent) ? ink(role) : 'none'} stroke=${kept(exponent) ? ink(role) : ink('brick')}></rect>
          <text x=${x(exponent) + cell / 2} y=${at * ROW + 14} font-size=${font} text-anchor="middle"
            fill=${kept(exponent) ? ink('paper') : ink('brick')} class=${kept(exponent) ? 'on' : 'off'}>${bit}</text>`,
      );
  const label = (text: string, at: number) => svg`<text x="0" y=${at * ROW + 14} font-size=${font + 1}>${text}</text>`;
  const aligned = of.unit.sum === 'aligned';
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t('precision.trace.picture')}>
      <svg
        class="bits"
        width=${wide}
        height=${tall}
        viewBox="0 0 ${wide} ${tall}"
        role="img"
        aria-label=${t('precision.trace.picture')}
      >
        ${[sum.largest, sum.scale].map((exponent) => svg`<text x=${x(exponent) + cell / 2} y="14" font-size="11" text-anchor="middle">${power(2, exponent)}</text>`)}
        ${rows.map((at, line) => {
          const term = sum.terms[at]!;
          const name =
            term.where === 'c'
              ? t('precision.before')
              : `${short(of, of.a[term.where]!)} · ${short(of, of.b[term.where]!)}`;
          return svg`${label(`${term.value < 0n ? '−' : '+'} ${name}`, line + 1)}
            ${rowOf(term.value, low(term), line + 1, (exponent) => exponent >= sum.scale, 'teal')}`;
        })}
        <line x1="0" x2=${wide} y1=${(rows.length + 1) * ROW} y2=${(rows.length + 1) * ROW} stroke=${ink('ink')}></line>
        ${label(`${sum.total < 0n ? '−' : '+'} ${t('precision.total')}`, rows.length + 1)}
        ${rowOf(sum.total, sum.scale, rows.length + 1, (exponent) => exponent > bitLength(sum.total) - 2 + sum.scale - of.unit.width, 'teal')}
        ${label(`= ${t('precision.rounded', { n: of.unit.width })}`, rows.length + 2)}
        ${rowOf(...significand(result), rows.length + 2, () => true, 'plum')}
        ${aligned ? svg`<line x1=${cut} x2=${cut} y1="18" y2=${(rows.length + 1) * ROW} stroke=${ink('brick')} stroke-width="2" stroke-dasharray="4 3"></line>` : nothing}
      </svg>
    </div>
    <p class="small quiet">
      ${t(aligned ? 'precision.trace.about' : 'precision.trace.exact', { n: of.unit.align_bits, width: of.unit.width })}
    </p>
  `;
}

/** An operand without its sign, short enough for the row's name: the row has the product's sign and bits. */
function short(of: Traced, code: number): string {
  return digits(Math.abs(valueOf(code, of.unit.format)), 4);
}

/** A finite double as whole number and power of two, without zeros behind. */
function significand(value: number): [bigint, number] {
  if (value === 0 || !Number.isFinite(value)) return [0n, 0];
  let scale = 0;
  let whole = value;
  while (!Number.isInteger(whole)) [whole, scale] = [whole * 2, scale - 1];
  while (whole % 2 === 0) [whole, scale] = [whole / 2, scale + 1];
  return [BigInt(whole), scale];
}

export function traceTable(of: Traced, sum: Sum): TemplateResult {
  return html`<details>
    <summary>${t('precision.table')}</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${t('precision.trace.table')}>
      <table>
        <thead>
          <tr>
            ${['k', 'a', 'b', 'product', 'exponent', 'lost'].map((head) => html`<th scope="col" class="n">${t(`precision.head.${head}`)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${shown(sum, of.a.length).map((at) => {
            const term = sum.terms[at]!;
            const [a, b] =
              term.where === 'c'
                ? ['', '']
                : [of.a, of.b].map((side) => said(valueOf(side[term.where as number]!, of.unit.format)));
            return html`<tr>
              <th scope="row" class="n">${term.where === 'c' ? t('precision.before') : count(term.where)}</th>
              <td class="n">${a}</td>
              <td class="n">${b}</td>
              <td class="n">${said(Number(term.value) * 2 ** low(term))}</td>
              <td class="n">${term.value === 0n ? '-' : String(term.exponent)}</td>
              <td class="n ${lost(sum, at) === 0 ? '' : 'wrong'}">${said(lost(sum, at))}</td>
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  </details>`;
}

export function outcome(of: Traced): TemplateResult {
  const off = of.result - of.exact;
  return html`<p aria-live="polite">
    ${t('precision.outcome', { result: said(of.result), exact: said(of.exact) })}
    <span class=${off === 0 ? 'right' : 'wrong'}>
      ${off === 0 ? t('precision.outcome.right') : t('precision.outcome.off', { off: said(off) })}
    </span>
    ${tag('emulated')}
  </p>`;
}
