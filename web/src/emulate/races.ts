/** Pairs of steps that no barrier orders, as the package's `lab/playing.py` finds them. */

import type { Step } from './play';

export interface Pair {
  readonly array: string;
  readonly index: readonly number[];
  /** Their numbers, the earlier first. */
  readonly steps: readonly [number, number];
  readonly threads: readonly [number, number];
  readonly lines: readonly [number, number];
  readonly epoch: number;
}

/** The first pair of each pair of lines, in the order in which the later of their steps came. */
export function racesOf(steps: readonly Step[]): Pair[] {
  const found = new Map<string, Pair>();
  // by element: of what was done to it alike, the first two threads' first steps, which are all that a later one needs
  const earlier = new Map<string, Map<string, number[]>>();
  steps.forEach((step, number) => {
    if (step.kind === 'barrier') return;
    const place = `${step.epoch} ${step.array} ${step.index.join()}`;
    const done = earlier.get(place) ?? new Map<string, number[]>();
    earlier.set(place, done);
    for (const before of [...done.values()].flat().sort((a, b) => a - b)) {
      const other = steps[before]!;
      const lines = [other.line, step.line] as const;
      const name = `${step.array} ${Math.min(...lines)} ${Math.max(...lines)}`;
      if (found.has(name) || !conflicting(other, step)) continue;
      found.set(name, {
        array: step.array,
        index: step.index,
        steps: [before, number],
        threads: [other.thread, step.thread],
        lines,
        epoch: step.epoch,
      });
    }
    const what = `${step.line} ${step.kind} ${step.kind === 'store' ? step.value : ''}`;
    const alike = done.get(what) ?? [];
    done.set(what, alike);
    if (alike.length < 2 && alike.every((before) => steps[before]!.thread !== step.thread)) alike.push(number);
  });
  return [...found.values()].sort((a, b) => a.steps[1] - b.steps[1] || a.steps[0] - b.steps[0]);
}

/** Whether it matters which of two steps on one element comes first. */
export function conflicting(one: Step, other: Step): boolean {
  if (one.thread === other.thread) return false;
  if (one.kind === other.kind && (one.kind === 'load' || one.kind === 'atomic')) return false;
  return !(one.kind === 'store' && other.kind === 'store' && Object.is(one.value, other.value));
}
