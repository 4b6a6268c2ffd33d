import { describe, expect, test } from 'vitest';
import { believed, ranks, spread, Stamps, toldApart, wallStep } from './clock';
import { Fault } from './fault';
import { measure, PROTOCOL, type Sample, type Timed } from './measure';
import { xorshift } from './operands';

/** A device whose work takes a known time, under clocks as bad as wanted; time passes only when it works. */
class Made {
  now = 1.7e9;
  private readonly draw: () => number;

  constructor(
    seed: number,
    readonly clocks: { step: bigint; wall: number; scale?: number; stamps?: boolean; perPass?: number },
  ) {
    this.draw = xorshift(seed);
  }

  chance(): number {
    return this.draw() / 2 ** 32;
  }

  kernel(onceS: number, noise = 0.01): Timed & { runs: number } {
    const { step, wall, scale = 1, stamps = true, perPass = Infinity } = this.clocks;
    const stamp = () => (BigInt(Math.round(this.now * 1e9 * scale)) / step) * step;
    const seen = () => Math.floor(this.now / wall) * wall;
    const run = async (repetitions: number): Promise<Sample> => {
      const start = seen();
      const found: bigint[] = [];
      this.now += 1e-4 + 1e-4 * this.chance();
      for (let left = repetitions; left > 0; left -= perPass) {
        found.push(stamp());
        this.now += onceS * Math.min(left, perPass) * (1 + noise * (this.chance() - 0.5));
        found.push(stamp());
        this.now += 1e-6;
      }
      this.now += 1e-4 * this.chance();
      made.runs += repetitions;
      return { wallS: seen() - start, stamps: stamps ? found : null };
    };
    const made = {
      runs: 0,
      run,
      probe: async () => {
        const found: bigint[] = [];
        for (let i = 0; i < 16; i++) found.push(...((await run(1)).stamps ?? []));
        return found;
      },
    };
    return made;
  }
}

const watch = { signal: new AbortController().signal, told: () => undefined };
const QUANTISED = { step: 65_536n, wall: 1e-4 };

async function timed(made: Made, onces: number[], noise?: number) {
  const found = await measure(
    onces.map((once) => made.kernel(once, noise)),
    made.clocks.wall,
    watch,
  );
  const timings = found.timings.map((timing) => {
    if (timing instanceof Fault) throw timing;
    return timing;
  });
  return { ...found, timings, ranks: ranks(timings.map((timing) => timing.spread)) };
}

describe('clocks that are rounded to 65,536 ns', { timeout: 60_000 }, () => {
  test('kernels far below a step are timed to a percent, and the step is found', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const made = new Made(seed, QUANTISED);
      const once = 10 ** (-6 + 2 * made.chance());
      const found = await timed(made, [once, once * 1.3]);
      expect(found.source).toBe('stamps');
      expect(found.stepS).toBeCloseTo(65_536e-9, 12);
      expect(Math.abs(found.timings[0]!.spread.median / once - 1)).toBeLessThan(0.02);
      expect(found.ranks).toEqual([1, 2]);
    }
  });

  test('ranks are right or the two are not told apart, never wrong', async () => {
    let same = 0;
    for (let seed = 100; seed < 220; seed++) {
      const made = new Made(seed, QUANTISED);
      const once = 10 ** (-6 + 4 * made.chance());
      const ratio = 1 + 10 ** (-4 + 4 * made.chance());
      const slower = made.chance() < 0.5 ? 0 : 1;
      const onces = [once, once];
      onces[slower]! *= ratio;
      const found = await timed(made, onces, 0.02);
      expect(found.ranks[slower], `seed ${seed}`).toBeGreaterThanOrEqual(found.ranks[1 - slower]!);
      same += Number(found.ranks[0] === found.ranks[1]);
      if (ratio > 1.05) expect(found.ranks[slower], `seed ${seed}, ratio ${ratio}`).toBe(2);
    }
    expect(same).toBeGreaterThan(5);
  });

  test('passes that cannot be made long enough leave the figure open by a step each', async () => {
    const found = await timed(new Made(5, { ...QUANTISED, perPass: 1 }), [3e-4, 3.1e-4]);
    const { low, high } = found.timings[0]!.spread;
    expect(high - low).toBeGreaterThan(65_536e-9);
    expect(found.ranks).toEqual([1, 1]);
  });
});

