/** Parameters that sections share: the page's own, and the multiplication that is on the bench. */

import names from '../data/names.json';
import { choice, figures, int, type Values } from './params';

export const LANGUAGES = ['en', 'it'] as const;
export const LEVELS = ['elem', 'adv'] as const;
export const THEMES = ['auto', 'light', 'dark'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Figures of the reader's own chip, SI units: FLOP/s in float32 and in 16-bit formats, bytes/s, bytes, a count, Hz. */
export const OWN_CHIP = ['float32', 'float16', 'dram', 'l2', 'shared', 'register', 'l2bytes', 'sms', 'clock'] as const;

const preferred = (): Language =>
  (globalThis.navigator?.languages ?? []).map((tag) => tag.slice(0, 2)).find((l) => l === 'it' || l === 'en') === 'it'
    ? 'it'
    : 'en';

/** Carried by every address. */
export const PAGE = {
  lang: choice(LANGUAGES, preferred()),
  lvl: choice(LEVELS, 'adv'),
  theme: choice(THEMES, 'auto'),
};

const side = { ...int(1, 131072, 1024), always: true };

/** Carried by the addresses of sections that name them in `uses`. */
export const BENCH = {
  m: side,
  n: side,
  k: side,
  /** Format of A and B. */
  format: choice(names.formats, 'float32'),
  /** Kernel of gemmlab's catalogue. */
  kernel: choice(names.kernels, 'tiled'),
  /** Side of the square tile of the kernel `tiled`, and of a program of `naive`. */
  t: int(1, 64, 16),
  /** Tile of the kernels register, tensor and warpgroup; 0 is the kernel's own. */
  bm: int(0, 1024, 0),
  bn: int(0, 1024, 0),
  bk: int(0, 1024, 0),
  /** Order of programs: along n or m, in groups of so many rows (or columns). */
  raster: choice(['n', 'm'], 'n'),
  group: int(1, 256, 1),
  /** Chip to predict for; `own` is the reader's, described by `mine`. */
  chip: choice([...names.chips, 'own'], 'h100-sxm'),
  mine: figures(OWN_CHIP, 1, 1e18),
};

export const SHARED = { ...PAGE, ...BENCH };
export type SharedName = keyof typeof BENCH;
export type PageValues = Values<typeof PAGE>;
