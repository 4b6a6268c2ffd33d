/** Pictures of the first four chapters: a product, one number at a time, a tile, the reads. */

import { nothing, svg } from 'lit';
import { count } from '../../../words/numbers';
import { t } from '../../../words/words';
import { a, b, c, FACTS, SMALL } from '../facts';
import { box, cells, coin, during, from, label, line, worker, type Picture } from './kit';

export function table(now: number): Picture {
  const { rows, deep, columns, row, column } = SMALL;
  const size = 28;
  const [left, top] = [66, 16];
  const [right, below] = [left + deep * size + 18, top + deep * size + 18];
  const chosen = now === 1;
  const parts = FACTS.table.products.split(' + ');
  return svg`
    ${label(left - 16, below + (rows * size) / 2 + 6, 'A', { role: 'teal', bold: true, size: 20 })}
    ${label(right - 16, top + 20, 'B', { role: 'ochre', bold: true, size: 20 })}
    ${label(right + columns * size + 16, below + (rows * size) / 2 + 6, 'C', { role: 'plum', bold: true, size: 20 })}
    ${cells(left, below, rows, deep, size, (i, k) => ({ text: a(i, k), fill: 'mist', faint: chosen && i !== row ? 0.25 : 1 }))}
    ${cells(right, top, deep, columns, size, (k, j) => ({ text: b(k, j), fill: 'sand', faint: chosen && j !== column ? 0.25 : 1 }))}
    ${cells(right, below, rows, columns, size, () => ({}))}
    ${during(1, 1, now, () => [
      box(left, below + row * size, deep * size, size, { line: 'teal', thick: 3 }),
      box(right + column * size, top, size, deep * size, { line: 'ochre', thick: 3 }),
      label(left, top + 30, parts.slice(0, 3).join(' + '), { anchor: 'start', size: 17 }),
      label(left, top + 56, `+ ${parts.slice(3).join(' + ')}`, { anchor: 'start', size: 17 }),
      label(left, top + 90, `= ${FACTS.table.sum}`, { anchor: 'start', size: 21, bold: true, role: 'plum' }),
    ])}
    ${during(1, 1, now, () => cells(right + column * size, below + row * size, 1, 1, size, () => ({ text: FACTS.table.sum, line: 'plum', thick: 3 })), { dy: -120, dx: -120, wait: 350 })}
    ${during(2, 2, now, () => cells(right, below, rows, columns, size, () => ({ text: '?', role: 'plum' })))}
    ${from(3, now, () => [
      cells(right, below, rows, columns, size, (i, j) => ({ text: c(i, j), fill: 'plum', faint: 0.16 })),
      label(left, top + 34, `${count(rows)} × ${count(columns)} = ${count(FACTS.table.cells)}`, {
        anchor: 'start',
        size: 17,
      }),
      label(left, top + 62, `${count(FACTS.table.cells)} × ${count(deep)} = ${count(FACTS.table.work)}`, {
        anchor: 'start',
        size: 20,
        bold: true,
      }),
    ])}`;
}

