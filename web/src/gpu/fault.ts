/** What can go wrong on the reader's device, each with words under `bench.fault.NAME`. */

export const FAULTS = [
  'insecure',
  'no_webgpu',
  'no_adapter',
  'refused',
  'lost',
  'memory',
  'buffer',
  'workgroups',
  'tile',
  'workgroup_memory',
  'format',
  'half',
  'compile',
  'device',
  'slow',
  'clock',
  'stopped',
  'server',
] as const;
export type FaultName = (typeof FAULTS)[number];

export class Fault extends Error {
  constructor(
    readonly what: FaultName,
    readonly given: Readonly<Record<string, string | number>> = {},
  ) {
    super(`${what} ${JSON.stringify(given)}`);
  }
}

/** What a device says of itself in words is shown as it is, without line breaks and not without end. */
export function said(error: unknown): string {
  const text = error instanceof Error || hasMessage(error) ? error.message : String(error);
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 400);
}

function hasMessage(value: unknown): value is { message: string } {
  return typeof value === 'object' && value !== null && typeof (value as { message?: unknown }).message === 'string';
}
