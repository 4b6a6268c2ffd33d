/** The film's own look, beside the one that all elements share. */

import { css } from 'lit';

export const look = css`
  .chapters ol {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
    list-style: none;
    margin: 14px 0 0;
    padding: 0;
  }
  .chapters button {
    min-width: 36px;
    padding: 4px 10px;
    font-size: 0.92rem;
  }
  .stage {
    display: grid;
    grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
    gap: 14px 30px;
    align-items: start;
  }
  .stage figure {
    margin: 0;
  }
  .stage svg {
    max-height: 62vh;
  }
  .controls {
    margin-top: 12px;
    justify-content: center;
  }
  .controls button {
    min-width: 92px;
    min-height: 44px;
  }
  .controls [aria-disabled='true'] {
    background: var(--paper);
    color: var(--quiet);
    border: 1px dashed var(--edge);
    cursor: default;
  }
  .caption {
    font-size: 1.12rem;
    line-height: 1.6;
  }
  .caption p {
    margin: 0 0 0.7em;
  }
  .question {
    border-left: 4px solid var(--teal);
    padding-left: 14px;
    margin: 12px 0 0;
  }
  .question label {
    color: var(--ink);
    font-size: 1.05rem;
    font-weight: 600;
  }
  .question input {
    width: 11em !important;
  }
  .question .row {
    margin-top: 8px;
  }
  .reckoned {
    margin-top: 10px;
  }
  .links {
    margin-top: 14px;
  }
  .light {
    font-weight: 400;
  }
  details .scroll {
    max-width: 640px;
  }
  details {
    margin-top: 12px;
  }
  .inline {
    display: inline-flex;
    gap: 8px;
    align-items: center;
  }
  kbd {
    border: 1px solid var(--edge);
    border-radius: 4px;
    padding: 0 5px;
    font-size: 0.85em;
  }
  @media (max-width: 860px) {
    .stage {
      grid-template-columns: minmax(0, 1fr);
    }
    .chapters button:not([aria-current]) .title {
      position: absolute;
      width: 1px;
      height: 1px;
      overflow: hidden;
      clip-path: inset(50%);
      white-space: nowrap;
    }
    .controls button {
      min-width: 84px;
    }
  }
  @media (max-width: 600px) {
    .stage figure {
      margin: 0 -10px;
    }
  }
`;
