/** A run as CSV or JSON: every figure with how it is known. */

import { fromSet, type Line, type Set } from './lines';
import type { Outcome } from '../../gpu/bench';

export interface Entry {
  readonly kernel: string;
  readonly figure: string;
  readonly value: number | string | boolean;
  readonly unit: string;
  readonly known: 'counted' | 'emulated' | 'measured' | 'predicted' | 'checked';
}

/** The name of a kernel in files, in no language. */
export function plainName({ kernel, tile, without }: Line['variant']): string {
  const cut = without.map((which) => `-without-barrier-${which + 1}`).join('');
  return kernel === 'naive' ? 'naive' : `tiled-${tile}${cut}`;
}

export function entries(lines: readonly Line[]): Entry[] {
  return lines.flatMap((line) => {
    const kernel = plainName(line.variant);
    const { counts, limit, found } = line;
    const all: [string, number | string | boolean | null | undefined, string, Entry['known']][] = [
      ['reads', counts.elements, 'elements', 'counted'],
      ['reads_bytes', counts.bytes, 'B', 'counted'],
      ['stores_bytes', counts.stored, 'B', 'counted'],
      ['work', counts.flop, 'FLOP', 'counted'],
      ['intensity', counts.intensity, 'FLOP/B', 'counted'],
      ['reads_by_walking', found?.walked && found.walked.a + found.walked.b, 'elements', 'emulated'],
      ['reads_by_adapter', found?.counted && found.counted.a + found.counted.b, 'elements', 'measured'],
      ['least_time', limit.least, 's', 'predicted'],
      ['bound', limit.bound, '', 'predicted'],
      ['uncached_time', limit.uncached, 's', 'predicted'],
      ['right', found?.verdict?.right, '', 'checked'],
      ['wrong_elements', found?.verdict?.wrong, 'elements', 'checked'],
      ['unwritten_elements', found?.verdict?.unwritten, 'elements', 'checked'],
      ['largest_error', found?.verdict?.error, '', 'checked'],
    ];
    if (line.rate !== null) {
      const { spread } = found!.timing!;
      all.push(
        ['time', spread.median, 's', 'measured'],
        ['time_lower_quartile', spread.low, 's', 'measured'],
        ['time_upper_quartile', spread.high, 's', 'measured'],
        ['rounds', spread.rounds, '', 'measured'],
        ['repetitions', found!.timing!.repetitions, '', 'measured'],
        ['rate', line.rate, 'FLOP/s', 'measured'],
        ['share_of_limit', line.share, '', 'measured'],
      );
    }
    return all.flatMap(([figure, value, unit, known]) =>
      value === null || value === undefined ? [] : [{ kernel, figure, value, unit, known }],
    );
  });
}

const quoted = (value: unknown) => {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function csv(set: Set, lines: readonly Line[], run: Outcome | null): string {
  const about = fromSet(set);
  const where = run ? { adapter: run.about.name, software: run.about.software, clock: run.source ?? '' } : {};
  const head = { ...about, ...where };
  const rows = entries(lines).map((entry) => [...Object.values(head), ...Object.values(entry)].map(quoted).join(','));
  const names = [...Object.keys(head), 'kernel', 'figure', 'value', 'unit', 'known'];
  return [names.join(','), ...rows, ''].join('\n');
}

export function json(set: Set, lines: readonly Line[], run: Outcome | null): string {
  const where = run && { ...run.about, clock: run.source, clock_step_s: run.stepS, distrusted: run.distrusted };
  return `${JSON.stringify({ problem: fromSet(set), device: where, figures: entries(lines) }, null, 1)}\n`;
}
