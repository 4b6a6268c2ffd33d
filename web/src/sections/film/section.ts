import { choice, figures, flag, int, ints } from '../../state/params';
import { section } from '../../state/sections';

/** The chapters in order; the names stand in addresses and in the keys of their words. */
export const CHAPTERS = [
  'table',
  'single',
  'tile',
  'reads',
  'wait',
  'roof',
  'cache',
  'tensor',
  'array',
  'rest',
] as const;
export type ChapterName = (typeof CHAPTERS)[number];

/** The largest number that an answer may be, either way. */
export const LARGEST = 1e12;

export default section({
  name: 'film',
  order: 10,
  uses: [],
  params: {
    chapter: choice(CHAPTERS, 'table'),
    step: int(0, 20, 0),
    /** The reader's number for each chapter's question. */
    answers: figures(CHAPTERS, -LARGEST, LARGEST),
    /** Chapters, counted from 0, whose answer the reader has had shown. */
    shown: ints(10, 0, 9),
    /** Whether digits and the space bar are keys of the film. */
    keys: flag(true),
  },
  load: () => import('./view'),
});
