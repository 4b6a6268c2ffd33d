/** Pictures of the middle chapters: waiting for the tile, the roof, the shared cache and the order of launch. */

import { nothing, svg } from 'lit';
import { tileOf } from '../../../count/film';
import { count, digits, si } from '../../../words/numbers';
import { t } from '../../../words/words';
import { FACTS, LATE } from '../facts';
import { box, cells, during, from, label, line, worker, type Part, type Picture } from './kit';

/** When each of four workers has carried its numbers, and when it has multiplied; in units of the picture's time. */
const CARRIED = [3.2, 1.4, 2, 1.7];
const TAKES = [2.6, 1.5, 1.2, 1.8];
const FIRST = Math.max(...CARRIED);
const SECOND = FIRST + Math.max(...TAKES);

export function wait(now: number): Picture {
  const [left, unit, high] = [52, 48, 44];
  const x = (time: number) => left + time * unit;
  const row = (i: number) => 46 + i * high;
  const span = (i: number, start: number, end: number, role: 'teal' | 'plum' | 'brick' | 'none') =>
    box(x(start), row(i), (end - start) * unit, 26, {
      fill: role,
      line: role === 'none' ? 'quiet' : role,
      dashed: role === 'none',
      faint: role === 'brick' ? 0.9 : 0.75,
    });
  const each = (part: (i: number) => Part): Part => svg`${[0, 1, 2, 3].map(part)}`;
  const gate = (time: number, off = false) =>
    line(x(time), 36, x(time), row(3) + 34, { thick: off ? 2 : 4, role: off ? 'brick' : 'ink', dashed: off });
  const broken = now >= 3;
  return now >= 4
    ? lateTiles(now)
    : svg`
    ${each((i) => worker(24, row(i) + 12, broken && i === 0 ? 'brick' : 'ink', 1.3))}
    ${each((i) => span(i, 0, CARRIED[i]!, 'teal'))}
    ${legend(now === 3)}
    ${from(1, now, () => each((i) => (CARRIED[i]! < FIRST ? span(i, CARRIED[i]!, FIRST, 'none') : nothing)), { dx: -30 })}
    ${from(1, now, () => gate(FIRST))}
    ${from(2, now, () => each((i) => span(i, FIRST, FIRST + TAKES[i]!, 'plum')), { dx: -60 })}
    ${during(2, 2, now, () => [each((i) => (i > 0 ? span(i, FIRST + TAKES[i]!, SECOND, 'none') : nothing)) as Picture, gate(SECOND)], { wait: 300 })}
    ${during(3, 3, now, () => [each((i) => (i > 0 ? span(i, FIRST + TAKES[i]!, Math.min(FIRST + TAKES[i]! + 1.2, 8.6), 'brick') : nothing)) as Picture, gate(SECOND, true)], { dx: -40, wait: 200 })}
    ${during(3, 3, now, () => label(x(SECOND) - 4, row(0) - 14, t('film.draw.gone'), { role: 'brick', anchor: 'middle', size: 16 }))}`;
}

function legend(late: boolean): Picture {
  const entry = (x: number, role: 'teal' | 'plum' | 'brick', text: string, y = 246) =>
    svg`${box(x, y, 18, 14, { fill: role, faint: 0.75, line: role })}${label(x + 24, y + 12, text, { anchor: 'start', size: 16 })}`;
  return svg`${entry(52, 'teal', t('film.draw.carries'))} ${entry(160, 'plum', t('film.draw.multiplies'))}
    ${box(290, 246, 18, 14, { dashed: true, line: 'quiet' })} ${label(314, 258, t('film.draw.waits'), { anchor: 'start', size: 16 })}
    ${late ? entry(52, 'brick', t('film.draw.next'), 274) : nothing}`;
}

