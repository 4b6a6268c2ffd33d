/** A, B and C on the device, and the numbers that a kernel counts. */

import type { Shape } from '../count/reads';
import type { Device } from './adapter';
import { fromHalf, toHalf } from './half';
import { matrixBytes } from './needs';
import type { Operands } from './operands';

const NAN16 = 0x7e00;

export class Matrices {
  readonly a: GPUBuffer;
  readonly b: GPUBuffer;
  readonly c: GPUBuffer;
  /** Loads of A and of B, each a low and a high word. */
  readonly loads: GPUBuffer;
  private readonly back: GPUBuffer;

  private constructor(
    private readonly on: Device,
    readonly shape: Shape,
    readonly format: string,
  ) {
    const { m, n, k } = shape;
    const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
    const bytes = (rows: number, columns: number) => matrixBytes(rows, columns, format);
    const made = (label: string, size: number, usage: number) => on.device.createBuffer({ label, size, usage });
    this.a = made('a', bytes(m, k), STORAGE | COPY_DST);
    this.b = made('b', bytes(k, n), STORAGE | COPY_DST);
    this.c = made('c', bytes(m, n), STORAGE | COPY_DST | COPY_SRC);
    this.loads = made('loads', 16, STORAGE | COPY_DST | COPY_SRC);
    this.back = made('back', Math.max(16, bytes(m, n)), COPY_DST | MAP_READ);
  }

  /** Place them on the device; throws a Fault where it has no room. */
  static async place(on: Device, shape: Shape, format: string, drawn: Operands): Promise<Matrices> {
    let made: Matrices | null = null;
    try {
      await on.scoped(() => {
        made = new Matrices(on, shape, format);
        on.device.queue.writeBuffer(made.a, 0, made.stored(drawn.a));
        on.device.queue.writeBuffer(made.b, 0, made.stored(drawn.b));
      });
    } catch (error) {
      (made as Matrices | null)?.destroy();
      throw error;
    }
    return made!;
  }

  /** Fill C with NaN, so that what no kernel writes shows. */
  poison(): void {
    const { m, n } = this.shape;
    const filled =
      this.format === 'float16' ? new Uint16Array(even(m * n)).fill(NAN16) : new Float32Array(m * n).fill(NaN);
    this.on.device.queue.writeBuffer(this.c, 0, filled);
  }

  /** C as it is on the device now. */
  async result(): Promise<Float32Array> {
    const { m, n } = this.shape;
    const bytes = await this.read(this.c, this.c.size);
    if (this.format !== 'float16') return new Float32Array(bytes);
    return Float32Array.from(new Uint16Array(bytes).subarray(0, m * n), fromHalf);
  }

  forget(): void {
    this.on.device.queue.writeBuffer(this.loads, 0, new Uint32Array(4));
  }

  /** Loads of A and of B since they were last forgotten. */
  async counted(): Promise<{ a: number; b: number }> {
    const [a, carriedA, b, carriedB] = new Uint32Array(await this.read(this.loads, 16));
    return { a: a! + carriedA! * 2 ** 32, b: b! + carriedB! * 2 ** 32 };
  }

  destroy(): void {
    for (const buffer of [this.a, this.b, this.c, this.loads, this.back]) buffer.destroy();
  }

  private stored(values: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> {
    if (this.format !== 'float16') return values;
    const halves = new Uint16Array(even(values.length));
    for (let i = 0; i < values.length; i++) halves[i] = toHalf(values[i]!);
    return halves;
  }

  private async read(from: GPUBuffer, size: number): Promise<ArrayBuffer> {
    const { device } = this.on;
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, 0, this.back, 0, size);
    device.queue.submit([encoder.finish()]);
    await this.on.wait(this.back.mapAsync(GPUMapMode.READ, 0, size));
    const bytes = this.back.getMappedRange(0, size).slice(0);
    this.back.unmap();
    return bytes;
  }
}

function even(length: number): number {
  return length + (length % 2);
}
