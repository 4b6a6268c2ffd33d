/** A kernel of the catalogue as a problem's formats and a tile make it. */

import catalogue from '../data/catalogue.json';
import formats from '../data/formats.json';

export const WARP = 32;
const MOST_THREADS = 1024;
const REGISTER_BITS = 32;
const MICRO_TILES = [[8, 8], [8, 4], [4, 8], [4, 4], [4, 2], [2, 4], [2, 2], [2, 1], [1, 2], [1, 1]] as const; // prettier-ignore
/** Widths that tensor cores take in the containers of another. */
const PACKED: Readonly<Record<number, number>> = { 1: 4, 2: 4, 6: 8 };

export type Format = keyof typeof formats;
export type KernelName = keyof typeof catalogue;

export interface Kernel {
  readonly name: KernelName;
  readonly family: 'naive' | 'tiled' | 'register' | 'tensor';
  readonly blockM: number;
  readonly blockN: number;
  readonly blockK: number;
  readonly threadM: number;
  readonly threadN: number;
  readonly warpM: number;
  readonly warpN: number;
  readonly mma: readonly [number, number, number];
  readonly warps: number;
  readonly threads: number;
  readonly vectorBytes: number;
  readonly stages: number;
  readonly clusterM: number;
  readonly clusterN: number;
  readonly tilesFrom: 'registers' | 'shared';
}

/** Why a tile makes no kernel: a key of words with its arguments. */
export interface Misfit {
  readonly misfit: 'threads' | 'warps' | 'step' | 'shared' | 'registers' | 'format';
  readonly given: Readonly<Record<string, string | number>>;
}

export const ceilDiv = (a: number, b: number): number => Math.ceil(a / b);
export const roundUp = (a: number, b: number): number => ceilDiv(a, b) * b;
export const fits = <T extends object>(found: T | Misfit): found is T => !('misfit' in found);

export function formatOf(name: string): (typeof formats)[Format] {
  return formats[name as Format];
}

/** What the shared parameters of the address ask for. */
export interface Asked {
  readonly kernel: KernelName;
  readonly format: string;
  readonly t: number;
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
}

/** The kernel asked for, or why there is none: as `gemmlab.kernels.get` with that tile. */
export function fitted(asked: Asked): Kernel | Misfit {
  const own = catalogue[asked.kernel];
  const family = own.family as Kernel['family'];
  const square = family === 'naive' || family === 'tiled';
  const block = {
    blockM: square ? asked.t : asked.bm || own.block_m,
    blockN: square ? asked.t : asked.bn || own.block_n,
    blockK: family === 'naive' ? 1 : family === 'tiled' ? asked.t : asked.bk || own.block_k,
  };
  const base = {
    name: asked.kernel,
    family,
    ...block,
    threadM: own.thread_m,
    threadN: own.thread_n,
    warpM: 0,
    warpN: 0,
    mma: own.mma as unknown as Kernel['mma'],
    vectorBytes: own.vector_bytes,
    stages: own.stages,
    clusterM: own.cluster_m,
    clusterN: own.cluster_n,
    tilesFrom: own.tiles_from as Kernel['tilesFrom'],
  };
  return family === 'tensor' ? tensor(base, asked) : ordinary(base);
}

/** Ordinary arithmetic: the outputs of a thread follow from the tile, the warps from the threads. */
function ordinary(base: Omit<Kernel, 'warps' | 'threads'>): Kernel | Misfit {
  const { blockM, blockN } = base;
  const [threadM, threadN] = base.family === 'register' ? microTile(blockM, blockN) : [1, 1];
  const threads = (blockM / threadM) * (blockN / threadN);
  if (threads > MOST_THREADS)
    return { misfit: 'threads', given: { tile: `${blockM} × ${blockN}`, threads, most: MOST_THREADS } };
  return { ...base, threadM, threadN, threads, warps: ceilDiv(threads, WARP) };
}

/** Outputs of a thread: the largest square-like micro-tile that divides the tile and leaves a whole warp. */
function microTile(blockM: number, blockN: number): readonly [number, number] {
  const fitting = MICRO_TILES.filter(([m, n]) => blockM % m === 0 && blockN % n === 0);
  return fitting.find(([m, n]) => (blockM / m) * (blockN / n) >= 32) ?? fitting.at(-1)!;
}

