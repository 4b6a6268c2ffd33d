/** Real kernels on the machine that the server runs on, timed there and shown here. */

import { html, nothing, type TemplateResult } from 'lit';
import { job, type Caps, type Watch } from '../../server/client';
import { tag } from '../../shell/element';
import { between, percent, si } from '../../words/numbers';
import { t } from '../../words/words';
import type { Set } from './lines';

/** What the page reads of a Record. */
export interface Told {
  readonly measurement: {
    readonly backend: string;
    readonly kernel: string;
    readonly time_s: number | null;
    readonly time_s_low: number | null;
    readonly time_s_high: number | null;
    readonly flop_per_s: number | null;
    readonly fraction_of_limit: number | null;
    readonly software: boolean;
    readonly fault: string;
    readonly fault_detail: string;
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly verdict: { readonly ok: boolean; readonly wrong_elements: number; readonly elements: number } | null;
}

export function runThere({ m, n, k, format, seed }: Set, watch: Watch): Promise<readonly Told[]> {
  return job<readonly Told[]>('run', { problem: { m, n, k, format }, seed }, watch);
}

/** Whether something can be timed there, and if not why. */
export function there(caps: Caps | null): TemplateResult | typeof nothing {
  if (caps === null) return html`<p data-part="machine">${t('bench.machine.none')}</p>`;
  if (!caps.token) return html`<p class="wrong" data-part="machine">${t('bench.machine.token')}</p>`;
  const lines = (caps.machine?.backends ?? []).map(({ name, chip, why }) =>
    chip ? html`<li><strong>${name}</strong>: ${chip}</li>` : html`<li class="quiet">${name}: ${why}</li>`,
  );
  return html`<div data-part="machine">
    <p>${t('bench.machine')}</p>
    <ul class="small" lang="en">
      ${lines}
    </ul>
  </div>`;
}

export function thereTable(found: readonly Told[]): TemplateResult {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t('bench.machine.table')}>
    <table>
      <caption>
        ${t('bench.machine.table')} ${tag('measured')} ${tag('checked')}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t('bench.head.kernel')}</th>
          <th scope="col">${t('bench.head.verdict')}</th>
          <th scope="col" class="n">${t('bench.head.time')}</th>
          <th scope="col" class="n">FLOP/s</th>
          <th scope="col" class="n">${t('bench.machine.share')}</th>
        </tr>
      </thead>
      <tbody>
        ${found.map(row)}
      </tbody>
    </table>
  </div>`;
}

function row({ measurement, verdict }: Told): TemplateResult {
  const { backend, kernel, time_s, time_s_low, time_s_high, flop_per_s, fraction_of_limit, fault } = measurement;
  return html`<tr data-there=${`${backend}:${kernel}`}>
    <th scope="row" class="whole">${backend} ${kernel}</th>
    <td>
      ${fault ? html`<span class="wrong">${fault}</span><span class="note" lang="en">${measurement.fault_detail}</span>` : nothing}
      ${!fault && verdict?.ok ? html`<span class="right">${t('bench.right')}</span>` : nothing}
      ${measurement.software ? html`<span class="note">${t('bench.machine.software')}</span>` : nothing}
    </td>
    <td class="n">
      ${time_s === null ? '-' : si(time_s, 's')}
      ${
        time_s_low === null || time_s_high === null
          ? nothing
          : html`<span class="note">${between(time_s_low, time_s_high, 's', t('bench.quartiles'))}</span>`
      }
    </td>
    <td class="n">${flop_per_s === null ? '-' : si(flop_per_s, 'FLOP/s')}</td>
    <td class="n">${fraction_of_limit === null ? '-' : percent(fraction_of_limit)}</td>
  </tr>`;
}
