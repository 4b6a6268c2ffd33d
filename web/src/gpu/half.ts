/** float16 as bits, for browsers without Float16Array. */

const scratch = new Float32Array(1);
const bitsOf = new Uint32Array(scratch.buffer);

/** The bits of the nearest float16, ties to even; past 65504 and a half step infinity. */
export function toHalf(value: number): number {
  scratch[0] = value;
  // a number that float32 rounds first could be rounded twice: operands are float32 already
  const bits = bitsOf[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00;
  if (size >= 0x47800000) return sign | 0x7c00;
  if (size < 0x33000000) return sign;
  const subnormal = size < 0x38800000;
  const shift = subnormal ? 126 - (size >>> 23) : 13;
  const kept = subnormal ? (size & 0x7fffff) | 0x800000 : size - 0x38000000;
  const down = kept >>> shift;
  const rest = kept & ((1 << shift) - 1);
  const middle = 1 << (shift - 1);
  return sign | (down + Number(rest > middle || (rest === middle && down % 2 === 1)));
}

/** The value of float16 bits. */
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}
