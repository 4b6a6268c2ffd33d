/**
 * One kernel on the device, run once or many times.
 *
 * A dispatch that lasts longer than a second or two is taken for a hang by some systems, which then reset the device:
 * the rows of C are cut so that none lasts long, and what one submission holds is bounded too.
 */

import type { Device } from './adapter';
import { Fault, said } from './fault';
import type { Matrices } from './matrices';
import type { Sample } from './measure';
import { constantsOf, source, type Dialect, type Variant } from './wgsl';

/** Seconds that a dispatch should last at most, and the work of a submission. */
const DISPATCH_S = 0.05;
const SUBMISSION_S = 0.1;
/** Submissions until the reader is told how far it is. */
const BATCH = 8;
const MOST_DISPATCHES = 20_000;
const MOST_CUTS = 8192;
const APART = 256;

export class Program {
  private readonly uniforms: GPUBuffer;
  private readonly group: GPUBindGroup;
  private readonly queries: GPUQuerySet | null;
  private readonly resolved: GPUBuffer | null = null;
  private readonly stamps: GPUBuffer | null = null;
  private cuts: readonly number[] = [];
  private rows: number;
  private dispatchS = DISPATCH_S;

  private constructor(
    private readonly on: Device,
    private readonly matrices: Matrices,
    private readonly variant: Variant,
    private readonly pipeline: GPUComputePipeline,
    layout: GPUBindGroupLayout,
  ) {
    const { device } = on;
    const { m } = matrices.shape;
    const { UNIFORM, COPY_DST, COPY_SRC, QUERY_RESOLVE, MAP_READ } = GPUBufferUsage;
    this.rows = Math.min(m, device.limits.maxComputeWorkgroupsPerDimension * variant.tile);
    const most = Math.min(MOST_CUTS, Math.ceil(m / variant.tile));
    this.uniforms = device.createBuffer({ size: APART * most, usage: UNIFORM | COPY_DST });
    const buffers = [this.uniforms, matrices.a, matrices.b, matrices.c, matrices.loads];
    this.group = device.createBindGroup({
      layout,
      entries: buffers.map((buffer, binding) => ({
        binding,
        resource: binding === 0 ? { buffer, size: 64 } : { buffer },
      })),
    });
    this.queries = on.about.stamps ? device.createQuerySet({ type: 'timestamp', count: 2 * BATCH }) : null;
    if (this.queries) {
      const size = 16 * BATCH;
      this.resolved = device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
      this.stamps = device.createBuffer({ label: 'stamps', size, usage: COPY_DST | MAP_READ });
    }
    this.cut(this.rows);
  }

