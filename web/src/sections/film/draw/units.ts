/** Pictures of the last chapters: tensor cores and their accumulator, the systolic array, what no count holds. */

import { nothing, svg } from 'lit';
import { count, percent, si } from '../../../words/numbers';
import { t } from '../../../words/words';
import { FACTS } from '../facts';
import { box, cells, coin, during, from, label, line, type Picture } from './kit';

export function tensor(now: number): Picture {
  const f = FACTS.tensor;
  if (now >= 2) return accumulator(now);
  if (now === 1) {
    const width = (speed: number) => (430 * speed) / f.peak16;
    return svg`
      ${label(24, 66, t('film.draw.ordinary'), { anchor: 'start' })}
      ${box(24, 76, width(f.peak), 40, { fill: 'ochre', line: 'ochre' })}
      ${label(34 + width(f.peak), 102, si(f.peak, 'FLOP/s'), { anchor: 'start', bold: true })}
      ${label(24, 170, t('film.draw.tensor'), { anchor: 'start' })}
      ${from(1, now, () => box(24, 180, width(f.peak16), 40, { fill: 'teal', line: 'teal' }), { dx: -90 })}
      ${label(444, 206, si(f.peak16, 'FLOP/s'), { anchor: 'end', bold: true, role: 'paper' })}`;
  }
  const size = 10;
  return svg`
    ${label(92, 46, t('film.draw.ordinary'), { size: 16 })}
    ${cells(52, 110, 8, 4, 20, () => ({ fill: 'sand' }))}
    ${label(92, 302, t('film.draw.macs', { n: f.warp }), { bold: true })}
    ${label(322, 46, t('film.draw.tensor'), { size: 16 })}
    ${cells(190, 110, f.im, f.ik, size, () => ({ fill: 'mist' }))}
    ${label(361, 196, '·', { size: 26 })}
    ${cells(374, 110, f.ik, f.in, size, () => ({ fill: 'sand' }))}
    ${label(270, 100, `${f.im} × ${f.ik}`, { size: 16, role: 'teal' })}
    ${label(414, 100, `${f.ik} × ${f.in}`, { size: 16, role: 'ochre' })}
    ${label(322, 302, t('film.draw.macs', { n: f.once }), { bold: true })}`;
}

/** The digits of a sum in float16, and which numbers it can be. */
function accumulator(now: number): Picture {
  const { bits, before, stays, after } = FACTS.tensor;
  const size = 34;
  const left = 240 - (bits * size) / 2;
  const digitsOf = (value: number) => value.toString(2).padStart(bits, '0').slice(0, bits);
  const shownValue = now === 2 ? before : stays;
  const at = (value: number) => 60 + ((value - before + 1) * 360) / (after - before + 1);
  return svg`
    ${label(240, 40, t('film.draw.accumulator', { n: bits }), { size: 16 })}
    ${cells(left, 56, 1, bits, size, (_, i) => ({ text: now === 3 ? '?' : digitsOf(shownValue)[i]!, fill: 'paper', line: 'plum' }))}
    ${now === 3 ? nothing : label(240, 120, `= ${count(shownValue)}`, { size: 20, bold: true, role: 'plum' })}
    ${during(2, 2, now, () => [coin(240, 190, '+1', 'teal', 34), line(240, 170, 240, 134, { role: 'teal', head: true, thick: 2 })], { dy: 50 })}
    ${during(3, 3, now, () => [coin(240, 170, '+1', 'teal', 34), coin(190, 170, '+1', 'teal', 34), coin(290, 170, '+1', 'teal', 34), label(240, 240, '+1 +1 +1 ...', { size: 20 })], { dy: 50 })}
    ${from(4, now, () => [
      line(50, 230, 440, 230, { role: 'quiet', thick: 2 }),
      svg`${[before - 1, before, stays, after].map((value) => svg`${line(at(value), 221, at(value), 239, { thick: 3 })}${label(at(value), 262, count(value), { size: 16 })}`)}`,
      label(at(stays + 1), 262, count(stays + 1), { size: 16, role: 'brick' }),
      label(at(stays + 1), 237, '×', { size: 20, role: 'brick', bold: true }),
    ])}
    ${from(4, now, () => [svg`<path d=${`M${at(stays + 1)} 216C${at(stays + 1) - 8} 168 ${at(stays) + 10} 168 ${at(stays) + 2} 206`} fill="none" stroke="var(--brick)" stroke-width="2.5"></path>`, label(at(stays + 0.5), 164, '+1', { role: 'brick', bold: true })], { wait: 400 })}`;
}

