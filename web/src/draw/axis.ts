/** A logarithmic axis. */

export class LogAxis {
  constructor(
    readonly low: number,
    readonly high: number,
    readonly start: number,
    readonly end: number,
  ) {}

  /** Where a value lies; what is off the axis at its nearer end. */
  at(value: number): number {
    const share = Math.log(value / this.low) / Math.log(this.high / this.low);
    return this.start + Math.min(1, Math.max(0, share)) * (this.end - this.start);
  }

  /** Powers of ten, as many as leave `gap` between two. */
  ticks(gap: number): number[] {
    const first = Math.ceil(Math.log10(this.low) - 1e-9);
    const last = Math.floor(Math.log10(this.high) + 1e-9);
    const room = Math.abs(this.end - this.start) / Math.max(1e-9, Math.log10(this.high / this.low));
    const step = Math.max(1, Math.ceil(gap / room));
    const found: number[] = [];
    for (let power = first; power <= last; power += step) found.push(10 ** power);
    return found;
  }
}

/** Rows for labels that begin at `starts` and are `widths` long, so that no two overlap: the lowest free one for each. */
export function stagger(starts: readonly number[], widths: readonly number[], gap = 6): number[] {
  const ends: number[] = [];
  const rows = new Array<number>(starts.length).fill(0);
  for (const i of starts.map((_, j) => j).sort((a, b) => starts[a]! - starts[b]!)) {
    let row = ends.findIndex((end) => end + gap <= starts[i]!);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = starts[i]! + widths[i]!;
    rows[i] = row;
  }
  return rows;
}

/** About how wide a text is, in a font of so many pixels: on the wide side. */
export const textWidth = (text: string, size: number): number => text.length * size * 0.6;