  /** Compile a kernel for matrices; throws a Fault that holds the compiler's words. */
  static async build(on: Device, matrices: Matrices, variant: Variant, dialect: Dialect): Promise<Program> {
    const { device } = on;
    return on.scoped(async () => {
      const module = device.createShaderModule({ code: source(variant, dialect) });
      const { messages } = await module.getCompilationInfo();
      const wrong = messages.find(({ type }) => type === 'error');
      if (wrong) throw new Fault('compile', { reason: `${wrong.lineNum}: ${said(wrong)}` });
      const kinds = ['uniform', 'read-only-storage', 'read-only-storage', 'storage', 'storage'] as const;
      const layout = device.createBindGroupLayout({
        entries: kinds.map((type, binding) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type, hasDynamicOffset: binding === 0 },
        })),
      });
      let pipeline: GPUComputePipeline;
      try {
        pipeline = await device.createComputePipelineAsync({
          layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
          compute: { module, entryPoint: 'kernel', constants: constantsOf(variant, dialect) },
        });
      } catch (error) {
        throw new Fault('compile', { reason: said(error) });
      }
      return new Program(on, matrices, variant, pipeline, layout);
    });
  }

  /** Seconds of one multiplication, about; cuts rows so that a dispatch is short, from the top rows onwards. */
  async pace(signal: AbortSignal): Promise<number> {
    const { m } = this.matrices.shape;
    const { tile } = this.variant;
    const whole = this.rows;
    let rows = Math.min(whole, tile);
    let lasted = 0;
    for (;;) {
      signal.throwIfAborted();
      this.cut(rows);
      this.dispatchS = SUBMISSION_S;
      lasted = (await this.batch([0])).wallS;
      // a first dispatch may wait for the driver's compiler, any for another process: the shorter of two is told
      if (lasted > DISPATCH_S / 2) lasted = Math.min(lasted, (await this.batch([0])).wallS);
      if (lasted > DISPATCH_S / 2 || rows >= whole) break;
      rows = Math.min(whole, rows * 4);
    }
    const least = Math.ceil(m / MOST_CUTS / tile) * tile;
    const wanted = Math.floor((rows * DISPATCH_S) / Math.max(lasted, 1e-6) / tile) * tile;
    this.cut(Math.min(whole, Math.max(least, tile, wanted)));
    this.dispatchS = (lasted * this.rows) / rows;
    return (lasted * m) / rows;
  }

  /** Many tiny passes in turn: what the clock's stamps differ by. */
  async probe(passes = 2 * BATCH): Promise<bigint[]> {
    const found: bigint[] = [];
    for (let done = 0; done < passes; done += BATCH) {
      const { stamps } = await this.batch(
        Array.from({ length: BATCH }, () => 0),
        1,
      );
      found.push(...(stamps ?? []));
    }
    return found;
  }

  /** Multiply so often in a row; seconds by the wall, and the device's stamps of each pass. */
  async run(repetitions: number, signal?: AbortSignal, told?: (share: number) => void): Promise<Sample> {
    const total = repetitions * this.cuts.length;
    const per = Math.max(1, Math.min(MOST_DISPATCHES, Math.floor(SUBMISSION_S / this.dispatchS)));
    const stamps: bigint[] = [];
    let wallS = 0;
    for (let done = 0; done < total;) {
      const count = Math.min(total - done, per * BATCH);
      const part = await this.batch(
        Array.from({ length: count }, (_, i) => (done + i) % this.cuts.length),
        per,
      );
      wallS += part.wallS;
      stamps.push(...(part.stamps ?? []));
      done += count;
      // a first run pays for much that later ones do not
      this.dispatchS = Math.max(1e-6, Math.min(this.dispatchS, part.wallS / count));
      signal?.throwIfAborted();
      told?.(done / total);
    }
    return { wallS, stamps: this.queries ? stamps : null };
  }

  destroy(): void {
    this.queries?.destroy();
    for (const buffer of [this.uniforms, this.resolved, this.stamps]) buffer?.destroy();
  }

  /** Cut C into parts of so many rows, each with where its operands begin. */
  private cut(rows: number): void {
    const { m, n, k } = this.matrices.shape;
    this.rows = rows;
    const cuts = [];
    for (let first = 0; first < m; first += rows) cuts.push(Math.min(rows, m - first));
    this.cuts = cuts.slice(0, MOST_CUTS);
    const words = new Uint32Array((APART / 4) * this.cuts.length);
    this.cuts.forEach((height, i) => {
      words.set([height, n, k, 0, i * rows * k, k, 1, 0, 0, n, 1, 0, i * rows * n, n, 1], (APART / 4) * i);
    });
    this.on.device.queue.writeBuffer(this.uniforms, 0, words);
  }

  /** Submit parts of C, so many a pass, each pass on its own; wait for all. */
  private async batch(parts: readonly number[], per = parts.length): Promise<Sample> {
    const { device } = this.on;
    const { tile } = this.variant;
    const across = Math.ceil(this.matrices.shape.n / tile);
    const buffers: GPUCommandBuffer[] = [];
    for (let from = 0; from < parts.length; from += per) {
      const encoder = device.createCommandEncoder();
      const at = 2 * buffers.length;
      const pass = encoder.beginComputePass(
        this.queries
          ? {
              timestampWrites: {
                querySet: this.queries,
                beginningOfPassWriteIndex: at,
                endOfPassWriteIndex: at + 1,
              },
            }
          : {},
      );
      pass.setPipeline(this.pipeline);
      let set = -1;
      for (const part of parts.slice(from, from + per)) {
        if (part !== set) pass.setBindGroup(0, this.group, [APART * part]);
        set = part;
        pass.dispatchWorkgroups(across, Math.ceil(this.cuts[part]! / tile));
      }
      pass.end();
      buffers.push(encoder.finish());
    }
    const start = performance.now();
    for (const buffer of buffers) device.queue.submit([buffer]);
    await this.on.wait(device.queue.onSubmittedWorkDone());
    const wallS = Math.max(0, performance.now() - start) / 1e3;
    return { wallS, stamps: this.queries ? await this.stamped(2 * buffers.length) : null };
  }

  private async stamped(count: number): Promise<bigint[]> {
    const encoder = this.on.device.createCommandEncoder();
    encoder.resolveQuerySet(this.queries!, 0, count, this.resolved!, 0);
    encoder.copyBufferToBuffer(this.resolved!, 0, this.stamps!, 0, 8 * count);
    this.on.device.queue.submit([encoder.finish()]);
    await this.on.wait(this.stamps!.mapAsync(GPUMapMode.READ));
    const found = [...new BigUint64Array(this.stamps!.getMappedRange(0, 8 * count))];
    this.stamps!.unmap();
    return found;
  }
}
