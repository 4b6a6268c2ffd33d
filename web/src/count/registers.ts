/** Every register of a systolic array after any cycle, by the element that lies in it: `gemmlab.systolic`'s state. */

import { Tiles, type Given, type Tile } from './array';

export type Element = readonly [number, number];
export type Kind = 'right' | 'held' | 'down' | 'behind' | 'sums';
/** A word that leaves: its PE's row and column, its element of C, and whether it is a result. */
export type Leaving = readonly [number, number, number, number, boolean];

/** The tile that is shifted in at a time, the row of it that has come, and the tile before. */
interface Chained {
  readonly tile: Tile;
  readonly step: number;
  readonly last: Tile | null;
}

export class Registers {
  private readonly tiles: Tiles;
  private readonly known = new Map<number, Tile | null>();
  private readonly chained = new Map<number, Chained | null>();
  private nearby: Tile[] | null = null;

  constructor(
    readonly given: Given,
    readonly cycle: number,
  ) {
    this.tiles = new Tiles(given);
  }

  /** Kinds of registers that the array has, and the operand in each. */
  get kinds(): Partial<Record<Kind, 'a' | 'b' | 'c'>> {
    const { flow, weights, drain } = this.given;
    if (flow === 'os') return { right: 'a', down: 'b', ...(drain === 'shadow' ? { behind: 'c' } : {}), sums: 'c' };
    const [held, right] = flow === 'ws' ? (['b', 'a'] as const) : (['a', 'b'] as const);
    return { right, held, ...(weights === 'double' ? { behind: held } : {}), sums: 'c' };
  }

  /** The element in a register of the PE at row i and column j, or null. */
  at(kind: Kind, i: number, j: number): Element | null {
    const { flow } = this.given;
    if (kind === 'right') return this.right(i, j);
    if (kind === 'down') return this.downward(i, j);
    if (flow === 'os') return kind === 'sums' ? this.standing(i, j) : this.shadow(i, j);
    if (kind === 'sums') return this.moving(i, j);
    const chained = kind === 'behind' || this.given.weights === 'single';
    return chained ? this.chain(i, j) : this.held(i, j);
  }

  /** Whether the PE multiplies two words in this cycle. */
  busy(i: number, j: number): boolean {
    return this.word(i, j) >= 0;
  }

  /** Which of its tile's rows of operands the PE multiplies in this cycle; -1 where none. */
  word(i: number, j: number): number {
    const found = this.passing(this.cycle - i - j);
    return found !== null && i < found[0].rows && j < found[0].cols ? found[1] : -1;
  }

  /** How many PEs do. */
  get working(): number {
    const { rows, cols } = this.given;
    let count = 0;
    // PEs on one diagonal see the same wave
    for (let diagonal = 0; diagonal < rows + cols - 1; diagonal++) {
      const found = this.passing(this.cycle - diagonal);
      if (!found) continue;
      const least = Math.max(0, diagonal - found[0].cols + 1);
      count += Math.max(0, Math.min(diagonal, found[0].rows - 1) - least + 1);
    }
    return count;
  }

  /** Words that leave in this cycle. */
  leaving(): Leaving[] {
    const { rows, cols, flow, drain } = this.given;
    const found: Leaving[] = [];
    for (const tile of this.near()) {
      const end = tile.start + this.tiles.stream;
      for (let j = 0; j < Math.min(cols, tile.cols); j++) {
        if (flow !== 'os') {
          const step = this.cycle - (rows - 1) - j - tile.start;
          if (step < 0 || step >= this.tiles.stream) continue;
          found.push([rows - 1, j, ...this.result(tile.col + j, step), tile.closes]);
          continue;
        }
        const side = drain === 'side';
        const source = side ? this.cycle - j - (end - 1) : rows - 1 - (this.cycle - j - (end + tile.rows - 1));
        if (source < 0 || source >= tile.rows) continue;
        found.push([side ? source : rows - 1, j, tile.row + source, tile.col + j, true]);
      }
    }
    return found;
  }

  /** Tiles of which something may be in the array. */
  private near(): Tile[] {
    if (this.nearby) return this.nearby;
    const { rows, cols } = this.given;
    const last = this.tiles.before(this.cycle);
    const first = Math.max(0, this.tiles.before(this.cycle - this.tiles.stream - 2 * rows - cols));
    return (this.nearby = Array.from({ length: last - first + 1 }, (_, place) => this.tiles.at(first + place)));
  }

