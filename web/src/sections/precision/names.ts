/** Units that an address may name: those of data/units.json, which a test holds; the table itself is not in the first load. */

export const names = [
  'hopper.wgmma.float8_e4m3fn',
  'blackwell.tcgen05.float8_e4m3fn',
  'ada.mma.float8_e4m3fn',
  'hopper.mma.float16',
  'hopper.wgmma.bfloat16',
  'ampere.mma.float16',
  'turing.mma.float16',
  'volta.mma.float16',
  'cuda.fma.float32',
] as const;