test('exact stamps: a step of a nanosecond does not lengthen a sample', async () => {
  const found = await timed(new Made(3, { step: 1n, wall: 5e-6 }), [1e-3, 2e-3]);
  expect(found.stepS).toBeLessThan(1e-6);
  expect(found.timings[0]!.repetitions).toBeLessThan(40);
  expect(found.ranks).toEqual([1, 2]);
});

test.each([0.01, 0.1, 40])('stamps that tell %f of the time are not believed: the wall is used', async (scale) => {
  const found = await timed(new Made(4, { step: 1n, wall: 1e-4, scale }), [1e-3, 2e-3]);
  expect(found.source).toBe('wall');
  expect(found.distrusted! / scale).toBeGreaterThan(0.8);
  expect(Math.abs(found.timings[1]!.spread.median / 2e-3 - 1)).toBeLessThan(0.02);
  expect(found.ranks).toEqual([1, 2]);
});

test('stamps that stand still are not believed either', async () => {
  const found = await timed(new Made(9, { step: 10n ** 15n, wall: 1e-4 }), [1e-4]);
  expect(found).toMatchObject({ source: 'wall', distrusted: 0 });
});

test('without stamps the wall is repeated past its step', async () => {
  const found = await timed(new Made(6, { step: 1n, wall: 1e-4, stamps: false }), [2e-6, 3e-6]);
  expect(found).toMatchObject({ source: 'wall', stepS: 1e-4, distrusted: null, ranks: [1, 2] });
});

test('contenders take turns, and slow ones are said to be slow', async () => {
  const made = new Made(7, { step: 1n, wall: 5e-6 });
  const order: string[] = [];
  const named = (name: string, once: number): Timed => {
    const kernel = made.kernel(once);
    return {
      probe: () => kernel.probe(),
      run: (repetitions) => {
        order.push(name);
        return kernel.run(repetitions);
      },
      beforeLast: async () => void order.push(`${name}<`),
      afterLast: async () => void order.push(`${name}>`),
    };
  };
  const found = await measure([named('a', 0.01), named('b', 0.011), named('c', 100)], 5e-6, watch);
  expect(found.timings[2]).toMatchObject({ what: 'slow' });
  expect(order.join(' ')).toMatch(/( a b){8} a< a a> b< b b>$/);
  expect(found.timings[0]).toMatchObject({ spread: { rounds: PROTOCOL.rounds } });
});

test('a run that is stopped says so', async () => {
  const stop = new AbortController();
  const made = new Made(8, { step: 1n, wall: 5e-6 });
  const kernel = made.kernel(0.01);
  const run = kernel.run;
  kernel.run = async (repetitions) => {
    if (kernel.runs > 20) stop.abort(new Fault('stopped'));
    return run(repetitions);
  };
  await expect(measure([kernel], 5e-6, { ...watch, signal: stop.signal })).rejects.toMatchObject({ what: 'stopped' });
});

test('arithmetic of clocks', () => {
  const stamps = new Stamps();
  expect(stamps.stepS).toBe(0);
  expect(stamps.span([131_072n, 196_608n, 655_360n, 786_432n])).toBeCloseTo(196_608e-9, 15);
  expect(stamps.stepS).toBeCloseTo(65_536e-9, 15);
  expect([believed(0.001, 0.002), believed(0.02, 0.021), believed(0.02, 0.1), believed(0.2, 0.1)]).toEqual([
    null,
    true,
    false,
    false,
  ]);
  let time = 0;
  expect(wallStep(() => Math.floor((time += 0.03) / 0.1) * 0.1)).toBeCloseTo(1e-4, 9);
  expect(wallStep(() => 5, 12, 20, 1000)).toBe(0); // stands still
  expect(wallStep(() => -(time += 0.1), 12, 20, 1000)).toBe(0); // goes backwards
  expect(wallStep(() => (time += 0.1) - (time > 20 && time < 20.3 ? 15 : 0))).toBeCloseTo(1e-4, 9); // is set back once
  const [fast, near, slow] = [
    [1, 1.1, 1.2],
    [1.1, 1.2, 1.3],
    [2, 2.1, 2.2],
  ].map((samples) => spread(samples, 0));
  expect(ranks([slow!, fast!, near!])).toEqual([3, 1, 1]);
  expect(toldApart(spread([1, 1], 0), spread([9, 9], 0))).toBe(false);
});
