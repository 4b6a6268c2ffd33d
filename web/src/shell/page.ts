/** The page's frame: navigation, reading level, language, colours, and the section that the address names. */

import { css, html, nothing, type TemplateResult } from 'lit';
import { html as tagged, unsafeStatic } from 'lit/static-html.js';
import { SECTIONS, type Section } from '../state/sections';
import { LANGUAGES, LEVELS, THEMES } from '../state/shared';
import { store } from '../state/store';
import { t, wordsOf } from '../words/words';
import { define, LabElement } from './element';
import { base } from './style';

const NAMES = { en: 'English', it: 'Italiano' } as const;

class Page extends LabElement {
  static override styles = [
    base,
    css`
      header {
        background: var(--paper);
        border-bottom: 1px solid var(--grid);
      }
      .bar,
      main,
      footer {
        max-width: 1240px;
        margin: 0 auto;
        padding: 8px 20px;
      }
      .bar {
        display: flex;
        flex-wrap: wrap;
        gap: 4px 22px;
        align-items: center;
      }
      .name {
        font-weight: 700;
        white-space: nowrap;
      }
      nav ul {
        display: flex;
        flex-wrap: wrap;
        gap: 0 18px;
        list-style: none;
        margin: 0;
        padding: 0;
      }
      nav a {
        display: block;
        padding: 8px 0 6px;
        color: var(--ink);
        text-decoration: none;
        border-bottom: 3px solid transparent;
      }
      nav a:hover {
        border-color: var(--grid);
      }
      nav a[aria-current] {
        border-color: var(--teal);
        font-weight: 600;
      }
      .settings {
        display: flex;
        flex-wrap: wrap;
        gap: 6px 10px;
        margin-left: auto;
      }
      .settings select {
        min-height: 34px;
        padding: 2px 6px;
        font-size: 0.9rem;
      }
      main {
        padding-top: 18px;
        padding-bottom: 40px;
        min-height: 70vh;
      }
      footer {
        color: var(--quiet);
        font-size: 0.88rem;
      }
      .notice {
        border-color: var(--ochre);
        margin: 0 0 18px;
      }
      .notice ul {
        margin: 0.3em 0 0.6em;
        padding-left: 1.3em;
        overflow-wrap: anywhere;
      }
      .skip {
        position: absolute;
        left: -999px;
      }
      .skip:focus {
        left: 8px;
        top: 8px;
        z-index: 1;
      }
      @media (max-width: 600px) {
        .bar,
        main,
        footer {
          padding-left: 14px;
          padding-right: 14px;
        }
        .settings {
          margin-left: 0;
        }
      }
    `,
  ];

  /** The section whose view and words are here, or what kept them away. */
  private ready = '';
  private failure: string | null = null;
  private shown: Section | null = null;

  protected override willUpdate(): void {
    const { lang, theme } = store.page;
    const root = document.documentElement;
    root.lang = lang;
    if (theme === 'auto') delete root.dataset['theme'];
    else root.dataset['theme'] = theme;
    document.title = `${t(`nav.${store.section.name}`)} · ${t('page.title')}`;
    if (this.ready !== this.wanted()) void this.fetch();
  }

  protected override render(): TemplateResult {
    return html`
      <button class="skip" @click=${() => this.heading()}>${t('page.skip')}</button>
      <header>
        <div class="bar">
          <span class="name">${t('page.title')}</span>
          <nav aria-label=${t('page.sections')}>
            <ul>
              ${SECTIONS.filter((found) => found.order !== null).map((found) => this.link(found))}
            </ul>
          </nav>
          <div class="settings" role="group" aria-label=${t('page.settings')}>
            ${this.chooser('lvl', t('page.level'), LEVELS, (name) => t(`page.level.${name}.name`))}
            ${this.chooser('lang', t('page.language'), LANGUAGES, (name) => NAMES[name])}
            ${this.chooser('theme', t('page.theme'), THEMES, (name) => t(`page.theme.${name}`))}
          </div>
        </div>
      </header>
      <main tabindex="-1">${this.notice()} ${this.content()}</main>
      <footer>${t('page.foot')}</footer>
    `;
  }

  private link(found: Section): TemplateResult {
    const here = found === store.section;
    return html`<li>
      <a href=${store.hash(found)} aria-current=${here ? 'page' : nothing}>${t(`nav.${found.name}`)}</a>
    </li>`;
  }

  private chooser<const T extends string>(
    name: 'lvl' | 'lang' | 'theme',
    label: string,
    among: readonly T[],
    text: (name: T) => string,
  ): TemplateResult {
    const choose = (event: Event) => store.setPage({ [name]: (event.target as HTMLSelectElement).value });
    const now: string = store.page[name];
    return html`<select aria-label=${label} title=${label} data-setting=${name} @change=${choose}>
      ${among.map((each) => html`<option value=${each} .selected=${each === now}>${text(each)}</option>`)}
    </select>`;
  }

  private notice(): TemplateResult {
    const dropped = store.dropped;
    return html`<div role="status">
      ${
        dropped.length === 0
          ? nothing
          : html`<div class="card notice">
              <p>${t('page.dropped', { n: dropped.length })}</p>
              <ul>
                ${dropped
                  .slice(0, 8)
                  .map(({ what, why, allowed }) => html`<li>${t(`page.dropped.${why}`, { what, allowed })}</li>`)}
              </ul>
              <button @click=${() => store.seen()}>${t('page.close')}</button>
            </div>`
      }
    </div>`;
  }

  private content(): TemplateResult {
    if (this.failure !== null) {
      return html`<p role="alert" class="wrong">${t('page.failed', { reason: this.failure })}</p>
        <button @click=${() => this.fetch()}>${t('page.again')}</button>`;
    }
    if (this.shown !== store.section || this.ready === '') return html`<p class="quiet">${t('page.loading')}</p>`;
    const name = unsafeStatic(`lab-${this.shown.name}`);
    return tagged`<${name}></${name}>`;
  }

  private wanted(): string {
    return `${store.section.name} ${store.page.lang}`;
  }

  private async fetch(): Promise<void> {
    const { section } = store;
    const wanted = this.wanted();
    const moved = this.shown !== null && this.shown !== section;
    this.ready = wanted;
    this.failure = null;
    try {
      await Promise.all([section.load(), ...[section.name, ...(section.words ?? [])].map((name) => wordsOf(name))]);
      if (this.wanted() !== wanted) return;
      this.shown = section;
    } catch (error) {
      if (this.wanted() !== wanted) return;
      this.failure = error instanceof Error ? error.message : String(error);
    }
    this.requestUpdate();
    await this.updateComplete;
    if (moved) this.heading();
  }

  /** Put the reader at the section's beginning. */
  private heading(): void {
    this.renderRoot.querySelector('main')?.focus();
    window.scrollTo(0, 0);
  }
}

define('lab-page', Page);
