/** The kernel's text: barriers can be taken out where they stand; the step's line and the pair's are marked. */

import { html, nothing, type TemplateResult } from 'lit';
import { kernelOf } from '../../emulate/kernels';
import type { Play } from '../../emulate/play';
import { store } from '../../state/store';
import { t } from '../../words/words';
import type { State } from './played';
import here from './section';

export function sourceCard(state: State, of: Play, line: number | null): TemplateResult {
  const { source, barriers } = kernelOf(state.rung);
  const indent = Math.min(...[...source.values()].filter(Boolean).map((text) => text.search(/\S/)));
  const pair = of.races[0]?.lines ?? [];
  return html`
    <section class="card" aria-labelledby="source">
      <h2 id="source">${t('schedules.source')}</h2>
      <p class="quiet small">${barriers.length === 0 ? t('schedules.source.plain') : t('schedules.source.about')}</p>
      <div class="scroll" tabindex="0" role="region" aria-label=${t('schedules.source.lines')}>
        <ol class="code">
          ${[...source].map(([number, text]) => {
            const barrier = barriers.indexOf(number);
            const gone = barrier >= 0 && state.out.includes(barrier);
            const marks = pair.flatMap((each, place) => (each === number ? [place + 1] : []));
            return html`<li class=${[number === line ? 'now' : '', gone ? 'gone' : ''].join(' ')}>
              <span class="number" aria-hidden="true">${number}</span>
              ${barrier < 0 ? nothing : html`<span class="indent">${' '.repeat(text.search(/\S/) - indent)}</span>${toggle(state, barrier, gone)}`}
              <code class=${hanging(barrier < 0 ? text.slice(indent) : text.trim())}
                >${(barrier < 0 ? text.slice(indent) : text.trim()) || ' '}</code
              >
              ${
                marks.length > 0
                  ? html`<span class="mark" title=${t('schedules.mark', { n: marks.join(', ') })}
                      >${marks.join(' ')}<span class="unseen"
                        >${t('schedules.mark', { n: marks.join(', ') })}</span
                      ></span
                    >`
                  : nothing
              }
            </li>`;
          })}
        </ol>
      </div>
    </section>
  `;
}

/** Where the rest of a line that is too long begins: a little behind its own beginning. */
function hanging(text: string): string {
  return `hang${Math.min(4, Math.max(0, Math.ceil(text.search(/\S/) / 4)))}`;
}

function toggle(state: State, barrier: number, gone: boolean): TemplateResult {
  const flip = () => {
    const out = gone ? state.out.filter((each) => each !== barrier) : [...state.out, barrier].sort();
    store.set(here, { out, at: -1 });
  };
  return html`<label class="barrier">
    <input type="checkbox" .checked=${!gone} @change=${flip} /> ${t('schedules.barrier', { n: barrier + 1 })}
  </label>`;
}
