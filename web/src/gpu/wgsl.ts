/** The texts of the kernels: the package's own rungs, whole or without a barrier, counting or not. */

import texts from '../data/wgsl.json';
import type { BenchKernel } from '../count/reads';

export const FORMATS = Object.keys(texts.types) as readonly (keyof typeof texts.types)[];
export type Half = 'float16';

export interface Variant {
  readonly kernel: BenchKernel;
  /** Side of the square that a workgroup computes. */
  readonly tile: number;
  /** Barriers left out, the first is 0. */
  readonly without: readonly number[];
}

export interface Dialect {
  readonly format: (typeof FORMATS)[number];
  /** Whether loads of A and B are counted. */
  readonly counted: boolean;
  /**
   * `literal` writes tile and counting as constants into the text; `override` leaves them to the pipeline. Some
   * browsers get arrays wrong whose size is an override (Safari: kishimisu/WebGPU-Radix-Sort#10).
   */
  readonly constants: 'literal' | 'override';
}

export const BARRIER = 'workgroupBarrier();';

/** How many barriers a kernel has. */
export function barriers(kernel: BenchKernel): number {
  return texts[kernel].split(BARRIER).length - 1;
}

/** The text of a kernel; a barrier that is left out leaves its line, so that lines keep their numbers. */
export function source({ kernel, tile, without }: Variant, { format, counted, constants }: Dialect): string {
  let place = -1;
  const body = texts[kernel].replaceAll(/workgroupBarrier\(\);.*$/gm, (whole) => {
    place += 1;
    return without.includes(place) ? '// no barrier' : whole;
  });
  if (without.some((which) => which < 0 || which > place)) throw new Error(`${kernel} has ${place + 1} barriers`);
  const type = texts.types[format];
  const head = `${format === 'float16' ? 'enable f16;\n' : ''}alias In = ${type};\nalias Out = ${type};\n`;
  const whole = head + texts.operands + body;
  if (constants === 'override') return whole;
  const values: Record<string, string> = { TILE: `${tile}`, COUNTED: `${counted}` };
  return whole.replaceAll(
    /^override (\w+): (\w+) = [^;]+;/gm,
    (_, name: string, kind: string) => `const ${name}: ${kind} = ${values[name]!};`,
  );
}

/** Values of the override constants, for that dialect. */
export function constantsOf({ tile }: Variant, { counted, constants }: Dialect): Record<string, number> {
  return constants === 'override' ? { TILE: tile, COUNTED: Number(counted) } : {};
}

/** Bytes of a workgroup's memory. */
export function workgroupBytes({ kernel, tile }: Variant): number {
  return kernel === 'tiled' ? 2 * 4 * tile * tile : 0;
}
