/** The bench's multiplication, by the kernel whose limits are shown. */

import { fits, type Misfit } from '../../../count/kernel';
import { limits, type Bench, type Limits } from '../../../count/roofs';
import { chipOf, type Chip } from '../../../data/chips';
import { store } from '../../../state/store';
import here from '../section';

/** What of the bench's state changes them. */
const CONCERNED = here.uses;

export interface Now {
  readonly asked: Bench;
  readonly chip: Chip;
  readonly found: Limits | Misfit;
}

let last: { key: string; now: Now } | null = null;

/** What the address asks for, and its limits; worked out once a state. */
export function now(): Now {
  const values = store.values(here);
  const key = JSON.stringify(CONCERNED.map((name) => values[name]));
  if (last?.key !== key) {
    const chip = chipOf(values.chip, values.mine);
    const asked = values as unknown as Bench;
    last = { key, now: { asked, chip, found: limits(chip, asked) } };
  }
  return last.now;
}

/** The limits, or null where there are none: the view says why. */
export function found(): Limits | null {
  const { found } = now();
  return fits(found) ? found : null;
}
