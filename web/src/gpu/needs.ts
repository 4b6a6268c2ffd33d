/** What a multiplication needs of a device, held against its limits before anything is allocated. */

import type { Shape } from '../count/reads';
import { Fault } from './fault';
import { FORMATS, workgroupBytes, type Variant } from './wgsl';

export type Limits = Pick<
  GPUSupportedLimits,
  | 'maxBufferSize'
  | 'maxStorageBufferBindingSize'
  | 'maxComputeWorkgroupStorageSize'
  | 'maxComputeInvocationsPerWorkgroup'
  | 'maxComputeWorkgroupsPerDimension'
>;

/** Bytes of a matrix in whole words. */
export function matrixBytes(rows: number, columns: number, format: string): number {
  return Math.ceil((rows * columns * (format === 'float16' ? 2 : 4)) / 4) * 4;
}

/** Throw a Fault where no kernel of the page could multiply this on the device. */
export function requireProblem({ m, n, k }: Shape, format: string, limits: Limits, half: boolean): void {
  if (!(FORMATS as readonly string[]).includes(format)) throw new Fault('format', { format });
  if (format === 'float16' && !half) throw new Fault('half');
  const most = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  for (const [matrix, rows, columns] of [['A', m, k] as const, ['B', k, n] as const, ['C', m, n] as const]) {
    const needed = matrixBytes(rows, columns, format);
    if (needed > most) throw new Fault('buffer', { matrix, needed, most });
  }
}

/** Throw a Fault where this kernel is too much for the device; rows of C go in parts, so only columns count. */
export function requireKernel({ n }: Shape, variant: Variant, limits: Limits): void {
  const { tile } = variant;
  const invocations = tile * tile;
  const most = limits.maxComputeInvocationsPerWorkgroup;
  if (invocations > most)
    throw new Fault('tile', { tile, needed: invocations, most, widest: Math.floor(Math.sqrt(most)) });
  const room = limits.maxComputeWorkgroupStorageSize;
  if (workgroupBytes(variant) > room)
    throw new Fault('workgroup_memory', { tile, needed: workgroupBytes(variant), most: room });
  const across = Math.ceil(n / tile);
  const start = limits.maxComputeWorkgroupsPerDimension;
  if (across > start) throw new Fault('workgroups', { n, tile, needed: across, most: start, widest: start * tile });
}
