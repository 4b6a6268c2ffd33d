/** What is to be said beside the figures: the device, the clock, the order, what went wrong and what remains open. */

import { html, nothing, type TemplateResult } from 'lit';
import type { About } from '../../gpu/adapter';
import type { Outcome } from '../../gpu/bench';
import { Fault } from '../../gpu/fault';
import { count, digits, percent, si } from '../../words/numbers';
import { t } from '../../words/words';
import { order, type Line } from './lines';
import { faultText, nameOf } from './names';

/** The reader's device in a line. */
export function device(about: About | Fault | null): TemplateResult {
  if (about === null) return html`<p class="quiet">${t('bench.device.asking')}</p>`;
  if (about instanceof Fault)
    return html`<p class="device lacks" data-part="device">
      <strong class="wrong">${t('bench.device.none')}</strong> ${faultText(about)} ${t('bench.device.still')}
    </p>`;
  return html`<p class="device" data-part="device">
    ${t('bench.device')} <strong>${about.name || t('bench.device.unnamed')}</strong>.
    ${about.software ? html`<strong class="software">${t('bench.device.software')}</strong>` : nothing}
  </p>`;
}

/** What went wrong, of the run and of each kernel; what was only held to take too long is run where the reader says so. */
export function faults(lines: readonly Line[], ended: Fault | null, anyway: (() => void) | null): TemplateResult {
  const slow = lines.some(({ found }) => found?.fault?.what === 'slow');
  return html`
    ${ended ? html`<p class="wrong" data-fault=${ended.what}>${faultText(ended)}</p>` : nothing}
    ${lines.map(({ variant, found }) =>
      found?.fault
        ? html`<p data-fault=${found.fault.what}>
            <strong class="wrong">${nameOf(variant)}:</strong> ${faultText(found.fault)}
          </p>`
        : nothing,
    )}
    ${
      slow && anyway
        ? html`<p>
            <button data-do="anyway" @click=${anyway}>${t('bench.anyway')}</button>
            <span class="small quiet">${t('bench.anyway.about')}</span>
          </p>`
        : nothing
    }
  `;
}

export function remarks(lines: readonly Line[], run: Outcome | null): TemplateResult {
  return html`
    ${lines.some(({ refused }) => refused) ? html`<p class="wrong" data-part="refused">${t('bench.refused.why')}</p>` : nothing}
    ${broken(lines)} ${run ? html`${ranked(lines, run)} ${clock(run)} ${sampled(run)}` : nothing}
    <p class="small quiet">${t('bench.counts.why')} ${t('bench.least.why')}</p>
  `;
}

function broken(lines: readonly Line[]): TemplateResult[] {
  return lines.flatMap(({ variant, found }) => {
    if (variant.without.length === 0 || !found?.verdict) return [];
    const { right, wrong, compared } = found.verdict;
    return [
      right
        ? html`<p data-part="harmless">${t('bench.broken.harmless', { kernel: nameOf(variant) })}</p>`
        : html`<p data-part="broken">${t('bench.broken', { kernel: nameOf(variant), wrong, compared })}</p>`,
    ];
  });
}

/** Which is faster, or that it cannot be said. */
function ranked(lines: readonly Line[], run: Outcome): TemplateResult | typeof nothing {
  const found = order(lines);
  if (!found) return nothing;
  const groups = new Map<number, Line[]>();
  for (const [line, place] of found.places) groups.set(place, [...(groups.get(place) ?? []), line]);
  const names = (of: readonly Line[]) => of.map(({ variant }) => nameOf(variant)).join(', ');
  const [best, ...others] = [...groups.values()];
  const time = (line: Line) => line.found!.timing!.spread.median;
  const times = (group: readonly Line[]) =>
    [...new Set([group[0]!, group.at(-1)!].map((line) => digits(time(line) / time(best![0]!), 3)))].join(' - ');
  return html`<p data-part="ranks">
    ${
      others.length === 0
        ? t('bench.tied', { kernels: names(best!) })
        : `${t('bench.fastest', { kernels: names(best!), n: best!.length })}${others
            .map((group) => t('bench.slower', { kernels: names(group), times: times(group), n: group.length }))
            .join('')}.`
    }
    ${found.close.map(
      ([one, other]) => html`${t('bench.overlap', { kernel: nameOf(one.variant), other: nameOf(other.variant) })} `,
    )}
    ${run.about.software && others.length > 0 ? t('bench.ranks.software') : nothing}
  </p>`;
}

function clock({ source, stepS, distrusted }: Outcome): TemplateResult | typeof nothing {
  if (source === null) return nothing;
  const step = stepS > 0 ? si(stepS, 's') : t('bench.clock.fine');
  return html`<p class="small quiet" data-part="clock">
    ${t(`bench.clock.${source}`, { step })}
    ${distrusted === null ? nothing : html`<strong>${t('bench.clock.distrusted', { share: percent(distrusted) })}</strong>`}
  </p>`;
}

/** That only some rows were reckoned, where the multiplication is large. */
function sampled({ rows, asked }: Outcome): TemplateResult | typeof nothing {
  const verdict = rows.find((row) => row.verdict)?.verdict;
  if (!verdict || verdict.rows === asked.shape.m) return nothing;
  return html`<p class="small quiet" data-part="sampled">
    ${t('bench.sampled', { rows: verdict.rows, of: count(asked.shape.m) })}
  </p>`;
}
