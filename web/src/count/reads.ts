/** What the kernels naive and tiled ask memory for, exactly. Caches are not in these counts. */

export interface Shape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

export type BenchKernel = 'naive' | 'tiled';

export interface Reads {
  /** Elements of A and of B that all programs together ask for. */
  readonly a: number;
  readonly b: number;
  readonly elements: number;
  readonly bytes: number;
  /** Bytes of D. */
  readonly stored: number;
  readonly flop: number;
  /** FLOP per byte asked for or stored. */
  readonly intensity: number;
  /** Workgroups. */
  readonly programs: number;
  /** Bytes that go to or come from the memory of workgroups. */
  readonly shared: number;
}

const tiles = (length: number, side: number) => Math.ceil(length / side);

/** Elements of A and of B: naive reads a row and a column an output, tiled a tile of each a step of a workgroup. */
export function elements(kernel: BenchKernel, { m, n, k }: Shape, side: number): { a: number; b: number } {
  if (kernel === 'naive') return { a: m * n * k, b: m * n * k };
  return { a: m * k * tiles(n, side), b: k * n * tiles(m, side) };
}

/** All counts, of elements of `bits` and a result of `resultBits`; a workgroup computes `side` x `side` outputs. */
export function reads(kernel: BenchKernel, of: Shape, side: number, bits: number, resultBits = bits): Reads {
  const { m, n, k } = of;
  const { a, b } = elements(kernel, of, side);
  const bytes = Math.ceil(((a + b) * bits) / 8);
  const stored = (m * n * resultBits) / 8;
  const flop = 2 * m * n * k;
  const programs = tiles(m, side) * tiles(n, side);
  // a step stores an element of each tile an invocation, and reads a row of one and a column of the other
  const words = kernel === 'tiled' ? programs * tiles(k, side) * side * side * (2 * side + 2) : 0;
  return {
    a,
    b,
    elements: a + b,
    bytes,
    stored,
    flop,
    intensity: flop / (bytes + stored),
    programs,
    shared: (words * bits) / 8,
  };
}