export function single(now: number): Picture {
  const size = 34;
  const [x, y] = [276, 66];
  const at = (row: number, column: number) => [x + (column + 0.5) * size, y + (row + 0.5) * size] as const;
  const across = [0, 1, 2, 3, 4];
  const shelf = 142;
  return svg`
    ${box(14, 40, shelf + 26, 240, { fill: 'paper', line: 'grid', round: 10, thick: 2 })}
    ${label(28, 270, t('film.draw.memory'), { role: 'quiet', anchor: 'start' })}
    ${cells(28, 92, 1, 5, 28, () => ({ fill: 'mist' }))}
    ${label(28, 139, t('film.draw.row'), { anchor: 'start', role: 'teal', size: 16 })}
    ${cells(126, 148, 4, 1, 28, () => ({ fill: 'sand' }))}
    ${label(118, 166, t('film.draw.column'), { anchor: 'end', role: 'ochre', size: 16 })}
    ${now < 4 ? cells(x, y, 5, 5, size, (i, j) => (now >= 2 && i === 1 ? { fill: 'mist' } : now >= 1 && i === 1 && j === 1 ? { fill: 'plum', faint: 0.16 } : {})) : nothing}
    ${now < 4 ? label(x + 5.5 * size, y + 2.7 * size, 'C', { role: 'plum', bold: true, size: 20 }) : nothing}
    ${during(0, 3, now, () => worker(...at(1, 1)))}
    ${during(1, 1, now, () => [line(170, 106, at(1, 1)[0] - 26, at(1, 1)[1] - 4, { role: 'teal', head: true }), coin(236, 110, 'a', 'teal')], { dx: -190, dy: 18 })}
    ${during(1, 1, now, () => [line(158, 204, at(1, 1)[0] - 20, at(1, 1)[1] + 10, { role: 'ochre', head: true }), coin(232, 166, 'b', 'ochre')], { dx: -120, dy: 60, wait: 300 })}
    ${during(2, 3, now, () => [
      box(28, 92, 28, 28, { line: 'teal', thick: 3 }),
      ...across.filter((j) => j !== 1).map((j) => worker(...at(1, j), 'quiet')),
    ])}
    ${during(2, 3, now, () => across.map((j) => arc(42, 90, at(1, j)[0], at(1, j)[1] - 15)), { dx: -20 })}
    ${during(3, 3, now, () => label(x + 2.5 * size, y + 6.2 * size, `? ${t('film.draw.times')}`, { size: 20, bold: true }))}
    ${from(4, now, () => [
      label(200, 98, t('film.draw.held'), { anchor: 'start', size: 16, role: 'quiet' }),
      box(200, 106, 1.5, 30, { fill: 'teal', line: 'teal' }),
      label(208, 127, count(FACTS.single.numbers), { anchor: 'start', bold: true }),
      label(200, 174, t('film.draw.fetched'), { anchor: 'start', size: 16, role: 'quiet' }),
      label(200, 238, count(FACTS.single.reads), { anchor: 'start', bold: true }),
    ])}
    ${from(4, now, () => box(200, 182, 262, 30, { fill: 'teal', line: 'teal' }), { dx: -80 })}`;
}

/** A way from a number over the top to whoever needs it. */
function arc(x1: number, y1: number, x2: number, y2: number): Picture {
  return svg`<path d=${`M${x1} ${y1}C${x1 + 40} 16 ${x2} 16 ${x2} ${y2 - 4}`} fill="none" stroke="var(--teal)" stroke-width="1.5"></path>
    ${line(x2, y2 - 8, x2, y2, { role: 'teal', head: true })}`;
}

/** Lines that part a square into so many by so many. */
function mesh(x: number, y: number, side: number, parts: number): Picture {
  const at = Array.from({ length: parts - 1 }, (_, i) => ((i + 1) * side) / parts);
  const path = at.map((d) => `M${x + d} ${y}v${side}M${x} ${y + d}h${side}`).join('');
  return svg`<path d=${path} stroke="var(--edge)" stroke-width="0.4"></path>`;
}

