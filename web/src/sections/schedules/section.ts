import { KERNELS } from '../../emulate/kernels';
import { NAMES } from '../../emulate/schedule';
import { choice, int, ints } from '../../state/params';
import { section } from '../../state/sections';

export const ORDERS = [...NAMES, 'worst'] as const;

export default section({
  name: 'schedules',
  order: 30,
  uses: [],
  params: {
    rung: choice(KERNELS, 'tiled_8'),
    pm: int(1, 32, 16),
    pn: int(1, 32, 16),
    pk: int(1, 32, 16),
    /** Barriers left out, counted from 0. */
    out: ints(2, 0, 1, [0]),
    order: choice(ORDERS, 'serial'),
    seed: int(0, 9999, 0),
    fill: choice(['zero', 'nan'], 'zero'),
    /** The block that is told. */
    bx: int(0, 3, 0),
    by: int(0, 3, 0),
    /** A step of that block; -1: the first of the pair. */
    at: int(-1, 99_999, -1),
  },
  load: () => import('./view'),
});
