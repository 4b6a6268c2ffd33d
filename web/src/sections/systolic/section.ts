import { FLOWS } from '../../count/array';
import { choice, int } from '../../state/params';
import { section } from '../../state/sections';

export const SIZES = ['4', '8', '16', '32', '64', '128', '256'] as const;

export default section({
  name: 'systolic',
  order: 50,
  uses: ['m', 'n', 'k'],
  params: {
    /** PEs along a side. */
    pes: choice(SIZES, '4'),
    flow: choice(FLOWS, 'ws'),
    weights: choice(['double', 'single'], 'double'),
    drain: choice(['side', 'bottom', 'shadow'], 'side'),
    /** The multiplication that passes: small at first, so that each word can be followed. */
    am: int(1, 131072, 6),
    an: int(1, 131072, 7),
    ak: int(1, 131072, 8),
    cycle: int(0, 999_999_999_999_999, 7),
  },
  load: () => import('./view'),
});