/** What the late worker finds in the two tiles. */
function lateTiles(now: number): Picture {
  const size = 40;
  const tileAt = (y: number, name: string, row: readonly number[], column: readonly number[], late: boolean) => {
    const mark = (i: number) =>
      late && i > 0 ? ({ fill: 'brick', faint: 0.2, line: 'brick', thick: 3 } as const) : {};
    return svg`${label(20, y + 30, name, { anchor: 'start', size: 16, role: 'quiet' })}
      ${cells(130, y + 4, 1, 2, size, (_, i) => ({ text: row[i]!, fill: 'mist', ...mark(i) }))}
      ${label(224, y + 30, '·', { size: 24 })}
      ${cells(240, y - 16, 2, 1, size, (i) => ({ text: column[i]!, fill: 'sand', ...mark(i) }))}`;
  };
  const { a, b, side } = LATE;
  const { mixed, mixedSum, second, secondSum, late, right } = FACTS.wait;
  const put = (y: number, text: string) => label(298, y, text, { anchor: 'start', size: 17 });
  return svg`
    ${worker(34, 34, 'brick', 1.6)} ${label(56, 38, t('film.draw.slow'), { anchor: 'start', role: 'brick' })}
    ${tileAt(86, t('film.draw.first'), [a[0]!, a[side + 1]!], [b[0]!, b[side + 1]!], true)}
    ${tileAt(196, t('film.draw.second'), a.slice(side), b.slice(side), false)}
    ${label(130, 164, t('film.draw.new'), { anchor: 'start', role: 'brick', size: 16 })}
    ${now === 4 ? label(330, 170, '?', { size: 40, bold: true }) : nothing}
    ${from(5, now, () => [put(114, `${mixed} = ${mixedSum}`), put(224, `${second} = ${secondSum}`)])}
    ${from(
      5,
      now,
      () => [
        label(20, 296, `${mixedSum} + ${secondSum} = ${late}`, {
          anchor: 'start',
          size: 20,
          bold: true,
          role: 'brick',
        }),
        label(250, 296, t('film.draw.should', { n: right }), { anchor: 'start', size: 17, role: 'teal' }),
      ],
      { wait: 400 },
    )}`;
}

export function roof(now: number): Picture {
  const f = FACTS.roof;
  const [low, high, slow, fast] = [0.125, 128, 1.2e11, 4e13];
  const x = (intensity: number) => 70 + (390 * Math.log(intensity / low)) / Math.log(high / low);
  const y = (speed: number) => 262 - (226 * Math.log(speed / slow)) / Math.log(fast / slow);
  const dot = (intensity: number, speed: number, text: string, side: 'start' | 'end' = 'start') => svg`
    <circle cx=${x(intensity)} cy=${y(speed)} r="6.5" fill="var(--plum)" stroke="var(--paper)" stroke-width="2"></circle>
    ${label(x(intensity) + (side === 'start' ? 11 : -11), y(speed) + (side === 'start' ? 16 : -6), text, { anchor: side, size: 16 })}`;
  const ticks = [0.25, 1, 4, 16, 64];
  return svg`
    ${ticks.map((at) => svg`${line(x(at), 36, x(at), 262, { role: 'grid', thick: 1 })}${label(x(at), 281, digits(at), { size: 16, role: 'quiet' })}`)}
    ${[1e12, 1e13].map((at) => svg`${line(70, y(at), 460, y(at), { role: 'grid', thick: 1 })}${label(64, y(at) + 5, count(at / 1e12), { size: 16, role: 'quiet', anchor: 'end' })}`)}
    ${label(265, 304, t('film.draw.intensity'), { size: 16, role: 'quiet' })}
    ${label(12, 24, 'TFLOP/s', { size: 16, role: 'quiet', anchor: 'start' })}
    ${line(now >= 1 ? x(f.knee) : x(low), y(f.peak), 460, y(f.peak), { role: 'teal', thick: 4 })}
    ${label(456, y(f.peak) - 10, si(f.peak, 'FLOP/s'), { anchor: 'end', size: 16, role: 'teal' })}
    ${from(1, now, () => [
      line(x(low), y(low * f.bandwidth), x(f.knee), y(f.peak), { role: 'ochre', thick: 4 }),
      label(x(0.9) - 14, y(0.9 * f.bandwidth) - 12, si(f.bandwidth, 'B/s', 4), {
        anchor: 'end',
        size: 16,
        role: 'ochre',
      }),
      line(x(f.knee), y(f.peak), x(f.knee), 262, { dashed: true, role: 'quiet' }),
      label(x(f.knee) + 7, 250, t('film.draw.knee', { n: digits(f.knee) }), { anchor: 'start', size: 16 }),
    ])}
    ${from(2, now, () => [dot(f.naive, f.speed0, t('film.draw.one')), dot(f.t16, f.speed16, 'T = 16', 'end')], { dy: -60 })}
    ${during(3, 3, now, () => label(x(1.4), 60, 'T = 32: ?', { size: 20, bold: true }))}
    ${from(4, now, () => [dot(f.t32, f.speed32, 'T = 32', 'end')], { dy: -60 })}
    ${from(4, now, () => [dot(f.smallestAt, f.peak, `T = ${f.smallest}`)], { wait: 500 })}`;
}

