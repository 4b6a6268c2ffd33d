/** A chip as one kernel uses it: which unit computes, how fast, how many programs it holds at once. */

import { formatsOf, peakOf, type Chip } from '../data/chips';
import standIns from '../data/stand-ins.json';
import { accumulators, ceilDiv, registers, roundUp, sharedBytes, type Kernel, type Misfit } from './kernel';

/** FLOP a clock of a library's loop that widens each operand: what a CPU without the format's instructions runs. */
const GENERIC_LOOP = 2 / 3;
const RESERVING = ['ampere', 'ada', 'hopper', 'blackwell'];
/** SMs of each GPC: a cluster lies within one. */
const GPCS: Readonly<Record<string, readonly number[]>> = { hopper: [18, 18, 18, 18, 18, 18, 12, 12] };

export interface Peak {
  readonly flopPerS: number;
  /** The format that it computes in: the one asked for, or a wider one that holds all its values. */
  readonly format: string;
}

/** The format that the chip computes in when asked for one, or null. */
export function standIn(chip: Chip, format: string): string | null {
  const wider = (standIns as Record<string, string[]>)[format] ?? [];
  const has = new Set(formatsOf(chip));
  return [format, ...wider].find((name) => has.has(name)) ?? null;
}

/** FLOP/s of the whole chip by the unit that the kernel uses; null where nothing stands in for the format. */
export function peakFor(chip: Chip, kernel: Kernel, format: string): Peak | null {
  const used = standIn(chip, format);
  const sms = chip.figure('sm_count')?.value;
  const clock = chip.figure('clock_hz')?.value;
  if (used === null) return null;
  if (chip.kind === 'cpu' && used !== format && sms && clock)
    return { flopPerS: GENERIC_LOOP * sms * (chip.figure(`peaks.${used}.clock_hz`)?.value ?? clock), format: used };
  const rated = peakOf(chip, used)!;
  const vector = chip.units[used] !== 'tensor';
  if (kernel.family === 'tensor' || vector || !sms || !clock) return { flopPerS: rated, format: used };
  const rate = (name: string) => peakOf(chip, name)! / sms / (chip.figure(`peaks.${name}.clock_hz`)?.value ?? clock);
  // narrow operands are widened to float32 on the FMA lanes; float64 lanes do half of what float64 matrix units do
  const single = peakOf(chip, 'float32') !== null && chip.units['float32'] === 'vector';
  const perClock = used === 'float64' || !single ? rate(used) / 2 : rate('float32');
  return { flopPerS: perClock * sms * clock, format: used };
}

/** SMs that clusters of this kernel can occupy at once. */
export function usableSms(chip: Chip, kernel: Kernel): number {
  const sms = chip.figure('sm_count')?.value ?? 1;
  const size = kernel.clusterM * kernel.clusterN;
  const gpcs = GPCS[chip.architecture];
  if (!gpcs || size < 2 || gpcs.reduce((a, b) => a + b) !== sms) return sms;
  return gpcs.reduce((sum, gpc) => sum + Math.floor(gpc / size) * size, 0);
}

export interface Resident {
  /** Programs of one SM. */
  readonly programs: number;
  /** What a further one would exceed. */
  readonly limit: 'registers' | 'shared' | 'warps' | 'programs' | 'core';
}

/** Programs that one SM holds, or what keeps even one from it. */
export function resident(chip: Chip, kernel: Kernel, format: string): Resident | Misfit {
  const limit = (name: string) => chip.figure(`limits.${name}`)?.value ?? null;
  const file = limit('registers_per_sm');
  if (file === null) return { programs: 1, limit: 'core' };
  const shared = sharedBytes(kernel, format);
  const most = limit('shared_bytes_per_program')!;
  if (shared > most) return { misfit: 'shared', given: { needed: shared, most } };
  const threads = limit('threads_per_program')!;
  const tile = `${kernel.blockM} × ${kernel.blockN}`;
  if (kernel.threads > threads) return { misfit: 'threads', given: { tile, threads: kernel.threads, most: threads } };
  const held = accumulators(kernel, format) * kernel.threads;
  if (held > file && !chip.features.includes('tensor_memory')) {
    return { misfit: 'registers', given: { needed: 4 * held, most: 4 * file } };
  }
  const lanes = chip.warpSize ?? 32;
  const warps = ceilDiv(kernel.threads, lanes);
  const whole = Math.floor(Math.floor(file / (warps * lanes)) / 8) * 8;
  const given = Math.min(registers(kernel, format), limit('registers_per_thread')!, whole);
  const reserved = RESERVING.includes(chip.architecture) ? 1024 : 0;
  const fit = {
    registers: Math.floor(file / (roundUp(given * lanes, 256) * warps)),
    shared: shared ? Math.floor(limit('shared_bytes_per_sm')! / (shared + reserved)) : Infinity,
    warps: Math.floor(limit('warps_per_sm')! / warps),
    programs: limit('programs_per_sm')!,
  };
  const tightest = (Object.keys(fit) as (keyof typeof fit)[]).reduce((a, b) => (fit[b] < fit[a] ? b : a));
  return { programs: Math.max(1, fit[tightest]), limit: tightest };
}