/** Tensor cores: the instruction follows from the format, the warps' parts from tile and warps. */
function tensor(base: Omit<Kernel, 'warps' | 'threads'>, asked: Asked): Kernel | Misfit {
  const { bits, accumulate } = formatOf(asked.format);
  const packed = PACKED[bits] ?? bits;
  const stepK = bits === 64 ? 4 : 256 / packed;
  const blockK = asked.bk || roundUp(Math.floor((base.blockK * 16) / packed), stepK);
  const shared = base.tilesFrom === 'shared';
  const mma = (
    shared ? [64, widestInstruction(base.blockN), stepK] : asked.format === 'float64' ? [8, 8, 4] : [16, 8, stepK]
  ) as [number, number, number];
  const stepM = shared ? mma[0] / 4 : mma[0];
  const words = ceilDiv(accumulatorBits(accumulate), REGISTER_BITS);
  const wanted = Math.min(32, Math.max(4, Math.floor((base.blockM * base.blockN * words) / 4096)));
  const choices = shared ? [8, 4, 12, 16] : [32, 16, 12, 8, 6, 4, 3, 2, 1].filter((warps) => warps <= wanted);
  const shape = mma.join(' × ');
  for (const warps of choices) {
    const part = warpGrid(base.blockM, base.blockN, warps, stepM, mma[1]);
    if (!part) continue;
    const [warpM, warpN] = part;
    if (blockK % mma[2] !== 0) return { misfit: 'step', given: { bk: blockK, step: mma[2], shape } };
    return { ...base, blockK, mma, warps, warpM, warpN, threads: warps * WARP };
  }
  return { misfit: 'warps', given: { tile: `${base.blockM} × ${base.blockN}`, shape } };
}

function accumulatorBits(accumulate: string): number {
  return accumulate === 'float64' ? 64 : 32;
}

/** Columns of one wgmma: the largest multiple of 8 up to 256 that divides the tile, 8 where none does. */
function widestInstruction(blockN: number): number {
  for (let n = 256; n > 7; n -= 8) if (blockN % n === 0) return n;
  return 8;
}

/** How warps share a tile so that each one's part is squarest, of two alike the wider; null where none fits. */
function warpGrid(
  blockM: number,
  blockN: number,
  warps: number,
  stepM: number,
  stepN: number,
): [number, number] | null {
  let found: [number, number] | null = null;
  for (let down = 1; down <= warps; down++) {
    const across = Math.floor(warps / down);
    if (warps % down || blockM % (down * stepM) || blockN % (across * stepN)) continue;
    const part: [number, number] = [blockM / down, blockN / across];
    const sum = part[0] + part[1];
    if (!found || sum < found[0] + found[1] || (sum === found[0] + found[1] && part[0] < found[0])) found = part;
  }
  return found;
}

/** Registers of one thread that hold its outputs. */
export function accumulators(kernel: Kernel, format: string): number {
  const outputs = ceilDiv(kernel.blockM * kernel.blockN, kernel.threads);
  return outputs * ceilDiv(accumulatorBits(formatOf(format).accumulate), REGISTER_BITS);
}

/** Estimated registers of one thread: accumulators, operands, 24 for addresses, rounded up to 8. */
export function registers(kernel: Kernel, format: string): number {
  return roundUp(accumulators(kernel, format) + operandRegisters(kernel, formatOf(format).bits) + 24, 8);
}

function operandRegisters(kernel: Kernel, bits: number): number {
  if (kernel.family !== 'tensor') {
    const size = Math.max(1, Math.floor(bits / REGISTER_BITS));
    return (kernel.threadM + kernel.threadN) * size;
  }
  if (kernel.tilesFrom === 'shared') return 0;
  return ceilDiv((kernel.warpM + kernel.warpN) * kernel.mma[2] * bits, WARP * REGISTER_BITS);
}

/** Shared memory of one program in bytes: stages times the two tiles; none if naive. */
export function sharedBytes(kernel: Kernel, format: string): number {
  if (kernel.family === 'naive') return 0;
  const { bits } = formatOf(format);
  const side = (length: number) => ceilDiv(length * kernel.blockK * bits, 8);
  return kernel.stages * (side(kernel.blockM) + side(kernel.blockN));
}