export function array(now: number): Picture {
  const { rows, columns, m, skew, cycles, used } = FACTS.array;
  const size = 42;
  const [x, y] = [268, 44];
  // cycles since the first number of A came to the edge, as each step shows it
  const t0 = now === 2 ? 5 : now === 3 ? m + rows - 1 : 0;
  const words = Array.from({ length: rows * m }, (_, at) => ({ row: Math.floor(at / m), i: at % m }));
  const place = (row: number, i: number) => t0 - 1 - i - row;
  if (now >= 4) return timeline(cycles, rows, m, skew, used);
  return svg`
    ${cells(x, y, rows, columns, size, () => ({ fill: 'sand' }))}
    ${Array.from({ length: rows * columns }, (_, at) => {
      const [k, j] = [Math.floor(at / columns), at % columns];
      return label(x + j * size + 5, y + k * size + size - 4, `b${k + 1}${j + 1}`, { size: 14, anchor: 'start' });
    })}
    ${label(x + (columns * size) / 2, y - 14, t('film.draw.weights'), { role: 'ochre', size: 16 })}
    ${
      now === 0
        ? nothing
        : svg`${words.map(({ row, i }) => {
            const column = place(row, i);
            if (column >= columns) return nothing;
            const at = [
              x + (column < 0 ? column * 26 + 8 : column * size + size - 10),
              y + row * size + (column < 0 ? size / 2 : 12),
            ] as const;
            return from(now, now, () => coin(at[0], at[1], i + 1, 'teal', 20), {
              dx: now === 2 ? -5 * 26 : now === 3 ? -4 * size : -60,
            });
          })}
          ${now === 3 ? nothing : label(124, 250, t('film.draw.rowsOfA', { n: m }), { role: 'teal' })}`
    }
    ${during(2, 3, now, () => [0, 1, 2, 3].map((j) => svg`${line(x + j * size + size / 2, y + rows * size + 4, x + j * size + size / 2, y + rows * size + 26, { role: 'plum', head: true, thick: 2 })}`))}
    ${during(2, 3, now, () => label(x + (columns * size) / 2, y + rows * size + 48, t('film.draw.sums'), { role: 'plum', size: 16 }), { dy: -16 })}
    ${during(2, 2, now, () => coin(x + size / 2, y + rows * size + 66, 1, 'plum', 20), { dy: -40, wait: 400 })}
    ${during(3, 3, now, () => label(124, 300, t('film.draw.cycles', { n: '?' }), { size: 20, bold: true }))}`;
}

function timeline(cycles: number, load: number, m: number, skew: number, used: number): Picture {
  const unit = 440 / cycles;
  const part = (start: number, length: number, role: 'ochre' | 'teal' | 'plum', name: string, row: number) => svg`
    ${box(20 + start * unit, 70, length * unit, 60, { fill: role, line: 'paper', faint: 0.85 })}
    ${label(20 + (start + length / 2) * unit, 108, length, { role: 'paper', size: 20, bold: true })}
    ${box(20, 160 + row * 34, 18, 18, { fill: role, line: role, faint: 0.85 })}
    ${label(48, 175 + row * 34, name, { anchor: 'start' })}`;
  return svg`
    ${label(240, 48, `${load} + ${m} + ${skew} = ${t('film.draw.cycles', { n: count(cycles) })}`, { size: 20, bold: true })}
    ${part(0, load, 'ochre', t('film.draw.loading'), 0)}
    ${part(load, m, 'teal', t('film.draw.entering'), 1)}
    ${part(load + m, skew, 'plum', t('film.draw.crossing'), 2)}
    ${label(20, 294, t('film.draw.used', { share: percent(used, 3) }), { anchor: 'start', size: 17 })}`;
}

export function rest(now: number): Picture {
  const { sms, tiles, over } = FACTS.rest;
  if (now === 0 || now >= 4) return leftOut(now);
  const [columns, size] = [12, 16];
  const grid = (x: number, filled: number, name: string) => svg`
    ${label(x + (columns * size) / 2, 50, name, { size: 16 })}
    ${cells(x, 64, sms / columns, columns, size, (i, j) => (i * columns + j < filled ? { fill: 'plum', faint: 0.75 } : {}))}`;
  return svg`
    ${grid(26, now === 1 || now >= 2 ? sms : 0, now === 1 ? t('film.draw.sms', { n: sms }) : t('film.draw.round', { n: 1 }))}
    ${during(
      1,
      2,
      now,
      () => [
        label(344, 50, t('film.draw.over', { n: over }), { size: 16 }),
        cells(336 - 8, 64, 1, over, size, () => ({ fill: 'brick', faint: 0.75 })),
      ],
      { dx: -60 },
    )}
    ${during(2, 2, now, () => label(344, 150, t('film.draw.rounds', { n: '?' }), { size: 20, bold: true }))}
    ${from(3, now, () => grid(260, over, t('film.draw.round', { n: 2 })), { dx: -60 })}
    ${label(240, 250, t('film.draw.tilesAndSms', { tiles, sms }), { size: 17 })}
    ${from(3, now, () => label(240, 284, t('film.draw.used', { share: percent(FACTS.rest.used, 2) }), { size: 19, bold: true }))}`;
}

/** Time as a wall of which the count is one course; no scale. */
function leftOut(now: number): Picture {
  const others = ['rounds', 'roads', 'latency', 'clock', 'launch'] as const;
  return svg`
    ${others.map((name, i) => svg`${box(60, 26 + i * 38, 360, 34, { line: 'quiet', dashed: true, round: 6 })}${label(240, 49 + i * 38, t(`film.draw.left.${name}`), { size: 16 })}`)}
    ${box(60, 26 + others.length * 38, 360, 52, { fill: 'teal', line: 'teal', round: 6 })}
    ${label(240, 58 + others.length * 38, t('film.draw.left.counted'), { size: 18, bold: true, role: 'paper' })}
    ${now >= 4 ? from(4, now, () => [line(36, 278, 36, 30, { head: true, thick: 3, role: 'plum' }), label(240, 308, t('film.draw.left.measure'), { role: 'plum', bold: true, size: 17 })], { dy: 40 }) : label(240, 304, t('film.draw.left.scale'), { role: 'quiet', size: 16 })}`;
}
