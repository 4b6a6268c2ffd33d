/** The whole run on the reader's device: place, count, check, time; each kernel's fault is its own. */

import { type Shape } from '../count/reads';
import { steps, walk, WALKABLE, type Loads } from '../count/walk';
import type { About, Device } from './adapter';
import { careful, check, chosenRows, type Careful, type Verdict } from './checker';
import { wallStep } from './clock';
import { Fault, said } from './fault';
import { Matrices } from './matrices';
import { measure, PROTOCOL, type Timed, type Timing } from './measure';
import { requireKernel, requireProblem } from './needs';
import { drawing } from './operands';
import { Program } from './program';
import { inSlices } from './slices';
import type { FORMATS, Variant } from './wgsl';

export interface Asked {
  readonly shape: Shape;
  readonly format: string;
  readonly seed: number;
  readonly variants: readonly Variant[];
}

export interface Row {
  readonly variant: Variant;
  /** Loads as the device counted them, and as walking every invocation tells; null: not done. */
  counted: Loads | null;
  walked: Loads | null;
  verdict: Verdict | null;
  timing: Timing | null;
  fault: Fault | null;
}

export interface Outcome {
  readonly asked: Asked;
  readonly about: About;
  readonly rows: readonly Row[];
  source: 'stamps' | 'wall' | null;
  stepS: number;
  distrusted: number | null;
}

export type Stage = 'drawing' | 'checking' | 'walking' | 'counting' | 'running' | 'timing';

export interface Watch {
  /** Run what takes longer than a reader usually waits. */
  readonly patient?: boolean;
  readonly signal: AbortSignal;
  readonly told: (stage: Stage, share: number, row: number | null) => void;
}

/** A kernel that is to be timed against others. */
class Contender implements Timed {
  constructor(
    readonly row: Row,
    private readonly program: Program,
    private readonly matrices: Matrices,
    private readonly right: Careful,
  ) {}

  run(repetitions: number, signal?: AbortSignal) {
    return this.program.run(repetitions, signal);
  }

  probe() {
    return this.program.probe();
  }

  async beforeLast(): Promise<void> {
    this.matrices.poison();
  }

  async afterLast(): Promise<void> {
    this.row.verdict = check(await this.matrices.result(), this.right, this.matrices.format === 'float16');
  }
}

/** Run all kernels; `outcome` is filled as the run goes on. Throws a Fault that ends the run. */
export async function bench(on: Device, outcome: Outcome, { signal, told, patient = false }: Watch): Promise<void> {
  const longestS = patient ? Infinity : PROTOCOL.longestS;
  const { shape, format, seed } = outcome.asked;
  const { limits } = on.device;
  requireProblem(shape, format, limits, on.about.half);
  const drawn = await inSlices(drawing(shape, seed, format === 'float16'), signal, (share) =>
    told('drawing', share, null),
  );
  const matrices = await Matrices.place(on, shape, format, drawn);
  const contenders: Contender[] = [];
  const built: Program[] = [];
  const build = async (variant: Variant, counted: boolean) => {
    const dialect = { format: format as (typeof FORMATS)[number], counted, constants: 'literal' } as const;
    const program = await Program.build(on, matrices, variant, dialect);
    built.push(program);
    return program;
  };
  try {
    const right = await inSlices(careful(shape, drawn, chosenRows(shape)), signal, (share) =>
      told('checking', share, null),
    );
    for (const [place, row] of outcome.rows.entries()) {
      try {
        const { variant } = row;
        requireKernel(shape, variant, limits);
        if (variant.without.length === 0) {
          await walkRow(row, shape, signal, (share) => told('walking', share, place));
          told('counting', 0, place);
          row.counted = await countRow(await build(variant, true), matrices, longestS, signal);
        }
        told('running', 0, place);
        const program = await build(variant, false);
        await paced(program, longestS, signal);
        matrices.poison();
        await program.run(1, signal, (share) => told('running', share, place));
        row.verdict = check(await matrices.result(), right, format === 'float16');
        // a wrong answer has no time
        if (variant.without.length === 0 && row.verdict.right)
          contenders.push(new Contender(row, program, matrices, right));
      } catch (error) {
        row.fault = endless(error);
      }
    }
    if (contenders.length > 0) await time(outcome, contenders, { signal, told, patient });
  } finally {
    for (const program of built) program.destroy();
    matrices.destroy();
  }
}

/** The fault of one kernel; what ends the whole run is thrown on. */
function endless(error: unknown): Fault {
  const fault = error instanceof Fault ? error : new Fault('device', { reason: said(error) });
  if (fault.what === 'lost' || fault.what === 'stopped') throw fault;
  return fault;
}

async function paced(program: Program, longestS: number, signal: AbortSignal): Promise<void> {
  const seconds = await program.pace(signal);
  if (seconds > longestS) throw new Fault('slow', { seconds });
}

async function walkRow(row: Row, shape: Shape, signal: AbortSignal, told: (share: number) => void): Promise<void> {
  const { kernel, tile } = row.variant;
  if (steps(kernel, shape, tile) > WALKABLE) return;
  let done = 0;
  row.walked = await inSlices(walk(kernel, shape, tile), signal, () => told((++done * tile) / shape.m));
}

async function countRow(program: Program, matrices: Matrices, longestS: number, signal: AbortSignal): Promise<Loads> {
  await paced(program, longestS, signal);
  matrices.forget();
  await program.run(1, signal);
  return matrices.counted();
}

async function time(
  outcome: Outcome,
  contenders: readonly Contender[],
  { signal, told, patient }: Watch,
): Promise<void> {
  told('timing', 0, null);
  const stepS = wallStep();
  if (stepS === 0) throw new Fault('clock');
  const watch = { signal, told: (round: number, of: number) => told('timing', round / of, null) };
  const found = await measure(contenders, stepS, watch, patient ? { ...PROTOCOL, longestS: Infinity } : PROTOCOL);
  found.timings.forEach((timing, i) => {
    const { row } = contenders[i]!;
    if (timing instanceof Fault) row.fault = timing;
    else if (row.verdict?.right) row.timing = timing;
  });
  Object.assign(outcome, { source: found.source, stepS: found.stepS, distrusted: found.distrusted });
}
