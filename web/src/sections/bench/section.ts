import { choice, flag, int } from '../../state/params';
import { section } from '../../state/sections';

/** Barriers that the broken twin leaves out. */
export const CUTS = ['none', 'first', 'second', 'both'] as const;

/** Parts of the page further down. */
export const PARTS = ['top', 'roofs', 'waves', 'order'] as const;

export default section({
  name: 'bench',
  order: 20,
  uses: ['m', 'n', 'k', 'format', 'kernel', 't', 'bm', 'bn', 'bk', 'raster', 'group', 'chip', 'mine'],
  params: {
    naive: flag(true),
    tiled: flag(true),
    /** Tiles 4, 8 and 16 beside the one that is set. */
    all: flag(false),
    cut: choice(CUTS, 'none'),
    where: choice(['browser', 'machine', 'none'], 'browser'),
    /** The reader's device is the chip that is predicted for. */
    same: flag(false),
    seed: int(0, 2 ** 31 - 1, 1),
    /** The wave that is drawn. */
    wave: int(0, 9_999_999, 0),
    /** The part that an address brings before the reader. */
    at: choice(PARTS, 'top'),
  },
  load: () => import('./view'),
});
