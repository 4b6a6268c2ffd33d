/** A schedule: who runs before whom, with the keys and first values of the package's `Schedule`. */

export interface Schedule {
  readonly name: string;
  readonly order: 'forward' | 'reverse' | 'alternating' | 'shuffled' | 'lockstep';
  readonly blocks: 'forward' | 'reverse' | 'shuffled';
  readonly only: readonly number[];
  readonly seed: number;
  readonly preemptions: number;
  readonly horizon: number;
  readonly first: readonly number[];
  readonly last: readonly number[];
  /** Lines whose writes wait until nobody else can run; `*` is all. */
  readonly delay: readonly string[];
}

const PLAIN: Schedule = {
  name: 'serial',
  order: 'forward',
  blocks: 'forward',
  only: [],
  seed: 0,
  preemptions: 0,
  horizon: 0,
  first: [],
  last: [],
  delay: [],
};

export const NAMES = ['lockstep', 'serial', 'reverse', 'alternating', 'delayed-writer', 'random'] as const;
export type ScheduleName = (typeof NAMES)[number];

export const NAMED: Readonly<Record<ScheduleName, Schedule>> = {
  lockstep: { ...PLAIN, name: 'lockstep', order: 'lockstep' },
  serial: PLAIN,
  reverse: { ...PLAIN, name: 'reverse', order: 'reverse' },
  alternating: { ...PLAIN, name: 'alternating', order: 'alternating' },
  'delayed-writer': { ...PLAIN, name: 'delayed-writer', delay: ['*'] },
  random: { ...PLAIN, name: 'random', order: 'shuffled', blocks: 'shuffled', preemptions: 3 },
};

const MASK = (1n << 64n) - 1n;

/** splitmix64 (Steele, Lea and Flood, 2014), as the emulator draws. */
export class Random {
  private state: bigint;

  constructor(seed: number) {
    this.state = BigInt(seed) & MASK;
  }

  /** A number from 0 to limit - 1. */
  below(limit: number): number {
    this.state = (this.state + 0x9e3779b97f4a7c15n) & MASK;
    let z = this.state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return Number(((z ^ (z >> 31n)) >> 1n) % BigInt(limit));
  }

  /** Fisher and Yates, from the end. */
  shuffle(items: number[]): void {
    for (let last = items.length - 1; last > 0; last--) {
      const other = this.below(last + 1);
      [items[last], items[other]] = [items[other]!, items[last]!];
    }
  }
}