  /** The tile whose rows of operands pass with that wave, and which of its rows does. */
  private passing(wave: number): readonly [Tile, number] | null {
    const tile = this.begun(wave);
    return tile !== null && wave - tile.start < this.tiles.stream ? [tile, wave - tile.start] : null;
  }

  /** The last tile that has begun at that time; all PEs of a diagonal ask for the same. */
  private begun(time: number): Tile | null {
    let found = this.known.get(time);
    if (found === undefined) {
      const number = this.tiles.before(time);
      found = number < 0 ? null : this.tiles.at(number);
      this.known.set(time, found);
    }
    return found;
  }

  private right(i: number, j: number): Element | null {
    const found = this.passing(this.cycle - i - j);
    if (!found || i >= found[0].rows) return null;
    const [tile, word] = found;
    return this.given.flow === 'ws' ? [word, tile.row + i] : [tile.row + i, word];
  }

  private downward(i: number, j: number): Element | null {
    const found = this.passing(this.cycle - i - j);
    return found && j < found[0].cols ? [found[1], found[0].col + j] : null;
  }

  private operand(tile: Tile, i: number, j: number): Element | null {
    if (i >= tile.rows || j >= tile.cols) return null;
    return this.given.flow === 'ws' ? [tile.row + i, tile.col + j] : [tile.col + j, tile.row + i];
  }

  /** What was swapped in with the first row of operands that passed. */
  private held(i: number, j: number): Element | null {
    const tile = this.begun(this.cycle - i - j);
    return tile === null ? null : this.operand(tile, i, j);
  }

  /** A chain of registers down a column, through which the next tile is shifted in; the last row comes first. */
  private chain(i: number, j: number): Element | null {
    const { rows, weights } = this.given;
    const found = this.shifting(this.cycle - (weights === 'double' ? j : 0));
    if (found === null) return null;
    if (i <= found.step) return this.operand(found.tile, rows - 1 - found.step + i, j);
    return found.last === null ? null : this.operand(found.last, i, j);
  }

  /** What the chain does at that time; all PEs of a column ask for the same. */
  private shifting(time: number): Chained | null {
    let found = this.chained.get(time);
    if (found === undefined) {
      const number = this.shifted(time);
      const tile = number < 0 ? null : this.tiles.at(number);
      const last = number > 0 ? this.tiles.at(number - 1) : null;
      found = tile && { tile, step: Math.min(time - tile.shiftAt, this.given.rows - 1), last };
      this.chained.set(time, found);
    }
    return found;
  }

  /** The last tile that has begun to be shifted in. */
  private shifted(time: number): number {
    if (time < 0) return -1;
    const { weights, rows } = this.given;
    const number = weights === 'double' ? this.tiles.before(time) + 1 : this.tiles.before(time + rows);
    return Math.min(number, this.tiles.count - 1);
  }

  private result(across: number, along: number): Element {
    return this.given.flow === 'ws' ? [along, across] : [across, along];
  }

  private moving(i: number, j: number): Element | null {
    const found = this.passing(this.cycle - i - j);
    return found && j < found[0].cols ? this.result(found[0].col + j, found[1]) : null;
  }

  private standing(i: number, j: number): Element | null {
    const { drain } = this.given;
    for (const tile of this.near()) {
      const end = tile.start + this.tiles.stream;
      const out = this.cycle - j - (end + tile.rows - 1);
      if (j >= tile.cols) continue;
      if (drain === 'bottom' && out >= 0) {
        const source = i - out - 1;
        if (source >= 0 && source < tile.rows) return [tile.row + source, tile.col + j];
        continue;
      }
      const wave = this.cycle - i - j;
      if (i < tile.rows && wave >= tile.start && (drain === 'bottom' || wave < end - 1)) {
        return [tile.row + i, tile.col + j];
      }
    }
    return null;
  }

  private shadow(i: number, j: number): Element | null {
    for (const tile of this.near()) {
      if (j >= tile.cols) continue;
      const end = tile.start + this.tiles.stream;
      const moved = Math.max(0, this.cycle - j - (end + tile.rows - 1) + 1);
      const source = i - moved;
      if (source >= 0 && source < tile.rows && this.cycle >= end - 1 + source + j) {
        return [tile.row + source, tile.col + j];
      }
    }
    return null;
  }
}