export function cache(now: number): Picture {
  if (now >= 4) return bigOrders();
  const { down, across, programs, high, wide } = FACTS.cache;
  const size = 27;
  const [left, top] = [126, 128];
  const inRow = now === 1;
  const inBlock = now >= 2;
  const chosen = (i: number, j: number) => (inRow ? i === 0 : inBlock ? i < high && j < wide : i === 2 && j === 5);
  const rowsUsed = (i: number) => (inRow ? i === 0 : now === 0 ? i === 2 : now >= 3 && i < high);
  const columnsUsed = (j: number) => inRow || (now === 0 ? j === 5 : now >= 3 && j < wide);
  return svg`
    ${Array.from({ length: down }, (_, i) => box(left - 98, top + i * size + 2, 86, size - 4, { fill: 'teal', faint: rowsUsed(i) ? 0.85 : 0.12, line: 'teal' }))}
    ${Array.from({ length: across }, (_, j) => box(left + j * size + 2, top - 98, size - 4, 86, { fill: 'ochre', faint: columnsUsed(j) ? 0.85 : 0.12, line: 'ochre' }))}
    ${cells(left, top, down, across, size, (i, j) => (chosen(i, j) ? { fill: 'plum', faint: 0.8 } : {}))}
    ${label(left - 55, top - 16, t('film.draw.stripsA'), { role: 'teal', size: 16 })}
    ${label(left - 10, top - 52, t('film.draw.stripsB'), { role: 'ochre', size: 16, anchor: 'end' })}
    ${during(1, 1, now, () => label(left + 162, 313, `1 + ${across} = ${FACTS.cache.inRow}`, { size: 20, bold: true }))}
    ${during(2, 2, now, () => label(left + 162, 313, t('film.draw.strips', { n: '?' }), { size: 20, bold: true }))}
    ${from(3, now, () => label(left + 162, 313, `${high} + ${wide} = ${FACTS.cache.inBlock}`, { size: 20, bold: true }))}
    ${during(1, 3, now, () => label(left - 55, 313, t('film.draw.atOnce', { n: programs }), { size: 16, role: 'plum' }))}`;
}

/** The first wave of a large product: row by row, and down groups of rows. */
function bigOrders(): Picture {
  const { tiles, slots, group, rowBig, groupBig } = FACTS.cache;
  const size = 3.3;
  const wide = tiles * size;
  const order = (x: number, each: number, strips: number, name: string) => svg`
    ${label(x + wide / 2, 36, name, { size: 16 })}
    ${box(x, 50, wide, wide, { line: 'edge' })}
    ${Array.from({ length: slots }, (_, i) => {
      const [row, column] = tileOf(i, tiles, tiles, each);
      return box(x + column * size, 50 + row * size, size, size, { fill: 'plum', line: 'none', round: 0 });
    })}
    ${label(x + wide / 2, 50 + wide + 30, t('film.draw.strips', { n: count(strips) }), { size: 19, bold: true })}`;
  return svg`${order(18, 1, rowBig, t('film.draw.byRow'))} ${order(252, group, groupBig, t('film.draw.byGroup', { n: group }))}`;
}
