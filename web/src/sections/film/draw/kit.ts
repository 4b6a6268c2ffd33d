/** Pieces of the film's pictures. A picture is 480 wide; what a step adds is marked so that motion can bring it in. */

import { nothing, svg, type SVGTemplateResult } from 'lit';
import { ink, type Role } from '../../../draw/colours';

export type Picture = SVGTemplateResult;
export type Part = Picture | typeof nothing | readonly Picture[];

export interface Move {
  /** Where it comes from, beside where it ends. */
  readonly dx?: number;
  readonly dy?: number;
  /** Milliseconds until it starts. */
  readonly wait?: number;
}

/** What is there from a step on. */
export function from(step: number, now: number, part: () => Part, { dx = 0, dy = 0, wait = 0 }: Move = {}): Part {
  return now < step ? nothing : svg`<g data-at=${step} data-dx=${dx} data-dy=${dy} data-wait=${wait}>${part()}</g>`;
}

/** What is there in some steps alone. */
export function during(first: number, last: number, now: number, part: () => Part, move: Move = {}): Part {
  return now > last ? nothing : from(first, now, part, move);
}

export function label(
  x: number,
  y: number,
  text: string | number,
  { role = 'ink' as Role, size = 16, anchor = 'middle' as 'start' | 'middle' | 'end', bold = false } = {},
): Picture {
  return svg`<text x=${x} y=${y} color=${ink(role)} font-size=${size} text-anchor=${anchor}
    font-weight=${bold ? 700 : 400}>${text}</text>`;
}

export function box(
  x: number,
  y: number,
  width: number,
  height: number,
  {
    fill = 'none' as Role | 'none',
    line = 'edge' as Role | 'edge' | 'none',
    dashed = false,
    thick = 1,
    round = 2,
    faint = 1,
  } = {},
): Picture {
  return svg`<rect x=${x} y=${y} width=${width} height=${height} rx=${round}
    fill=${fill === 'none' ? 'none' : ink(fill)} fill-opacity=${faint}
    stroke=${line === 'none' ? 'none' : line === 'edge' ? 'var(--edge)' : ink(line)}
    stroke-width=${thick} stroke-dasharray=${dashed ? '5 4' : nothing}></rect>`;
}

export interface Look {
  readonly fill?: Role | 'none';
  readonly faint?: number;
  readonly line?: Role | 'edge';
  readonly thick?: number;
  readonly text?: string | number;
  readonly role?: Role;
}

/** A table of cells; `look` says how one is drawn. */
export function cells(
  x: number,
  y: number,
  rows: number,
  columns: number,
  size: number,
  look: (row: number, column: number) => Look = () => ({}),
): Picture {
  const each = Array.from({ length: rows * columns }, (_, at) => {
    const row = Math.floor(at / columns);
    const column = at % columns;
    const { text, role = 'ink', ...how } = look(row, column);
    const [left, top] = [x + column * size, y + row * size];
    return svg`${box(left, top, size, size, { round: 0, ...how })}${
      text === undefined
        ? nothing
        : label(left + size / 2, top + size * 0.5 + Math.min(16, size * 0.56) * 0.35, text, {
            size: Math.min(16, size * 0.56),
            role,
          })
    }`;
  });
  return svg`<g>${each}</g>`;
}

export function line(
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  { role = 'ink' as Role, thick = 1.5, dashed = false, head = false } = {},
): Picture {
  const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  return svg`<line x1=${x1} y1=${y1} x2=${x2} y2=${y2} stroke=${ink(role)} stroke-width=${thick}
      stroke-dasharray=${dashed ? '5 4' : nothing}></line>${
        head
          ? svg`<path d="M0 0L-9 -4.5V4.5Z" fill=${ink(role)} transform=${`translate(${x2} ${y2}) rotate(${turn})`}></path>`
          : nothing
      }`;
}

/** A number that travels: a small coin with its digits. */
export function coin(x: number, y: number, text: string | number, role: Role, size = 24): Picture {
  const light: Partial<Record<Role, Role>> = { teal: 'mist', ochre: 'sand' };
  return svg`${box(x - size / 2, y - size / 2, size, size, { fill: light[role] ?? 'paper', line: role, round: 6, thick: 1.5 })}
    ${label(x, y + 5, text, { size: 14 })}`;
}

/** Somebody who works: a head and shoulders, so that nobody needs the colour. */
export function worker(x: number, y: number, role: Role = 'ink', size = 1): Picture {
  return svg`<g transform=${`translate(${x} ${y}) scale(${size})`} fill=${ink(role)}>
    <circle cx="0" cy="-5" r="4"></circle><path d="M-7 7a7 7 0 0 1 14 0z"></path></g>`;
}
