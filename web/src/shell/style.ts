/** The look that all elements of the page share: calm, one accent, figures in columns. */

import { css } from 'lit';

export const base = css`
  :host {
    display: block;
    color: var(--ink);
    font:
      16px/1.55 system-ui,
      Helvetica,
      Arial,
      sans-serif;
  }
  :host([hidden]) {
    display: none;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  h1 {
    font-size: 1.8rem;
    line-height: 1.2;
    margin: 0.2em 0 0.3em;
    letter-spacing: -0.01em;
  }
  h1:focus {
    outline: none;
  }
  h2 {
    font-size: 1.15rem;
    margin: 0 0 0.5em;
  }
  h3 {
    font-size: 1rem;
    margin: 1.1em 0 0.35em;
  }
  p {
    margin: 0.4em 0;
    max-width: 72ch;
  }
  a {
    color: var(--teal);
  }
  p,
  li {
    overflow-wrap: anywhere;
  }
  .quiet {
    color: var(--quiet);
  }
  .small {
    font-size: 0.88rem;
  }
  .card {
    background: var(--paper);
    border: 1px solid var(--grid);
    border-radius: 10px;
    padding: 18px 20px;
    margin: 18px 0 0;
    min-width: 0;
  }
  .pair {
    display: grid;
    gap: 18px;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr));
    align-items: start;
  }
  .pair > .card {
    margin: 0;
  }
  .scroll {
    overflow-x: auto;
    position: relative;
  }
  /* the sign that it goes on, which stays in sight as it is scrolled */
  .scroll[data-more] {
    border-right: 3px dotted var(--edge);
  }
  .scroll[data-more]::before {
    content: attr(data-more);
    position: sticky;
    left: 0;
    display: block;
    width: max-content;
    color: var(--quiet);
    font-size: 0.8rem;
  }
  table {
    border-collapse: collapse;
    width: 100%;
    font-variant-numeric: tabular-nums;
  }
  caption {
    text-align: left;
    color: var(--quiet);
    padding-bottom: 6px;
  }
  th {
    font-weight: 600;
    text-align: left;
    color: var(--quiet);
    font-size: 0.85rem;
  }
  tbody th {
    color: var(--ink);
    font-size: inherit;
  }
  td,
  th {
    padding: 5px 12px 5px 0;
    border-bottom: 1px solid var(--grid);
    vertical-align: top;
  }
  tr:last-child > * {
    border-bottom: 0;
  }
  .n {
    text-align: right;
  }
  td.n {
    white-space: nowrap;
  }
  button,
  select,
  input {
    font: inherit;
    color: inherit;
  }
  button,
  select,
  input:not([type='range'], [type='checkbox'], [type='radio']) {
    background: var(--paper);
    border: 1px solid var(--edge);
    border-radius: 7px;
    padding: 5px 10px;
    min-height: 36px;
    max-width: 100%;
  }
  /* the arrow takes room that long choices need */
  select {
    padding-left: 6px;
    padding-right: 2px;
  }
  button {
    cursor: pointer;
  }
  button:hover {
    border-color: var(--teal);
  }
  button.main {
    background: var(--teal);
    border-color: var(--teal);
    color: var(--paper);
    font-weight: 600;
  }
  button.danger {
    border: 2px solid var(--brick);
    color: var(--brick);
    font-weight: 600;
  }
  button[aria-pressed='true'],
  button[aria-current='true'] {
    background: var(--mist);
    border-color: var(--teal);
    font-weight: 600;
  }
  button:disabled {
    background: var(--paper);
    color: var(--quiet);
    cursor: default;
    border-style: dashed;
  }
  /* the arrows would hide the last digit where a field is narrow; the arrow keys step all the same */
  input[type='number'] {
    appearance: textfield;
    padding-left: 8px;
    padding-right: 4px;
  }
  input[type='number']::-webkit-inner-spin-button {
    appearance: none;
    margin: 0;
  }
  input[type='range'] {
    width: 100%;
    accent-color: var(--teal);
  }
  input[type='checkbox'],
  input[type='radio'] {
    accent-color: var(--teal);
    width: 18px;
    height: 18px;
    vertical-align: -3px;
  }
  label {
    display: block;
    color: var(--quiet);
    font-size: 0.88rem;
  }
  label > :is(input, select):not([type='checkbox'], [type='radio']) {
    display: block;
    width: 100%;
    color: var(--ink);
    font-size: 1rem;
    margin-top: 2px;
  }
  .fields {
    display: grid;
    gap: 10px 14px;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, max(150px, 15%)), 1fr));
    align-items: end;
  }
  /* side by side as they need room: a choice as its words do, a number as a few digits do */
  .fields.snug {
    display: flex;
    flex-wrap: wrap;
  }
  .fields.snug label {
    flex: 1 1 76px;
  }
  .fields.snug label:has(select) {
    flex: 1 1 215px;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 8px 12px;
    align-items: center;
  }
  .wrong {
    color: var(--brick);
    font-weight: 600;
  }
  .right {
    color: var(--teal);
    font-weight: 600;
  }
  .tag {
    font-size: 0.75rem;
    font-weight: 600;
    border: 1px solid currentColor;
    border-radius: 99px;
    padding: 0 7px;
    white-space: nowrap;
  }
  .tag.datasheet {
    color: var(--quiet);
  }
  .tag.counted,
  .tag.emulated {
    color: var(--teal);
  }
  .tag.predicted {
    color: var(--ochre);
  }
  .tag.measured {
    color: var(--plum);
  }
  .tag.checked {
    color: var(--ink);
  }
  pre,
  code {
    font:
      0.86rem/1.5 ui-monospace,
      Menlo,
      Consolas,
      monospace;
  }
  svg text {
    font-family: system-ui, Helvetica, Arial, sans-serif;
    fill: currentColor;
  }
  figure {
    margin: 12px 0 0;
  }
  figure svg,
  figure canvas {
    display: block;
    width: 100%;
    height: auto;
  }
  summary {
    cursor: pointer;
    color: var(--teal);
  }
  dl {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr));
    gap: 6px 24px;
    margin: 8px 0;
  }
  dt {
    font-weight: 600;
  }
  dd {
    margin: 0;
  }
  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  :focus-visible {
    outline: 3px solid var(--sky);
    outline-offset: 2px;
  }
  @media (max-width: 600px) {
    .card {
      padding: 14px 14px;
    }
    table {
      font-size: 0.9rem;
    }
    td,
    th {
      padding-right: 7px;
    }
    tr > :last-child {
      padding-right: 0;
    }
    /* a table may be wider than the screen, its caption not */
    caption {
      max-width: calc(100vw - 60px);
    }
  }
  @media (prefers-reduced-motion: reduce) {
    *,
    *::before,
    *::after {
      animation: none !important;
      transition: none !important;
    }
  }
`;