export function tile(now: number): Picture {
  const size = 17;
  const [left, right, top, below] = [26, 380, 6, 222];
  const second = now >= 3;
  const step = second ? 1 : 0;
  const inTile = (k: number) => Math.floor(k / 4) === step;
  const used = now === 2;
  const tray = { x: 84, y: 66 };
  const wide = now >= 4;
  return svg`
    ${label(left - 12, below + 40, 'A', { role: 'teal', bold: true, size: 18 })}
    ${label(right - 14, top + 14, 'B', { role: 'ochre', bold: true, size: 18 })}
    ${label(right + 84, below + 40, 'C', { role: 'plum', bold: true, size: 18 })}
    ${cells(left, below, 4, 12, size, (_, k) => ({ fill: 'mist', faint: inTile(k) ? 1 : 0.25 }))}
    ${cells(right, top, 12, 4, size, (k) => ({ fill: 'sand', faint: inTile(k) ? 1 : 0.25 }))}
    ${cells(right, below, 4, 4, size, (i) => (used && i === 1 ? { fill: 'mist', line: 'teal' } : { fill: 'plum', faint: 0.16 }))}
    ${box(left + step * 4 * size, below, 4 * size, 4 * size, { line: 'teal', thick: 3 })}
    ${box(right, top + step * 4 * size, 4 * size, 4 * size, { line: 'ochre', thick: 3 })}
    ${label(right + 34, below + 92, t('film.draw.block'), { size: 16, role: 'plum' })}
    ${box(tray.x - 20, tray.y - 36, 262, 142, { line: 'ink', round: 10, thick: 2, fill: 'paper' })}
    ${label(tray.x + 111, tray.y - 14, wide ? t('film.draw.wide', { n: FACTS.tile.side }) : t('film.draw.tray'), { size: 16 })}
    ${during(1, 3, now, () => cells(tray.x, tray.y, 4, 4, 22, (i, k) => (used && i === 1 && k === 2 ? { fill: 'teal', line: 'ink' } : { fill: 'mist' })), { dx: left + step * 68 - tray.x, dy: below - tray.y })}
    ${during(1, 3, now, () => cells(tray.x + 134, tray.y, 4, 4, 22, (k) => (used && k === 2 ? { fill: 'ochre', faint: 0.7 } : { fill: 'sand' })), { dx: right - tray.x - 134, dy: top - tray.y, wait: 250 })}
    ${during(2, 2, now, () => [0, 1, 2, 3].map((j) => svg`${line(tray.x + 66, tray.y + 33, tray.x + 134 + 22 * j + 11, tray.y + 55, { role: 'teal', thick: 1.2, head: true })}`))}
    ${during(3, 3, now, () => [line(left + 34, below - 10, left + 102, below - 10, { role: 'teal', head: true, thick: 2 }), line(right - 10, top + 34, right - 10, top + 102, { role: 'ochre', head: true, thick: 2 })])}
    ${
      wide
        ? svg`${box(tray.x, tray.y, 88, 88, { fill: 'mist' })}${mesh(tray.x, tray.y, 88, FACTS.tile.side)}
          ${box(tray.x + 134, tray.y, 88, 88, { fill: 'sand' })}${mesh(tray.x + 134, tray.y, 88, FACTS.tile.side)}`
        : nothing
    }
    ${during(4, 4, now, () => label(tray.x + 111, tray.y + 132, `${count(FACTS.tile.numbers)} → ?`, { size: 20, bold: true }))}
    ${from(5, now, () => label(tray.x + 111, tray.y + 132, `${count(FACTS.tile.numbers)} → ${count(FACTS.tile.work)}`, { size: 20, bold: true }))}`;
}

export function readsPicture(now: number): Picture {
  const { naive, t8, t16, t32, floor } = FACTS.reads;
  const width = (value: number) => (440 * value) / naive;
  const bar = (step: number, row: number, name: string, value: number) =>
    from(
      step,
      now,
      () => [
        label(20, 34 + 58 * row, name, { anchor: 'start', size: 16, role: 'quiet' }),
        box(20, 41 + 58 * row, Math.max(1.5, width(value)), 24, { fill: 'teal', line: 'teal' }),
        label(value > naive / 2 ? 450 : 28 + width(value), 58 + 58 * row, count(value), {
          anchor: value > naive / 2 ? 'end' : 'start',
          bold: true,
          role: value > naive / 2 ? 'paper' : 'ink',
        }),
      ],
      { dx: -120 },
    );
  return svg`
    ${bar(0, 0, t('film.draw.one'), naive)}
    ${bar(1, 1, t('film.draw.side', { n: 8 }), t8)}
    ${during(2, 2, now, () => [
      label(20, 34 + 116, t('film.draw.side', { n: 16 }), { anchor: 'start', size: 16, role: 'quiet' }),
      box(20, 41 + 116, 120, 24, { dashed: true, line: 'ink' }),
      label(80, 58 + 117, '?', { bold: true, size: 18 }),
    ])}
    ${bar(3, 2, t('film.draw.side', { n: 16 }), t16)}
    ${bar(4, 3, t('film.draw.side', { n: 32 }), t32)}
    ${bar(4, 4, t('film.draw.each'), floor)}`;
}
