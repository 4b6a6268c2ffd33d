/** The film: one still at a time, its caption beside it, and a question that waits for the reader's number. */

import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { define, LabElement } from '../../shell/element';
import { base } from '../../shell/style';
import { byName } from '../../state/sections';
import { store } from '../../state/store';
import { count } from '../../words/numbers';
import { t } from '../../words/words';
import { argumentsOf, chapterOf, FILM, type Chapter } from './chapters';
import { BENCH } from './facts';
import { actionOf } from './keys';
import { look } from './look';
import { bringIn, readingTime } from './motion';
import { numberOf, reckon } from './reckon';
import here, { CHAPTERS } from './section';
import { caption, numbers, question, reckoning, transcript } from './text';

class Film extends LabElement {
  static override styles = [base, look];

  private readonly calm = matchMedia('(prefers-reduced-motion: reduce)');
  private playing = false;
  private timer = 0;
  /** What was typed and is no number. */
  private refused = '';
  /** Chapters whose question was answered wrongly once since the page was opened: the second time the answer is shown. */
  private readonly missed = new Set<string>();
  /** The still that was drawn last. */
  private drawn = '';

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener('keydown', this.pressed);
    this.calm.addEventListener('change', this.calmed);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener('keydown', this.pressed);
    this.calm.removeEventListener('change', this.calmed);
    this.stopPlaying();
  }

  /** The chapter and still shown; an address may name a still that the chapter has not. */
  private get at(): { chapter: Chapter; step: number } {
    const { chapter, step } = store.values(here);
    const found = chapterOf(chapter);
    return { chapter: found, step: Math.min(step, found.stills - 1) };
  }

  protected override render(): TemplateResult {
    const { chapter, step } = this.at;
    return html`
      <h1>${t('film.title')}</h1>
      <p>${t('film.lead')}</p>
      ${this.chapters(chapter)}
      <section class="card" aria-labelledby="chapter">
        <div class="stage">
          <div>
            <figure>
              <svg
                viewBox="0 0 480 322"
                role="img"
                aria-label=${t(`film.${chapter.name}.picture`, argumentsOf(chapter.name))}
              >
                ${chapter.draw(step)}
              </svg>
            </figure>
            ${this.controls(chapter, step)}
          </div>
          <div>
            <h2 id="chapter">${CHAPTERS.indexOf(chapter.name) + 1}. ${t(`film.${chapter.name}`)}</h2>
            <div class="caption" aria-live="polite"><p>${caption(chapter, step)}</p></div>
            ${step === chapter.ask ? this.question(chapter) : nothing} ${this.links(chapter)}
          </div>
        </div>
        <details>
          <summary>${t('film.numbers')}</summary>
          ${numbers(chapter)}
        </details>
      </section>
      <details class="transcript">
        <summary>${t('film.transcript')}</summary>
        ${transcript()}
      </details>
      <details>
        <summary>${t('film.keys')}</summary>
        <p>${t('film.keys.about')}</p>
        <label class="inline"
          ><input
            type="checkbox"
            .checked=${store.values(here).keys}
            @change=${(event: Event) => store.set(here, { keys: (event.target as HTMLInputElement).checked })}
          />${t('film.keys.characters')}</label
        >
      </details>
    `;
  }

  private chapters(now: Chapter): TemplateResult {
    const { answers } = store.values(here);
    const mark = (of: Chapter) => {
      const x = answers[of.name];
      if (x === null) return nothing;
      const right = reckon(of.name, x).right;
      return html`<span aria-hidden="true"> ${right ? '✓' : '✗'}</span
        ><span class="unseen">, ${t(right ? 'film.answered.right' : 'film.answered.wrong')}</span>`;
    };
    const any = FILM.some(({ name }) => answers[name] !== null);
    return html`<nav class="chapters" aria-label=${t('film.chapters')}>
      <ol>
        ${FILM.map(
          (each, place) =>
            html`<li>
              <button
                data-chapter=${each.name}
                aria-current=${each === now ? 'true' : nothing}
                title=${t(`film.${each.name}`)}
                @click=${() => this.open(place)}
              >
                ${place + 1}<span class="title"> ${t(`film.${each.name}`)}</span>${mark(each)}
              </button>
            </li>`,
        )}
      </ol>
      ${
        any
          ? html`<p class="quiet small" aria-hidden="true">
              ✓ ${t('film.answered.right')}, ✗ ${t('film.answered.wrong')}
            </p>`
          : nothing
      }
    </nav>`;
  }

  private controls(chapter: Chapter, step: number): TemplateResult {
    const first = chapter === FILM[0] && step === 0;
    const last = chapter === FILM.at(-1) && step === chapter.stills - 1;
    return html`<div class="row controls" role="group" aria-label=${t('film.controls')}>
        <button data-do="back" aria-disabled=${first ? 'true' : nothing} @click=${() => this.move(-1)}>
          ${t('film.back')}
        </button>
        ${
          this.calm.matches
            ? nothing
            : html`<button data-do="play" aria-pressed=${this.playing} @click=${() => this.play()}>
                ${t(this.playing ? 'film.pause' : 'film.play')}
              </button>`
        }
        <button data-do="next" class="main" aria-disabled=${last ? 'true' : nothing} @click=${() => this.move(1)}>
          ${t('film.next')}
        </button>
        <span class="quiet small">${t('film.still', { step: step + 1, stills: chapter.stills })}</span>
      </div>
      ${this.calm.matches ? html`<p class="quiet small">${t('film.calm')}</p>` : nothing}`;
  }

  private question(chapter: Chapter): TemplateResult {
    const x = store.values(here).answers[chapter.name];
    return html`<form class="question" @submit=${(event: Event) => this.answer(event, chapter)}>
      <label for="answer">${question(chapter)}</label>
      <div class="row">
        <input
          id="answer"
          name="answer"
          inputmode="decimal"
          autocomplete="off"
          aria-describedby="reckoned"
          .value=${x === null ? '' : count(x)}
          @keydown=${this.left}
        />
        <button>${t('film.answer')}</button>
      </div>
      <div id="reckoned" class="reckoned" role="status">${this.verdict(chapter, x)}</div>
      ${
        x === null || this.settled(chapter, x)
          ? nothing
          : html`<button type="button" data-do="show" @click=${() => this.show(chapter)}>${t('film.show')}</button>`
      }
    </form>`;
  }

  /** Whether there is nothing left to try: the answer is right, or is shown. */
  private settled({ name }: Chapter, x: number): boolean {
    return reckon(name, x).right || store.values(here).shown.includes(CHAPTERS.indexOf(name));
  }

  /** Right or wrong in words, then what follows from the number; a first wrong one leaves the answer to be found. */
  private verdict(chapter: Chapter, x: number | null): TemplateResult | typeof nothing {
    if (this.refused !== '') return html`<p>${t('film.refused', { what: this.refused })}</p>`;
    if (x === null) return nothing;
    const { right, args } = reckon(chapter.name, x);
    const said = right
      ? html`<span class="right">✓ ${t('film.yes')}</span>`
      : html`<span class="wrong">✗ ${t('film.no')}</span>`;
    return this.settled(chapter, x)
      ? html`<p>${said} ${reckoning(chapter, x)}</p>`
      : html`<p>${said} ${t('film.again', args)} ${t(`film.${chapter.name}.hint`, argumentsOf(chapter.name))}</p>`;
  }

  /** Show the answer, reckoned through with the reader's number. */
  private show({ name }: Chapter): void {
    const { shown } = store.values(here);
    store.set(here, { shown: [...new Set([...shown, CHAPTERS.indexOf(name)])] });
    this.renderRoot.querySelector<HTMLButtonElement>('[data-do="next"]')!.focus({ preventScroll: true });
  }

  private links(chapter: Chapter): TemplateResult {
    const { also, name } = chapter;
    return html`<p class="links">
      ${byName.has('bench') ? html`<a data-do="bench" href=${store.hash('bench', BENCH[name] as never)}>${t('film.bench')}</a>` : nothing}
      ${also && byName.has(also) ? html`<br /><a href=${store.hash(also)}>${t(`film.also.${also}`)}</a>` : nothing}
    </p>`;
  }

  private answer(event: Event, chapter: Chapter): void {
    event.preventDefault();
    const field = this.renderRoot.querySelector<HTMLInputElement>('#answer')!;
    const x = numberOf(field.value, store.page.lang);
    this.refused = x === null ? field.value.trim().slice(0, 40) || t('film.nothing') : '';
    if (x === null) {
      this.requestUpdate();
      return;
    }
    store.set(here, { answers: { ...store.values(here).answers, [chapter.name]: x } });
    if (!this.settled(chapter, x)) {
      if (!this.missed.has(chapter.name)) {
        this.missed.add(chapter.name);
        // a second try is typed over the first, once that is written as the language writes it
        void this.updateComplete.then(() => field.select());
        return;
      }
      this.show(chapter);
    }
    this.renderRoot.querySelector<HTMLButtonElement>('[data-do="next"]')!.focus({ preventScroll: true });
  }

  /** Escape leaves the field, so that arrows are the film's again. */
  private readonly left = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') this.renderRoot.querySelector<HTMLButtonElement>('[data-do="next"]')!.focus();
  };

  private open(place: number): void {
    this.stopPlaying();
    this.refused = '';
    if (FILM[place] !== this.at.chapter || this.at.step !== 0) store.go(here, { chapter: FILM[place]!.name, step: 0 });
  }

  /** One still on or back, over the ends of chapters. */
  private move(by: 1 | -1, byHand = true): void {
    if (byHand) this.stopPlaying();
    this.refused = '';
    const { chapter, step } = this.at;
    const beside = FILM[FILM.indexOf(chapter) + by];
    if (step + by >= 0 && step + by < chapter.stills) store.set(here, { step: step + by });
    else if (beside) store.set(here, { chapter: beside.name, step: by > 0 ? 0 : beside.stills - 1 });
  }

  private play(): void {
    if (this.playing || this.calm.matches) {
      this.stopPlaying();
      return;
    }
    this.playing = true;
    this.move(1, false);
    this.requestUpdate();
  }

  private stopPlaying(): void {
    window.clearTimeout(this.timer);
    this.playing = false;
    this.requestUpdate();
  }

  private readonly calmed = (): void => this.stopPlaying();

  private readonly pressed = (event: KeyboardEvent): void => {
    const action = actionOf(event, store.values(here).keys);
    if (action === null) return;
    if (action === 'next') this.move(1);
    else if (action === 'back') this.move(-1);
    else if (action === 'play') this.calm.matches ? this.move(1) : this.play();
    else if (this.at.step === this.at.chapter.ask) this.type(action.digit);
    else this.open((Number(action.digit) + 9) % 10);
    event.preventDefault();
  };

  /** A digit that is pressed at a question begins the answer. */
  private type(digit: string): void {
    this.stopPlaying();
    const field = this.renderRoot.querySelector<HTMLInputElement>('#answer')!;
    field.value = digit;
    field.focus();
  }

  protected override updated(changed: PropertyValues): void {
    super.updated(changed);
    const { chapter, step } = this.at;
    const drawn = `${CHAPTERS.indexOf(chapter.name)}.${step}`;
    if (drawn === this.drawn) return;
    const onward = this.drawn !== '' && drawn > this.drawn;
    this.drawn = drawn;
    if (onward && !this.calm.matches) bringIn(this.renderRoot.querySelector('figure')!, step);
    window.clearTimeout(this.timer);
    if (!this.playing) return;
    const ended = chapter === FILM.at(-1) && step === chapter.stills - 1;
    // at a question the film waits for the reader, who may also just go on
    if (step === chapter.ask || ended) this.stopPlaying();
    else this.timer = window.setTimeout(() => this.move(1, false), readingTime(caption(chapter, step)));
  }
}

define('lab-film', Film);
