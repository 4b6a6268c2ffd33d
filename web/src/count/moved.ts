/** What a kernel asks each level of memory for, exactly: row-major A and B, one multiplication, beta 0. */

import { ceilDiv, formatOf, type Kernel } from './kernel';
import { sectorsRequested } from './sectors';
import type { Shape } from './reads';

export interface Moved {
  readonly flop: number;
  /** Elements of A and B that all threads ask for, and their bytes. */
  readonly elements: number;
  readonly loadBytes: number;
  readonly storeBytes: number;
  /** A, B and D once. */
  readonly compulsoryBytes: number;
  /** Bytes through L2: whole sectors of 32 bytes; what L1 keeps for a naive program is asked for once. */
  readonly l2Bytes: number;
  readonly sharedBytes: number;
  readonly registerBytes: number;
  /** FLOP that the tiles have room for, ragged edges included. */
  readonly paddedFlop: number;
  readonly programs: number;
}

export function moved(kernel: Kernel, { m, n, k }: Shape, format: string, clusters: boolean): Moved {
  const { bits, d_bits: resultBits } = formatOf(format);
  const { family, blockM, blockN, blockK } = kernel;
  const across = ceilDiv(n, blockN);
  const down = ceilDiv(m, blockM);
  const elements = family === 'naive' ? 2 * m * n * k : m * k * across + k * n * down;
  const loadBytes =
    family === 'naive'
      ? 2 * Math.ceil((m * n * k * bits) / 8)
      : Math.ceil((m * k * across * bits) / 8) + Math.ceil((k * n * down * bits) / 8);
  const storeBytes = Math.ceil((m * n * resultBits) / 8);
  const steps = down * across * ceilDiv(k, blockK);
  const step = onChip(kernel, bits);
  // L1 keeps what a naive program reads again, so L2 sees its rows and columns once; clusters share tiles by multicast
  const rows = Math.floor(((m * k * across + k * n * down) * bits) / 8);
  const share = clusters ? (blockM / kernel.clusterN + blockN / kernel.clusterM) / (blockM + blockN) : 1;
  const requested = family === 'naive' ? rows : sectorsRequested(kernel, m, n, k, bits) * 32 * share;
  return {
    flop: 2 * m * n * k,
    elements,
    loadBytes,
    storeBytes,
    compulsoryBytes: Math.ceil((m * k * bits) / 8) + Math.ceil((k * n * bits) / 8) + storeBytes,
    l2Bytes: requested + storeBytes,
    sharedBytes: Math.ceil((steps * step.loaded) / 8) + Math.ceil((steps * step.stored) / 8),
    registerBytes: ((family === 'naive' ? elements : steps * step.registers) * bits) / 8,
    paddedFlop: steps * 2 * blockM * blockN * blockK,
    programs: down * across,
  };
}

/** One step of one program: bits read from and written to shared memory, operands read from registers. */
function onChip(kernel: Kernel, bits: number): { loaded: number; stored: number; registers: number } {
  const { family, blockM, blockN, blockK, mma } = kernel;
  if (family === 'naive') return { loaded: 0, stored: 0, registers: 0 };
  const line = blockK * bits;
  const stored = (blockM + blockN) * line;
  const products = blockM * blockN * blockK;
  if (family !== 'tensor') {
    return { loaded: kernel.threads * (kernel.threadM + kernel.threadN) * line, stored, registers: 2 * products };
  }
  const [mmaM, mmaN, mmaK] = mma;
  if (kernel.tilesFrom === 'shared') {
    const loaded = blockM * line * Math.floor(blockN / mmaN) + blockN * line * Math.floor(blockM / mmaM);
    return { loaded, stored, registers: 0 };
  }
  const instructions = Math.floor(products / (mmaM * mmaN * mmaK));
  return {
    loaded: kernel.warps * (kernel.warpM + kernel.warpN) * line,
    stored,
    registers: instructions * (mmaM * mmaK + mmaK * mmaN),
  };
}
