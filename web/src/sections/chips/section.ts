import { choice } from '../../state/params';
import { section } from '../../state/sections';

export const SORTS = ['name', 'year', 'float32', 'float16', 'int8', 'dram', 'knee'] as const;

export default section({
  name: 'chips',
  order: 70,
  uses: ['chip', 'mine'],
  params: {
    sort: choice(SORTS, 'name'),
    kind: choice(['all', 'gpu', 'tpu', 'cpu'], 'all'),
  },
  load: () => import('./view').then(({ ready }) => ready()),
});
