/**
 * What a clock is worth: its step, whether a span dwarfs it, whether another clock bears it out.
 *
 * Browsers round timestamps, commonly to 65,536 ns, and the wall clock to 5 or 100 us. A step is what every difference
 * that was seen is a multiple of. Nothing here starts a device.
 */

/** Steps of a span that tells its time to a half percent. */
export const DWARFS = 200;
/** Seconds of wall time below which what a submission costs hides whether both clocks agree. */
export const WORTH_S = 0.01;
/** Share of the wall's seconds that a device may have worked. */
export const LEAST_SHARE = 0.3;
export const MOST_SHARE = 1.05;

function gcd(one: bigint, other: bigint): bigint {
  while (other) [one, other] = [other, one % other];
  return one;
}

/** Timestamps in nanoseconds. */
export class Stamps {
  private step = 0n;

  /** Seconds of passes in all, from the first and last stamp of each in turn; their differences tell the step. */
  span(stamps: readonly bigint[]): number {
    let total = 0n;
    for (let i = 0; i < stamps.length; i++) {
      if (i > 0) {
        const difference = stamps[i]! - stamps[i - 1]!;
        this.step = gcd(this.step, difference < 0n ? -difference : difference);
      }
      if (i % 2 === 1) total += stamps[i]! - stamps[i - 1]!;
    }
    return Number(total) / 1e9;
  }

  /** Seconds that every difference seen is a multiple of; 0 where none differed yet. */
  get stepS(): number {
    return Number(this.step) / 1e9;
  }
}

/** Looks at a clock that does not go on, before it is taken for one that stands still: about a second. */
const MOST_LOOKS = 10_000_000;

/** Smallest difference of a wall clock, by watching it for a while; seconds, and 0 of one that stands still. */
export function wallStep(
  now: () => number = () => performance.now(),
  changes = 12,
  forMs = 20,
  looks = MOST_LOOKS,
): number {
  let least = Infinity;
  let last = now();
  const start = last;
  for (let seen = 0, looked = 0; seen < changes && last - start < forMs && looked < looks; looked++) {
    const time = now();
    if (time > last) {
      least = Math.min(least, time - last);
      seen++;
    }
    last = time; // it may have been set back meanwhile
  }
  return Number.isFinite(least) ? least / 1e3 : 0;
}

/** Whether the wall bears a span out; null where it was too short to say. */
export function believed(spanS: number, wallS: number): boolean | null {
  if (wallS < WORTH_S) return null;
  return LEAST_SHARE * wallS <= spanS && spanS <= MOST_SHARE * wallS;
}

/** Seconds that a sample has to last for a clock of this step. */
export function leastSample(stepS: number, floorS: number): number {
  return Math.max(floorS, DWARFS * stepS);
}

export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: number;
}

/** The value below which that share of samples lies, linear between neighbours. */
export function quantile(samples: readonly number[], share: number): number {
  const ordered = samples.toSorted((one, other) => one - other);
  const place = share * (ordered.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, ordered.length - 1);
  return ordered[below]! + (place - below) * (ordered[above]! - ordered[below]!);
}

/** Median and quartiles of samples, each of which is off by `doubtS` at most. */
export function spread(samples: readonly number[], doubtS: number): Spread {
  return {
    median: quantile(samples, 0.5),
    low: Math.max(0, quantile(samples, 0.25) - doubtS),
    high: quantile(samples, 0.75) + doubtS,
    rounds: samples.length,
  };
}

/** Below it there are no quartiles, and nothing is told apart. */
export const LEAST_ROUNDS = 3;

/** Whether two figures lie further apart than they spread: the quartiles of neither reach those of the other. */
export function toldApart(one: Spread, other: Spread): boolean {
  if (Math.min(one.rounds, other.rounds) < LEAST_ROUNDS) return false;
  return one.high < other.low || other.high < one.low;
}

/** The place of each, from 1: one more than there are faster ones that it is told apart from. */
export function ranks(spreads: readonly Spread[]): number[] {
  return spreads.map((own) => 1 + spreads.filter((one) => one.median < own.median && toldApart(own, one)).length);
}
