import { int } from '../../state/params';
import { section } from '../../state/sections';

export default section({
  name: 'limits',
  order: 40,
  uses: ['m', 'n', 'k', 'format', 'kernel', 't', 'bm', 'bn', 'bk', 'raster', 'group', 'chip', 'mine'],
  params: {
    /** The wave that is drawn. */
    wave: int(0, 9_999_999, 0),
  },
  load: () => import('./view'),
});
