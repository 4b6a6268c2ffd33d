/**
 * The protocol of timing: nothing here knows what it times.
 *
 * Repetitions are raised until a sample dwarfs the clock's step. Contenders then take turns, A B A B, so that what
 * drifts meets all. A figure is the median of the rounds with its quartiles, widened by what the step leaves open.
 * Where the device's stamps and the wall clock do not bear each other out, the wall is used, and that is said.
 */

import { believed, leastSample, LEAST_ROUNDS, spread, Stamps, type Spread } from './clock';
import { Fault } from './fault';

export interface Sample {
  readonly wallS: number;
  /** Nanoseconds at the beginning and the end of each pass; null where the device has no stamps. */
  readonly stamps: readonly bigint[] | null;
}

export interface Timed {
  run(repetitions: number, signal?: AbortSignal): Promise<Sample>;
  /** Stamps of many short passes, if the device gives any. */
  probe(): Promise<readonly bigint[]>;
  /** Around the last sample: what was timed is what is checked. */
  beforeLast?(): Promise<void>;
  afterLast?(): Promise<void>;
}

export interface Protocol {
  readonly rounds: number;
  /** Seconds that a sample lasts at least, by stamps and by the wall, where a submission's cost is in it. */
  readonly stampedS: number;
  readonly wallS: number;
  /** Seconds for all samples of one contender, and what one multiplication may last. */
  readonly budgetS: number;
  readonly longestS: number;
}

export const PROTOCOL: Protocol = { rounds: 9, stampedS: 0.005, wallS: 0.1, budgetS: 8, longestS: 5 };
const MOST_REPETITIONS = 1_000_000;
/** Seconds of one sample past which it is not made longer. */
const LONG_S = 4;

export interface Timing {
  readonly spread: Spread;
  readonly samples: readonly number[];
  readonly repetitions: number;
}

export interface Measured {
  /** Of each contender, in order. */
  readonly timings: readonly (Timing | Fault)[];
  readonly source: 'stamps' | 'wall';
  readonly stepS: number;
  /** Share of the wall's seconds that the stamps told, where that is not believed. */
  readonly distrusted: number | null;
}

export interface Watch {
  readonly signal: AbortSignal;
  /** Round that is done, of how many. */
  readonly told: (round: number, of: number) => void;
}

class Distrust extends Error {
  constructor(readonly share: number) {
    super(`stamps tell ${share} of the wall's time`);
  }
}

/** Time contenders against each other; `wallStepS` is the step of the wall clock. */
export async function measure(
  contenders: readonly Timed[],
  wallStepS: number,
  watch: Watch,
  protocol = PROTOCOL,
): Promise<Measured> {
  let distrusted: number | null = null;
  const first = contenders[0] ? await contenders[0].probe() : [];
  if (first.length > 0) {
    try {
      const stamps = new Stamps();
      stamps.span(first);
      return await take(contenders, stamps, wallStepS, watch, protocol);
    } catch (error) {
      if (!(error instanceof Distrust)) throw error;
      distrusted = error.share;
    }
  }
  return { ...(await take(contenders, null, wallStepS, watch, protocol)), distrusted };
}

async function take(
  contenders: readonly Timed[],
  stamps: Stamps | null,
  wallStepS: number,
  { signal, told }: Watch,
  protocol: Protocol,
): Promise<Measured> {
  const step = () => (stamps ? stamps.stepS : wallStepS);
  const seconds = (sample: Sample) => (stamps && sample.stamps ? stamps.span(sample.stamps) : sample.wallS);
  const plans: (Plan | Fault)[] = [];
  for (const contender of contenders) plans.push(await calibrate(contender, stamps, step, seconds, signal, protocol));
  const samples: number[][] = contenders.map(() => []);
  const doubts = contenders.map(() => 0);
  const most = Math.max(...plans.map((plan) => (plan instanceof Fault ? 0 : plan.rounds)));
  for (let round = 0; round < most; round++) {
    for (let i = 0; i < contenders.length; i++) {
      const plan = plans[i]!;
      if (plan instanceof Fault || round >= plan.rounds) continue;
      const last = round === plan.rounds - 1;
      if (last) await contenders[i]!.beforeLast?.();
      const sample = await contenders[i]!.run(plan.repetitions, signal);
      if (last) await contenders[i]!.afterLast?.();
      samples[i]!.push(seconds(sample) / plan.repetitions);
      doubts[i] = Math.max(doubts[i]!, (step() * passes(sample)) / plan.repetitions);
      signal.throwIfAborted();
    }
    told(round + 1, most);
  }
  const timings = plans.map((plan, i) =>
    plan instanceof Fault
      ? plan
      : {
          samples: samples[i]!,
          repetitions: plan.repetitions,
          spread: spread(samples[i]!, doubts[i]!),
        },
  );
  return { timings, source: stamps ? 'stamps' : 'wall', stepS: step(), distrusted: null };
}

function passes(sample: Sample): number {
  return sample.stamps ? sample.stamps.length / 2 : 1;
}

interface Plan {
  readonly repetitions: number;
  readonly rounds: number;
}

/** Raise repetitions until a sample dwarfs the step; throws Distrust where the wall does not bear the stamps out. */
async function calibrate(
  contender: Timed,
  stamps: Stamps | null,
  step: () => number,
  seconds: (sample: Sample) => number,
  signal: AbortSignal,
  protocol: Protocol,
): Promise<Plan | Fault> {
  const floor = stamps ? protocol.stampedS : protocol.wallS;
  let repetitions = 1;
  let doubts = 0;
  await contender.run(1, signal);
  for (;;) {
    const sample = await contender.run(repetitions, signal);
    signal.throwIfAborted();
    const span = seconds(sample);
    if (stamps && believed(span, sample.wallS) === false && ++doubts > 2) throw new Distrust(span / sample.wallS);
    const once = sample.wallS / repetitions;
    if (once > protocol.longestS) return new Fault('slow', { seconds: once });
    // every pass is off by a step, so more passes need more time
    const needed = leastSample(step() * passes(sample), floor);
    const enough = span >= needed && (!stamps || believed(span, sample.wallS) === true);
    if (enough || sample.wallS > LONG_S || repetitions >= MOST_REPETITIONS) {
      const rounds = Math.min(protocol.rounds, Math.max(LEAST_ROUNDS, Math.floor(protocol.budgetS / sample.wallS)));
      return { repetitions, rounds };
    }
    const factor = span >= needed ? 1.5 : Math.min(50, (1.2 * needed) / (span || step() || sample.wallS || needed));
    repetitions = Math.min(MOST_REPETITIONS, Math.ceil(repetitions * Math.max(1.5, factor)));
  }
}
