/** The launch that the address means, played once for each change of it. */

import { kernelOf } from '../../emulate/kernels';
import { play, worst, type Play, type Step } from '../../emulate/play';
import { NAMED, Random } from '../../emulate/schedule';
import { store } from '../../state/store';
import { t } from '../../words/words';
import here from './section';

export type State = ReturnType<typeof store.values<typeof here.params, never>>;
export const stateOf = (): State => store.values(here);

let key = '';
let held: Play | null = null;

/** Integers from -8 to 8, none of them 0: a product that is missing shows. */
export function operand(rows: number, cols: number, seed: number): number[][] {
  const random = new Random(seed);
  const drawn = () => (random.below(8) + 1) * (random.below(2) === 0 ? 1 : -1);
  return Array.from({ length: rows }, () => Array.from({ length: cols }, drawn));
}

/** What the state plays, from what was played last where it is the same. */
export function playOf(state: State): Play {
  const { rung, pm, pn, pk, order, seed, fill, bx, by } = state;
  const { side, barriers } = kernelOf(rung);
  const without = [...new Set(state.out)].filter((number) => number < barriers.length).sort();
  const traced = [Math.min(bx, Math.ceil(pn / side) - 1), Math.min(by, Math.ceil(pm / side) - 1)] as const;
  const wanted = JSON.stringify([rung, pm, pn, pk, order, order === 'random' ? seed : 0, fill, without, traced]);
  if (held === null || wanted !== key) {
    const asked = { kernel: rung, a: operand(pm, pk, 1), b: operand(pk, pn, 2), without, fill, traced };
    held =
      order === 'worst'
        ? worst({ ...asked, schedule: NAMED.serial })
        : play({ ...asked, schedule: order === 'random' ? { ...NAMED.random, seed } : NAMED[order] });
    key = wanted;
  }
  return held;
}

/** The step that the state points at. */
export function cursor(state: State, of: Play): number {
  if (state.at < 0) return of.races[0]?.steps[0] ?? 0;
  return Math.max(0, Math.min(state.at, of.steps.length - 1));
}

/** A thread by its number and its place in the block. */
export function threadName(thread: number, { across }: Pick<Play, 'across'>): string {
  return t('schedules.thread', { n: thread, x: thread % across, y: Math.floor(thread / across) });
}

/** An element as the kernel names it: a_tile[1, 0]. */
export function element(step: Pick<Step, 'array' | 'index'>): string {
  return `${step.array}[${step.index.join(', ')}]`;
}

/** What a step does, in words. */
export function deed(step: Step): string {
  if (step.kind === 'barrier') return t('schedules.does.barrier');
  const value = Number.isFinite(step.value) ? step.value : t('schedules.nan');
  return t(`schedules.does.${step.kind}`, { element: element(step), value });
}
