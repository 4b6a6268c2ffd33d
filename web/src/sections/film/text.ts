/** What is read beside the pictures: the chapter's numbers as a table, and the whole film as a text. */

import { html, type TemplateResult } from 'lit';
import { tag } from '../../shell/element';
import { t } from '../../words/words';
import { argumentsOf, FILM, written, type Chapter } from './chapters';
import { FACTS } from './facts';
import { reckon, ANSWERS } from './reckon';

export function caption(of: Chapter, step: number): string {
  return t(`film.${of.name}.${step}`, argumentsOf(of.name));
}

export function question(of: Chapter): string {
  return t(`film.${of.name}.ask`, argumentsOf(of.name));
}

/** The words that go through a reader's number. */
export function reckoning(of: Chapter, x: number): string {
  const { key, args } = reckon(of.name, x);
  return t(key, { ...argumentsOf(of.name), ...args });
}

export function numbers(of: Chapter): TemplateResult {
  const facts: Readonly<Record<string, number | string>> = FACTS[of.name];
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t('film.numbers')}>
    <table>
      <tbody>
        ${of.rows.map(
          ([fact, known]) =>
            html`<tr>
              <th scope="row" class="light">${t(`film.n.${of.name}.${fact}`, argumentsOf(of.name))}</th>
              <td class="n">${written(fact, facts[fact]!)}</td>
              <td>${tag(known)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export function transcript(): TemplateResult {
  return html`${FILM.map(
    (each, place) => html`
      <h3>${place + 1}. ${t(`film.${each.name}`)}</h3>
      <p class="quiet">${t(`film.${each.name}.picture`, argumentsOf(each.name))}</p>
      ${Array.from(
        { length: each.stills },
        (_, step) =>
          html`<p>${caption(each, step)}</p>
            ${step === each.ask ? html`<p><strong>${question(each)}</strong> ${reckoning(each, ANSWERS[each.name])}</p>` : ''}`,
      )}
    `,
  )}`;
}
