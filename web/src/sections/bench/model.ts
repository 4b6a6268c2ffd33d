/** What gemmlab's own model predicts, asked of the server behind the page. */

import { ask, ServerError } from '../../server/client';
import type { Variant } from '../../gpu/wgsl';
import { plainName } from './export';
import type { Set } from './lines';

export interface Predicted {
  readonly seconds: number;
  readonly bound: string;
}

interface Told {
  readonly prediction: { readonly time_s: number; readonly bound: string } | null;
}

/** Predictions by multiplication, chip and kernel; asked once each. */
export class Model {
  private readonly held = new Map<string, Predicted | null>();

  constructor(private readonly changed: () => void) {}

  /** The prediction, or null while or because there is none; asks for it the first time. */
  of(set: Set, variant: Variant): Predicted | null {
    if (variant.without.length > 0 || set.chip === 'own') return null;
    const key = [set.m, set.n, set.k, set.format, set.chip, plainName(variant), variant.tile].join(' ');
    const found = this.held.get(key);
    if (found === undefined) {
      this.held.set(key, null);
      void this.fetch(key, set, variant);
    }
    return found ?? null;
  }

  private async fetch(key: string, { m, n, k, format, chip }: Set, { kernel, tile }: Variant): Promise<void> {
    const body = {
      problem: { m, n, k, format },
      chip,
      kernel: { name: kernel, tile: `${tile}x${tile}x${kernel === 'naive' ? 1 : tile}` },
      advice: false,
    };
    try {
      const { prediction } = await ask<Told>('explain', body);
      if (prediction) this.held.set(key, { seconds: prediction.time_s, bound: prediction.bound });
      this.changed();
    } catch (error) {
      // a kernel that does not fit the chip has no prediction; what was refused for its time is asked again later
      if (!(error instanceof ServerError)) throw error;
      if (error.message.includes('jobs are running')) this.held.delete(key);
    }
  }
}
