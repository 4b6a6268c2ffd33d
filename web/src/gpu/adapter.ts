/** The reader's device through WebGPU: what it is, what it allows, and when it is gone. */

import { Fault, said } from './fault';

/** Names of adapters that compute on the CPU. */
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|softpipe|basic render|\bwarp\b/i;
const RAISED = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupsPerDimension',
] as const;
const WANTED = ['timestamp-query', 'shader-f16'] as const;

export interface About {
  /** As far as the browser tells: many hide the model. */
  readonly name: string;
  readonly vendor: string;
  /** No GPU: the CPU computes. */
  readonly software: boolean;
  readonly stamps: boolean;
  readonly half: boolean;
}

export class Device {
  private gone: Fault | null = null;

  constructor(
    readonly device: GPUDevice,
    readonly about: About,
  ) {
    void device.lost.then(({ reason, message }) => {
      this.gone = new Fault('lost', { reason: said(message) || reason });
    });
  }

  get alive(): boolean {
    return this.gone === null;
  }

  /** Wait for what the device does; once it is lost that says so, whatever else broke because of it. */
  async wait<T>(work: Promise<T>): Promise<T> {
    const lost = this.device.lost.then(() => Promise.reject(this.gone ?? new Fault('lost', { reason: '' })));
    lost.catch(() => undefined);
    try {
      const done = await Promise.race([work, lost]);
      if (this.gone) throw this.gone;
      return done as T;
    } catch (error) {
      // a device that was lost may refuse work before it tells that it is lost
      if (!(error instanceof Fault)) await Promise.race([lost.catch(() => undefined), after(200)]);
      if (this.gone) throw this.gone;
      throw error instanceof Fault ? error : new Fault('device', { reason: said(error) });
    }
  }

  /** Do something that the device may refuse, and say how it refused. */
  async scoped<T>(work: () => T | Promise<T>): Promise<T> {
    const { device } = this;
    if (this.gone) throw this.gone;
    device.pushErrorScope('validation');
    device.pushErrorScope('internal');
    device.pushErrorScope('out-of-memory');
    const done = Promise.resolve().then(work);
    const own = await done.then(
      () => null,
      (error: unknown) => (error instanceof Fault ? error : null),
    );
    const errors = [];
    for (let i = 0; i < 3; i++) errors.push(await this.wait(device.popErrorScope()));
    const [memory, ...others] = errors;
    if (memory) throw new Fault('memory', { reason: said(memory) });
    if (own) throw this.gone ?? own;
    const other = others.find(Boolean);
    if (other) throw new Fault('device', { reason: said(other) });
    return this.wait(done);
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

/** Ask the browser for a device; throws a Fault that says what is missing. */
export async function open(gpu: GPU | undefined = globalThis.navigator?.gpu): Promise<Device> {
  if (!gpu) throw new Fault(globalThis.isSecureContext === false ? 'insecure' : 'no_webgpu');
  let adapter: GPUAdapter | null;
  try {
    adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  } catch (error) {
    throw new Fault('refused', { reason: said(error) });
  }
  if (!adapter) throw new Fault('no_adapter');
  const features = WANTED.filter((name) => adapter.features.has(name));
  try {
    const device = await adapter.requestDevice({
      label: 'gemmlab',
      requiredFeatures: features,
      requiredLimits: Object.fromEntries(RAISED.map((name) => [name, adapter.limits[name]])),
    });
    return new Device(device, describe(adapter, features));
  } catch (error) {
    throw new Fault('refused', { reason: said(error) });
  }
}

/** What an adapter tells of itself. */
export function describe(
  adapter: { readonly info: Partial<GPUAdapterInfo>; readonly isFallbackAdapter?: boolean },
  features: readonly string[],
): About {
  const { vendor = '', architecture = '', device = '', description = '', isFallbackAdapter } = adapter.info;
  const name = description || [vendor, architecture, device].filter(Boolean).join(' ');
  const fallback = isFallbackAdapter ?? adapter.isFallbackAdapter ?? false;
  return {
    name,
    vendor,
    software: fallback || SOFTWARE.test([vendor, architecture, device, description].join(' ')),
    stamps: features.includes('timestamp-query'),
    half: features.includes('shader-f16'),
  };
}
