/** Tiles that an intensity asks for. A T by T tile of outputs is worth T over the bytes of an element, in FLOP/byte. */

/** Side of the smallest square tile whose reads of A and B reach the knee; elements of so many bits. */
export function smallestTile(knee: number, bits: number): number {
  return Math.ceil((knee * bits) / 8);
}

/** Bytes of the 4-byte accumulators of a square tile. */
export function accumulatorBytes(side: number): number {
  return 4 * side * side;
}
