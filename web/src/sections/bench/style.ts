/** The bench's own look. */

import { css } from 'lit';

export const look = css`
  .bench {
    display: grid;
    gap: 18px;
    grid-template-columns: 264px minmax(0, 1fr);
    align-items: start;
    margin-top: 18px;
  }
  .bench .card {
    margin: 0;
  }
  .results {
    min-width: 0;
  }
  nav ul {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 24px;
    list-style: none;
    margin: 18px 0 0;
    padding: 0;
  }
  .form {
    display: grid;
    gap: 10px;
    padding: 14px 16px;
  }
  @media (min-width: 821px) {
    /* what is set stays in sight beside a page that is longer than the window */
    .form {
      position: sticky;
      top: 10px;
      max-height: calc(100vh - 20px);
      overflow-y: auto;
    }
    /* in reach where the form is longer than the window */
    .actions {
      position: sticky;
      bottom: -14px;
      padding: 8px 0 14px;
      margin-bottom: -14px;
      background: var(--paper);
    }
  }
  .form h2 {
    margin: 0;
  }
  .sides {
    grid-template-columns: repeat(3, minmax(0, 1fr));
  }
  .sides input {
    padding: 5px 6px;
  }
  .small-buttons {
    gap: 5px;
    margin-top: -4px;
  }
  .small-buttons button {
    min-height: 28px;
    padding: 1px 7px;
    font-size: 0.9rem;
  }
  fieldset {
    border: 0;
    margin: 0;
    padding: 0;
    min-width: 0;
  }
  legend {
    padding: 0;
    color: var(--quiet);
    font-size: 0.88rem;
  }
  label.check {
    display: flex;
    gap: 6px;
    align-items: center;
    color: var(--ink);
    font-size: 0.95rem;
    padding: 3px 0;
  }
  label.check input {
    flex: none;
  }
  .actions {
    display: grid;
    gap: 8px;
  }
  .device {
    border-left: 3px solid var(--teal);
    padding-left: 10px;
  }
  .device.lacks {
    border-color: var(--brick);
  }
  .software {
    color: var(--ochre);
  }
  .progress {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 12px;
    align-items: center;
    min-height: 28px;
    color: var(--quiet);
    font-size: 0.92rem;
  }
  progress {
    accent-color: var(--teal);
    width: 180px;
  }
  td .note {
    display: block;
    font-size: 0.8rem;
    color: var(--quiet);
    font-weight: 400;
    white-space: normal;
  }
  td.n .note {
    max-width: 9.5em;
    margin-left: auto;
  }
  td[data-figure='time'] .note {
    white-space: nowrap;
  }
  td .note.right {
    color: var(--teal);
  }
  td .note.wrong {
    color: var(--brick);
    font-weight: 600;
  }
  thead th {
    vertical-align: bottom;
  }
  td[data-figure='verdict'] {
    min-width: 7em;
  }
  th.whole {
    white-space: nowrap;
  }
  .results td,
  .results th {
    padding-right: 10px;
  }
  .results tr > :last-child {
    padding-right: 0;
  }
  .bars figure {
    max-width: 440px;
  }
  .scroll + .scroll {
    margin-top: 20px;
  }
  .bars figcaption {
    color: var(--quiet);
    font-size: 0.88rem;
    margin-bottom: 6px;
  }
  th .note {
    display: block;
    font-weight: 400;
    white-space: nowrap;
  }
  @media (max-width: 600px) {
    .kernels,
    .kernels :is(tbody, tr, th, td) {
      display: block;
    }
    .kernels thead {
      display: none;
    }
    .kernels tr + tr {
      border-top: 2px solid var(--grid);
      padding-top: 8px;
    }
    .kernels tbody :is(td, th) {
      padding: 3px 0;
      border: 0;
      overflow: hidden;
    }
    .kernels tr.broken td:not([data-figure='verdict']) {
      display: none;
    }
    .kernels td::before {
      content: attr(data-head);
      float: left;
      color: var(--quiet);
      font-size: 0.85rem;
    }
    .kernels td[data-figure='verdict'] {
      text-align: right;
    }
    .kernels td .note {
      clear: both;
      max-width: none;
    }
  }
  @media (max-width: 820px) {
    .bench {
      grid-template-columns: minmax(0, 1fr);
    }
  }
`;
