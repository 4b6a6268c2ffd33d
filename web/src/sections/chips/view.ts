/** Chips: a table of all, one with a source for every figure, and the reader's own. */

import { html, type TemplateResult } from 'lit';
import { define, LabElement } from '../../shell/element';
import { t } from '../../words/words';

class Chips extends LabElement {
  protected override render(): TemplateResult {
    return html`<h1>${t('nav.chips')}</h1>`;
  }
}

define('lab-chips', Chips);
