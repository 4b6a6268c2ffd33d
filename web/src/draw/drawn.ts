/** An element that draws as wide as it is: `width` follows its own, within limits; colours follow the device's theme. */

import { LabElement } from '../shell/element';

export abstract class Drawn extends LabElement {
  protected width = 640;
  protected readonly narrowest: number = 300;
  protected readonly widest: number = 760;
  private readonly watcher = new ResizeObserver(([entry]) => {
    const width = Math.round(Math.min(this.widest, Math.max(this.narrowest, entry!.contentRect.width)));
    if (width === this.width || entry!.contentRect.width === 0) return;
    this.width = width;
    this.requestUpdate();
  });
  private readonly theme = matchMedia('(prefers-color-scheme: dark)');
  private readonly repaint = () => this.requestUpdate();

  override connectedCallback(): void {
    super.connectedCallback();
    this.watcher.observe(this);
    this.theme.addEventListener('change', this.repaint);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.watcher.disconnect();
    this.theme.removeEventListener('change', this.repaint);
  }
}

const PAIRED = 2 * 420 + 18;

/** How wide a picture is that stands in a `.pair`, whose halves stand beside each other where there is room. */
export const halved = (width: number): number => (width >= PAIRED ? (width - 18) / 2 : width);
