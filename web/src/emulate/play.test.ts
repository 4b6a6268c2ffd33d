import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import golden from '../../golden/plays.json';
import { KERNELS, kernelOf, type KernelName } from './kernels';
import { play, worst, type Asked, type Step } from './play';
import { NAMED, NAMES, type Schedule } from './schedule';

const said = (step: Step) =>
  [
    step.thread,
    step.line,
    step.kind,
    step.array,
    step.index.join(),
    Number.isFinite(step.value) ? step.value : 'null',
    step.epoch,
    step.stops ? 1 : 0,
  ].join(' ');

/** Integers from -8 to 8 that repeat nowhere soon. */
const matrix = (rows: number, cols: number, salt: number) =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: cols }, (_, j) => ((i * 7 + j * 13 + salt) % 17) - 8));

const asked = (kernel: KernelName, side: number, without: number[], schedule: Schedule): Asked => ({
  kernel,
  a: matrix(side, side, 1),
  b: matrix(side, side, 5),
  without,
  schedule,
  fill: 'nan',
  traced: [0, 0],
});

describe.each(
  golden.map(
    (each) => [`${each.kernel} ${each.m}x${each.n}x${each.k} -${each.without} ${each.spelled}`, each] as const,
  ),
)('%s', (_, given) => {
  const { seed, preemptions, horizon, order, blocks, name, only, first, last, delay } = given.schedule;
  const told = play({
    kernel: given.kernel as KernelName,
    a: given.a,
    b: given.b,
    without: given.without,
    fill: given.fill as 'zero',
    traced: given.traced.slice(0, 2) as [number, number],
    // the horizon is found here again, where the package found it too
    schedule: { seed, preemptions, horizon: 0, order, blocks, name, only, first, last, delay } as unknown as Schedule,
  });

  test('the same steps in the same order', () => {
    const lines = told.steps.map(said);
    expect(lines.slice(0, 12)).toEqual(given.first);
    expect(lines.length).toBe(given.steps);
    expect(createHash('sha256').update(lines.join('\n')).digest('hex')).toBe(given.digest);
    expect(told.schedule!.horizon).toBe(horizon);
  });

  test('the same C, wrong elements and races', () => {
    const { n } = given;
    expect([...told.c].map((value) => (Number.isFinite(value) ? value : null))).toEqual(given.c.flat());
    expect(told.wrong.map((at) => [Math.floor(at / n), at % n])).toEqual(given.wrong);
    expect(told.races).toEqual(given.races);
  });
});

test('a whole kernel is right in every order, and has no race', () => {
  for (const kernel of KERNELS) {
    for (const name of NAMES) {
      const told = play({ ...asked(kernel, 10, [], NAMED[name]), fill: 'zero' });
      expect(told.wrong, `${kernel} ${name}`).toEqual([]);
      expect(told.races, `${kernel} ${name}`).toEqual([]);
    }
  }
});

test('the worst order is no better than any that was named', () => {
  const given = asked('tiled_8', 16, [0], NAMED.lockstep);
  const found = worst(given);
  for (const name of NAMES)
    expect(found.wrong.length).toBeGreaterThanOrEqual(play({ ...given, schedule: NAMED[name] }).wrong.length);
  expect(found.wrong.length).toBeGreaterThan(0);
});

test('barriers are lines of the source that wait', () => {
  for (const kernel of KERNELS) {
    const { barriers, source } = kernelOf(kernel);
    for (const line of barriers) expect(source.get(line)).toContain('syncthreads');
  }
});
