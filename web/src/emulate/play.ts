/** A launch played by a schedule, access by access: C as it is left, the steps of one block, its races. */

import { kernelOf, type Block, type Event, type KernelName, type Pause } from './kernels';
import { Order, type Runner } from './order';
import { racesOf, type Pair } from './races';
import { NAMED, type Schedule } from './schedule';

export interface Asked {
  readonly kernel: KernelName;
  readonly a: readonly (readonly number[])[];
  readonly b: readonly (readonly number[])[];
  /** Barriers left out, counted in the order of the source. */
  readonly without: readonly number[];
  readonly schedule: Schedule;
  /** What shared memory holds at first. */
  readonly fill: 'zero' | 'nan';
  /** The block that is told step by step: x, y. */
  readonly traced: readonly [number, number];
}

export interface Step extends Event {
  /** Barriers that the block had passed. */
  readonly epoch: number;
}

export interface Play {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Threads of a block along x, and in all. */
  readonly across: number;
  readonly threads: number;
  /** As it was played; of a server's answer, what was asked. */
  readonly schedule?: Schedule;
  readonly steps: readonly Step[];
  readonly races: readonly Pair[];
  /** C by rows; NaN where not finite. */
  readonly c: Float64Array;
  readonly expected: Float64Array;
  /** Elements of C, as row * n + column, that are not the exact product. */
  readonly wrong: readonly number[];
}

/** Play a launch; operands are integers whose sums are exact in float32. */
export function play(asked: Asked): Play {
  const { c, steps, schedule } = run(asked);
  const { side } = kernelOf(asked.kernel);
  const expected = product(asked.a, asked.b);
  const sides = { m: asked.a.length, n: asked.b[0]!.length, k: asked.b.length };
  const races = racesOf(steps);
  return {
    ...sides,
    across: side,
    threads: side * side,
    schedule,
    steps,
    races,
    c,
    expected,
    wrong: wrongIn(c, expected),
  };
}

/** No block: none is told. */
const NOWHERE = [-1, -1] as const;

/** Run a launch: C as it is left, and the steps of the block that is told. */
function run(asked: Asked): { c: Float64Array; steps: Step[]; schedule: Schedule } {
  const { side } = kernelOf(asked.kernel);
  const n = asked.b[0]!.length;
  const grid = [Math.ceil(n / side), Math.ceil(asked.a.length / side)] as const;
  const schedule = withHorizon(asked);
  const order = new Order(schedule, side * side);
  const c = new Float64Array(asked.a.length * n).fill(NaN);
  let steps: Step[] = [];
  for (const number of order.blocks(grid[0] * grid[1])) {
    const x = number % grid[0];
    const y = Math.floor(number / grid[0]);
    const told = blockOf({ ...asked, schedule }, order, c, x, y, x === asked.traced[0] && y === asked.traced[1]);
    if (told) steps = told;
  }
  return { c, steps, schedule };
}

function wrongIn(c: Float64Array, expected: Float64Array): number[] {
  const wrong: number[] = [];
  for (let at = 0; at < c.length; at++) if (c[at] !== expected[at]) wrong.push(at);
  return wrong;
}

/** Run one block to its end; its steps where they are wanted. */
function blockOf(asked: Asked, order: Order, c: Float64Array, x: number, y: number, told: boolean): Step[] | null {
  const kernel = kernelOf(asked.kernel);
  const { side } = kernel;
  const steps: Step[] = [];
  const empty = asked.fill === 'nan' ? NaN : 0;
  let epoch = 0;
  const threads: Runner[] = Array.from({ length: side * side }, (_, number) => ({
    number,
    runs: true,
    at: -1,
    reaches: false,
  }));
  const block = {
    m: asked.a.length,
    k: asked.b.length,
    n: asked.b[0]!.length,
    x,
    y,
    side,
    a: asked.a,
    b: asked.b,
    c,
    aTile: new Float64Array(side * side).fill(empty),
    bTile: new Float64Array(side * side).fill(empty),
    kept: kernel.barriers.map((_, number) => !asked.without.includes(number)),
    tell: told
      ? (...[thread, line, kind, array, index, value, stops]: Parameters<Block['tell']>) =>
          void steps.push({ thread, line, kind, array, index, value, stops, epoch })
      : () => undefined,
  };
  const running = threads.map(({ number }) => kernel.run(block, number));
  const reached: (Pause | null)[] = threads.map(() => null);
  const every = asked.schedule.delay.includes('*');
  const lines = asked.schedule.delay.map((line) => Number(line.split(':').at(-1)));
  const holds = (pause: Pause) => pause.writes && (every || lines.includes(pause.line));
  let waiting: Runner[] = [];
  let active = threads.length;
  order.begin(threads);
  for (let number = order.next(threads); number !== null; number = order.next(threads)) {
    const thread = threads[number]!;
    for (;;) {
      const before = reached[number];
      if (before) {
        if (order.stops(number, holds(before))) break;
        reached[number] = null;
        thread.reaches = false;
      }
      const came = running[number]!.next();
      if (came.done) {
        thread.runs = false;
        active -= 1;
        break;
      }
      thread.at = came.value.at;
      if (came.value.kind === 'reach') {
        reached[number] = came.value;
        thread.reaches = true;
        continue;
      }
      thread.runs = false;
      active -= 1;
      waiting.push(thread);
      const { line } = came.value;
      if (told)
        steps.push({ thread: number, line, kind: 'barrier', array: '', index: [], value: NaN, stops: false, epoch });
      break;
    }
    if (waiting.length > 0 && active === 0) {
      for (const each of waiting) each.runs = true;
      active = waiting.length;
      waiting = [];
      epoch += 1;
      order.opened(threads, epoch);
    }
  }
  return told ? steps : null;
}

/** The schedule with a horizon where it needs one: the accesses that a block makes in lockstep, of that which makes most. */
function withHorizon(asked: Asked): Schedule {
  const { schedule } = asked;
  if (schedule.preemptions === 0 || schedule.horizon > 0) return schedule;
  const lockstep = { ...asked, schedule: NAMED.lockstep };
  const side = kernelOf(asked.kernel).side;
  const order = new Order(NAMED.lockstep, side * side);
  const c = new Float64Array(asked.a.length * asked.b[0]!.length);
  blockOf(lockstep, order, c, 0, 0, false); // the first block has no fewer outputs than any
  return { ...schedule, horizon: Math.max(1, order.made) };
}

/** A B, exactly. */
export function product(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): Float64Array {
  const n = b[0]!.length;
  const out = new Float64Array(a.length * n);
  a.forEach((row, i) => {
    for (let j = 0; j < n; j++) out[i * n + j] = row.reduce((sum, value, l) => sum + value * b[l]![j]!, 0);
  });
  return out;
}

/** The order that leaves most of C wrong, of plain ones and some random ones; a lower bound of what a chip may do. */
export function worst(asked: Asked, seeds = 4): Play {
  const schedules = [
    ...Object.values(NAMED).filter(({ name }) => name !== 'random'),
    ...Array.from({ length: seeds }, (_, seed) => ({ ...NAMED.random, seed })),
  ];
  const expected = product(asked.a, asked.b);
  let most = -1;
  let found: Schedule = NAMED.serial;
  for (const schedule of schedules) {
    const ran = run({ ...asked, schedule, traced: NOWHERE });
    const wrong = wrongIn(ran.c, expected).length;
    if (wrong > most) [most, found] = [wrong, ran.schedule];
    if (wrong === expected.length) break; // no order makes more wrong
  }
  return play({ ...asked, schedule: found });
}
