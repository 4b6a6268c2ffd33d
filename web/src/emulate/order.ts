/** Who runs next, by a schedule: the rules of the package's `lab/orders.py`, whose traces this is held to. */

import { Random, type Schedule } from './schedule';

/** A thread as an order sees it. */
export interface Runner {
  readonly number: number;
  /** It neither waits nor has ended. */
  runs: boolean;
  /** Where in the kernel it stands; -1 at its start. */
  at: number;
  /** It stands before an access. */
  reaches: boolean;
}

export class Order {
  private readonly random: Random;
  private readonly ranks: readonly number[];
  private queue: number[] = [];
  private head = 0;
  private held: number[] = [];
  private left = Infinity;
  private passing = false;
  private accesses = 0;
  private changed = 0;
  private changes: number[] = [];

  constructor(
    private readonly schedule: Schedule,
    threads: number,
  ) {
    this.random = new Random(schedule.seed);
    const named = [...schedule.first, ...schedule.last];
    const between = Array.from({ length: threads }, (_, thread) => thread).filter((thread) => !named.includes(thread));
    this.ranks = [...new Set([...schedule.first, ...between, ...schedule.last])];
  }

  private get queued(): boolean {
    return this.schedule.order !== 'lockstep';
  }

  /** The blocks of a launch in the order in which they run. */
  blocks(count: number): number[] {
    const { only, blocks, seed } = this.schedule;
    const numbers = only.length > 0 ? [...only] : Array.from({ length: count }, (_, block) => block);
    if (blocks === 'forward') return numbers;
    if (blocks === 'reverse') return numbers.reverse();
    const last = numbers.length;
    let step = Math.floor((last * 618) / 1000) + 1 + (Math.abs(seed) % 97);
    while (gcd(step, last) !== 1) step += 1;
    return numbers.map((_, place) => numbers[(place * step + (Math.abs(seed) % last)) % last]!);
  }

  /** A block begins: all its threads can run. */
  begin(threads: readonly Runner[]): void {
    this.queue = [];
    this.head = 0;
    this.held = [];
    this.accesses = this.changed = 0;
    const { preemptions, horizon } = this.schedule;
    const drawn = Array.from({ length: preemptions }, () => this.random.below(Math.max(1, horizon)));
    this.changes = drawn.sort((a, b) => a - b);
    this.opened(threads, 0);
  }

  /** A barrier has let threads go, or none was before: those that can run line up. */
  opened(threads: readonly Runner[], epoch: number): void {
    if (!this.queued) return;
    const order = [...this.ranks];
    const { order: kind } = this.schedule;
    if (kind === 'reverse' || (kind === 'alternating' && epoch % 2 === 1)) order.reverse();
    if (kind === 'shuffled') this.random.shuffle(order);
    for (const number of order) if (threads[number]!.runs) this.queue.push(number);
  }

  /** The number of the thread that runs now; null where none can. */
  next(threads: readonly Runner[]): number | null {
    this.left = Infinity;
    this.passing = false;
    if (this.schedule.order === 'lockstep') return this.inLockstep(threads);
    if (this.changed < this.changes.length) this.left = Math.max(this.changes[this.changed]! - this.accesses, 0);
    const number = this.take();
    if (number !== undefined) return number;
    const late = this.held.shift();
    if (late === undefined) return null;
    this.passing = true;
    return late;
  }

  /** A thread that is furthest behind; all that stand where it stands follow before any other. */
  private inLockstep(threads: readonly Runner[]): number | null {
    if (this.head >= this.queue.length) {
      const running = threads.filter((thread) => thread.runs);
      if (running.length === 0) return null;
      const first = running.reduce((least, thread) => Math.min(least, thread.at), Infinity);
      this.queue = running.filter((thread) => thread.at === first).map((thread) => thread.number);
      this.head = 0;
    }
    const number = this.take()!;
    this.left = threads[number]!.reaches ? 1 : 0;
    return number;
  }

  /** The first of the queue; what was taken is let go when it is most of it. */
  private take(): number | undefined {
    const number = this.queue[this.head];
    if (number !== undefined) this.head += 1;
    if (this.head > 4096) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
    return number;
  }

  /** Whether a thread stops before an access that others may see; `heldHere`: the schedule delays it. */
  stops(number: number, heldHere: boolean): boolean {
    if (this.left <= 0) {
      if (this.queued) {
        this.queue.push(number);
        this.changed += 1;
      }
      return true;
    }
    if (heldHere && !this.passing) {
      this.held.push(number);
      return true;
    }
    if (heldHere) this.passing = false;
    this.left -= 1;
    this.accesses += 1;
    return false;
  }

  /** Accesses that the block has made where threads may be stopped. */
  get made(): number {
    return this.accesses;
  }
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
