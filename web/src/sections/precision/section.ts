import { names } from './names';
import { choice, int, text } from '../../state/params';
import { section } from '../../state/sections';

/** Numbers with spaces or semicolons between them. */
const NUMBERS = /^[-+0-9.eE; ]*$/;

export default section({
  name: 'precision',
  order: 60,
  uses: [],
  params: {
    unit: choice(names, names[0]),
    /** Products of the dot product that is traced, and how their sizes are drawn. */
    length: int(1, 64, 8),
    sizes: choice(['alike', 'apart', 'cancel'], 'apart'),
    seed: int(0, 9999, 1),
    /** The reader's own numbers; empty: drawn ones. */
    xa: text(400, '', NUMBERS),
    xb: text(400, '', NUMBERS),
    /** Which fused sum of the chain is shown. */
    sum: int(0, 63, 0),
  },
  load: () => import('./view'),
});
