/** Kernels and faults in words. */

import type { Fault } from '../../gpu/fault';
import type { Variant } from '../../gpu/wgsl';
import { capacity, si } from '../../words/numbers';
import { t } from '../../words/words';

export function nameOf({ kernel, tile, without }: Variant): string {
  if (kernel === 'naive') return t('bench.naive');
  const cut = without.length === 2 ? 'both' : without[0] === 0 ? 'first' : 'second';
  return without.length === 0 ? t('bench.tiled', { tile }) : t(`bench.tiled.${cut}`, { tile });
}

/** A fault as a sentence, its figures with their units. */
export function faultText({ what, given }: Fault): string {
  const shown: Record<string, string | number> = { ...given };
  const bytes = what === 'buffer' || what === 'workgroup_memory';
  for (const [name, value] of Object.entries(given)) {
    if (bytes && (name === 'needed' || name === 'most')) shown[name] = capacity(Number(value));
    if (name === 'seconds') shown[name] = si(Number(value), 's', 2);
  }
  return t(`bench.fault.${what}`, shown);
}
