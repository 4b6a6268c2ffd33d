/** Bars: reads beside time, one bar a kernel, in the order of the table. */

import { html, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import { ink, type Role } from '../../draw/colours';
import { tag, type Known } from '../../shell/element';
import { count, si } from '../../words/numbers';
import { t } from '../../words/words';
import type { Line } from './lines';
import { nameOf } from './names';

const WIDTH = 440;
const ROW = 46;

interface Bar {
  readonly name: string;
  readonly value: number;
  readonly text: string;
  /** Quartiles, where there are any. */
  readonly between?: readonly [number, number];
}

export function bars(lines: readonly Line[]): TemplateResult {
  const timed = lines.filter((line) => line.rate !== null);
  const reads = lines
    .filter(({ variant }) => variant.without.length === 0)
    .map((line) => ({
      name: nameOf(line.variant),
      value: line.counts.elements,
      text: count(line.counts.elements),
    }));
  const times = timed.map((line) => {
    const { median, low, high } = line.found!.timing!.spread;
    return { name: nameOf(line.variant), value: median, text: si(median, 's'), between: [low, high] as const };
  });
  return html`<div class="pair bars">
    ${reads.length > 0 ? panel(t('bench.bars.reads'), 'counted', reads, 'teal') : ''}
    ${times.length > 0 ? panel(t('bench.bars.times'), 'measured', times, 'plum') : ''}
  </div>`;
}

function panel(title: string, known: Known, of: readonly Bar[], role: Role): TemplateResult {
  const most = Math.max(...of.map(({ value, between }) => Math.max(value, between?.[1] ?? 0)));
  const height = of.length * ROW + 4;
  const told = `${title}: ${of.map(({ name, text }) => `${name} ${text}`).join('; ')}`;
  return html`<figure>
    <figcaption>${title} ${tag(known)}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label=${told}>
      ${of.map((bar, i) => drawn(bar, i * ROW, most, role))}
    </svg>
  </figure>`;
}

function drawn({ name, value, text, between }: Bar, y: number, most: number, role: Role): SVGTemplateResult {
  const at = (amount: number) => Math.max(1, (amount / most) * (WIDTH - 4));
  return svg`
    <text x="0" y=${y + 15} font-size="15">${name}</text>
    <text x=${WIDTH} y=${y + 15} font-size="15" text-anchor="end">${text}</text>
    <rect x="0" y=${y + 22} width=${at(value)} height="14" rx="2" fill=${ink(role)}></rect>
    ${
      between
        ? svg`<path d="M${at(between[0])} ${y + 29}H${at(between[1])}M${at(between[0])} ${y + 24}v10M${at(between[1])} ${y + 24}v10"
            stroke=${ink('ink')} stroke-width="2" fill="none"></path>`
        : ''
    }`;
}
