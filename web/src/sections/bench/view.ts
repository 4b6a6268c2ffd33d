/** Bench: naive and tiled counted, bounded, run on the reader's own device, checked and timed. */

import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { open, describe as describeAdapter, type About, type Device } from '../../gpu/adapter';
import { bench, type Outcome, type Stage } from '../../gpu/bench';
import { Fault, said } from '../../gpu/fault';
import { caps, ServerError, type Caps } from '../../server/client';
import { define, LabElement } from '../../shell/element';
import { base } from '../../shell/style';
import { store } from '../../state/store';
import { t } from '../../words/words';
import { bars } from './bars';
import { csv, json } from './export';
import { form } from './form';
import { glossary, OF_RUN } from './glossary';
import { lines, ofThis, variantsOf, WITHOUT, type Set } from './lines';
import { runThere, there, thereTable, type Told } from './machine';
import { Model } from './model';
import { nameOf } from './names';
import { device, faults, remarks } from './remarks';
import type { Limits } from './limits/view';
import here from './section';
import { look } from './style';
import { resultTable } from './table';

/** A multiplication that a CPU does soon. */
const SMALL = { m: 256, n: 256, k: 256 } as const;

class Bench extends LabElement {
  static override styles = [base, look];

  /** What the browser offers, or what it lacks. */
  private offered: About | Fault | null = null;
  private on: Device | null = null;
  private outcome: Outcome | null = null;
  /** What ended the last run before its end. */
  private ended: Fault | null = null;
  private running: AbortController | null = null;
  private stage: { readonly name: Stage; readonly row: number | null } | null = null;
  private share = 0;
  /** The server behind the page, and what it measured. */
  private caps: Caps | null = null;
  private readonly model = new Model(() => this.requestUpdate());
  private told: { readonly of: string; readonly records: readonly Told[] } | null = null;
  private saying = '';
  /** The part that was brought before the reader last. */
  private at: string = 'top';

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.offered === null) void this.ask();
    void caps().then((found) => {
      this.caps = found;
      this.requestUpdate();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stop();
  }

  /** Rooflines and launch orders come after the page's first sight. */
  protected override firstUpdated(): void {
    void import('./limits/view');
  }

  protected override updated(changed: PropertyValues): void {
    super.updated(changed);
    const { at } = store.values(here);
    if (at !== this.at && at !== 'top') void this.show(at);
    this.at = at;
  }

  private async show(part: string): Promise<void> {
    await import('./limits/view');
    await this.renderRoot.querySelector<Limits>('lab-limits')?.show(part);
  }

  protected override render(): TemplateResult {
    const set = store.values(here);
    const shown = lines(set, this.outcome);
    const run = ofThis(this.outcome, set) ? this.outcome : null;
    return html`
      <h1>${t('bench.title')}</h1>
      <p>${t('bench.lead')}</p>
      <div class="bench">
        ${form({
          running: this.running !== null,
          run: () => void (set.where === 'machine' ? this.runThere() : this.run()),
          breakIt: () => this.breakIt(),
          stop: () => this.stop(),
        })}
        <div class="results">
          <section class="card" aria-labelledby="beside">
            <h2 id="beside">${t('bench.beside')}</h2>
            ${set.where === 'machine' ? there(this.caps) : device(this.on?.about ?? this.offered)} ${this.progress()}
            <div aria-live="polite">${faults(shown, this.ended, this.running ? null : () => void this.run(true))}</div>
            ${set.where === 'machine' && this.told?.of === problemOf(set) ? thereTable(this.told.records) : nothing}
            ${shown.length === 0 ? html`<p>${t('bench.no_kernel')}</p>` : resultTable(shown, set.chip === 'own' ? t('bench.chip.own') : set.chip, (line) => (this.caps ? this.model.of(set, line.variant) : null))}
            ${glossary(OF_RUN)}
            <div aria-live="polite" data-part="said">${remarks(shown, run)}</div>
            ${shown.length === 0 ? nothing : bars(shown)}
            <p class="row">
              <button @click=${() => save('gemmlab-bench.csv', 'text/csv', csv(set, shown, run))}>CSV</button>
              <button @click=${() => save('gemmlab-bench.json', 'application/json', json(set, shown, run))}>
                JSON
              </button>
              <span class="small quiet">${t('bench.save')}</span>
            </p>
          </section>
          <lab-limits><p class="quiet">${t('page.loading')}</p></lab-limits>
          ${this.onwards()}
        </div>
      </div>
    `;
  }

  private progress(): TemplateResult {
    const { stage } = this;
    const row = stage?.row ?? null;
    const kernel = row === null || !this.outcome ? '' : nameOf(this.outcome.rows[row]!.variant);
    return html`<div class="progress">
      <span role="status">${stage ? t(`bench.stage.${stage.name}`, { kernel }) : this.saying}</span>
      ${stage ? html`<progress max="1" .value=${this.share} aria-label=${t('bench.progress')}></progress>` : nothing}
    </div>`;
  }

  private onwards(): TemplateResult {
    const { m, n, k, t: tile, cut } = store.values(here);
    const small = (side: number) => Math.min(side, 32);
    const threads = {
      ...{ pm: small(m), pn: small(n), pk: small(k) },
      rung: tile === 8 ? 'tiled_8' : 'tiled',
      out: WITHOUT[cut] ?? [],
    };
    const ways = [
      ['schedules', threads],
      ['systolic', { am: Math.min(m, 4096), an: Math.min(n, 4096), ak: Math.min(k, 4096) }],
      ['chips', {}],
    ] as const;
    return html`<nav class="small" aria-label=${t('bench.onwards')}>
      <ul>
        ${ways.map(([name, to]) => html`<li><a href=${store.hash(name, to as never)}>${t(`bench.to.${name}`)}</a></li>`)}
      </ul>
    </nav>`;
  }

  /** See what there is, without starting anything on it. */
  private async ask(): Promise<void> {
    try {
      const gpu = navigator.gpu as GPU | undefined;
      if (!gpu) throw new Fault(isSecureContext ? 'no_webgpu' : 'insecure');
      const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
      if (!adapter) throw new Fault('no_adapter');
      this.offered = describeAdapter(adapter, [...adapter.features]);
      // a CPU takes seconds for what a GPU does in a moment: where nobody says how large, it begins small
      const said = (['m', 'n', 'k'] as const).some((side) => store.says(here, side));
      if (this.offered.software && !said) store.set(here, SMALL);
    } catch (error) {
      this.offered = error instanceof Fault ? error : new Fault('refused', { reason: said(error) });
    }
    this.requestUpdate();
  }

  private breakIt(): void {
    const broken = store.values(here).cut !== 'none';
    store.set(here, { cut: broken ? 'none' : 'first' });
    if (!broken) void this.run();
  }

  private stop(): void {
    this.running?.abort(new Fault('stopped'));
  }

  /** Time the package's own kernels on the machine of the server. */
  private async runThere(): Promise<void> {
    if (this.running) return;
    const running = (this.running = new AbortController());
    const set = store.values(here);
    this.ended = null;
    this.saying = t('bench.machine.running');
    this.requestUpdate();
    try {
      const records = await runThere(set, {
        signal: running.signal,
        told: (text) => {
          this.saying = text;
          this.requestUpdate();
        },
      });
      this.told = { of: problemOf(set), records };
    } catch (error) {
      const hint = error instanceof ServerError && error.hint ? ` (${error.hint})` : '';
      this.ended = error instanceof Fault ? error : new Fault('server', { reason: said(error) + hint });
    }
    this.running = null;
    this.saying = '';
    this.requestUpdate();
  }

  private async run(patient = false): Promise<void> {
    if (this.running) return;
    const running = (this.running = new AbortController());
    const { m, n, k, format, seed, ...rest } = store.values(here);
    const asked = { shape: { m, n, k }, format, seed, variants: variantsOf(rest) };
    this.ended = null;
    this.stage = { name: 'drawing', row: null };
    this.requestUpdate();
    try {
      if (!this.on?.alive) this.on = await open();
      this.offered = this.on.about;
      const rows = asked.variants.map((variant) => ({
        variant,
        counted: null,
        walked: null,
        verdict: null,
        timing: null,
        fault: null,
      }));
      this.outcome = { asked, about: this.on.about, rows, source: null, stepS: 0, distrusted: null };
      await bench(this.on, this.outcome, {
        patient,
        signal: running.signal,
        told: (name, share, row) => {
          this.stage = { name, row };
          this.share = share;
          this.requestUpdate();
        },
      });
    } catch (error) {
      this.ended = error instanceof Fault ? error : new Fault('device', { reason: said(error) });
      if (this.ended.what === 'no_webgpu' || this.ended.what === 'no_adapter') this.offered = this.ended;
    }
    this.running = null;
    this.stage = null;
    this.requestUpdate();
  }
}

function problemOf({ m, n, k, format, seed }: Set): string {
  return [m, n, k, format, seed].join(' ');
}

/** Hand a file to the reader; it goes nowhere else. */
function save(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

define('lab-bench', Bench);
