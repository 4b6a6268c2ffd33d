/** The array at one cycle: PEs by what they do, words in flight with their skew; labels where there is room. */

import { Registers, type Element, type Kind } from '../../count/registers';
import type { Given } from '../../count/array';
import { solid } from '../../draw/colours';

const LABELLED = 8;

/** Whether words outside the array are drawn too. */
export const few = (given: Given): boolean => given.rows <= 16;

/** Words outside that are drawn, to the left of the array, above, to the right and below. */
function margins(given: Given): readonly [number, number, number, number] {
  if (!few(given)) return [0, 0, 0, 0];
  if (given.flow !== 'os') return [3, 0, 0, 2];
  return given.drain === 'side' ? [3, 3, 1, 0] : [3, 3, 0, 1];
}

/** Height over width of the picture. */
export function shape(given: Given): number {
  const [left, above, right, below] = margins(given);
  return (given.rows + above + below) / (given.cols + left + right);
}

const LETTERS = { a: 'A', b: 'B', c: 'C' } as const;
/** An element in words: A 1,2 counted from 0. */
export const named = (operand: 'a' | 'b' | 'c', [i, j]: Element): string => `${LETTERS[operand]}${i},${j}`;

interface Place {
  readonly pen: CanvasRenderingContext2D;
  readonly found: Registers;
  readonly cell: number;
  readonly left: number;
  readonly top: number;
}

/** Draw it over so many pixels. */
export function draw(pen: CanvasRenderingContext2D, width: number, height: number, given: Given, cycle: number): void {
  pen.fillStyle = solid('paper');
  pen.fillRect(0, 0, width, height);
  const [left, above, right] = margins(given);
  const cell = width / (given.cols + left + right);
  const place = { pen, found: new Registers(given, cycle), cell, left: left * cell, top: above * cell };
  if (few(given)) inFlight(place, given);
  const stripe = Math.max(1, given.rows >> 4);
  const [busy, marked, held, idle] = [solid('teal'), solid('sky'), solid('mist'), solid('grid')];
  const staying = (['held', 'behind', ...(given.flow === 'os' ? (['sums'] as const) : [])] as const).filter(
    (kind) => place.found.kinds[kind],
  );
  const gap = cell > 6 ? 1.5 : 0;
  const edge = (at: number) => (gap > 0 ? at : Math.round(at)); // no seams between cells of a pixel or two
  const colour = (i: number, j: number): string => {
    const word = place.found.word(i, j);
    if (word >= 0) return Math.floor(word / stripe) % 4 === 0 ? marked : busy;
    return staying.some((kind) => place.found.at(kind, i, j) !== null) ? held : idle;
  };
  for (let i = 0; i < given.rows; i++) {
    const top = edge(place.top + i * cell);
    const tall = edge(place.top + (i + 1) * cell) - top - gap;
    for (let j = 0, end = 1; j < given.cols; j = end++) {
      const own = colour(i, j);
      // without gaps, neighbours that look alike are one stroke: each by itself took half of a large array's time
      while (gap === 0 && end < given.cols && colour(i, end) === own) end++;
      const start = edge(place.left + j * cell);
      pen.fillStyle = own;
      pen.fillRect(start, top, edge(place.left + end * cell) - start - gap, tall);
      if (given.rows <= LABELLED) label(place, given, i, j, place.found.busy(i, j));
    }
  }
}

/** What lies in a PE: the operand that moves right above, what stays in the middle, what moves down below. */
function label(place: Place, given: Given, i: number, j: number, working: boolean): void {
  const kinds = place.found.kinds;
  const lines: Kind[] = given.flow === 'os' ? ['right', 'sums', 'down'] : ['right', 'held', 'sums'];
  lines.forEach((kind, line) => {
    // where nothing has been swapped in yet, what waits behind is what there is to see
    const behind = kind === 'held' && kinds.behind && !place.found.at('held', i, j);
    const element = place.found.at(behind ? 'behind' : kind, i, j);
    if (!element) return;
    place.pen.fillStyle = working ? solid('paper') : solid(behind ? 'quiet' : 'ink');
    write(place, named(kinds[kind]!, element), j, i + (line - 1) * 0.29);
  });
}

function write({ pen, cell, left, top }: Place, text: string, x: number, y: number): void {
  pen.font = `${Math.min(15, cell * 0.24)}px system-ui, Helvetica, Arial, sans-serif`;
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  pen.fillText(text, left + (x + 0.5) * cell, top + (y + 0.5) * cell, cell * 0.94);
}

/** Words about to enter from the left and from above, and those that leave. */
function inFlight(place: Place, given: Given): void {
  const { found } = place;
  const kinds = found.kinds;
  const [left, above, , below] = margins(given);
  for (let line = 0; line < given.rows; line++) {
    for (let away = 1; away <= left; away++) {
      const right = found.at('right', line, -away);
      if (right) word(place, given, named(kinds.right!, right), -away, line, 'sand');
    }
    for (let away = 1; away <= above; away++) {
      const down = found.at('down', -away, line);
      if (down) word(place, given, named('b', down), line, -away, 'sand');
    }
    for (let away = 1; away <= below && given.flow !== 'os'; away++) {
      const sum = found.at('sums', given.rows - 1 + away, line);
      if (sum) word(place, given, named('c', sum), line, given.rows - 1 + away, 'mist');
    }
  }
  if (given.flow !== 'os') return;
  const side = given.drain === 'side';
  for (const [i, j, row, col] of found.leaving()) {
    word(place, given, named('c', [row, col]), side ? given.cols : j, side ? i : given.rows, 'mist');
  }
}

function word(place: Place, given: Given, text: string, x: number, y: number, colour: 'sand' | 'mist'): void {
  const { pen, cell, left, top } = place;
  pen.fillStyle = solid(colour);
  pen.beginPath();
  pen.arc(
    left + (x + 0.5) * cell,
    top + (y + 0.5) * cell,
    cell * (given.rows <= LABELLED ? 0.36 : 0.3),
    0,
    2 * Math.PI,
  );
  pen.fill();
  if (given.rows > LABELLED) return;
  pen.fillStyle = solid('ink');
  write(place, text, x, y);
}
