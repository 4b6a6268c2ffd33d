/** What the table of units says in English, in Italian; names of instructions stay as they are. */

const SAID: Readonly<Record<string, string>> = {
  'wgmma k32, e4m3 and e5m2 mixed': 'wgmma k32, e4m3 ed e5m2 anche misti',
  'tcgen05.mma kind::f8f6f4, k32; any of the five formats with any':
    'tcgen05.mma kind::f8f6f4, k32; ciascuno dei cinque formati con ciascuno',
  'mma.sync m16n8k32 and m16n8k16, e4m3 and e5m2 mixed': 'mma.sync m16n8k32 e m16n8k16, e4m3 ed e5m2 anche misti',
  'mma.sync m8n8k4, on Turing too': 'mma.sync m8n8k4, anche su Turing',
  "fused multiply-adds of an NVIDIA GPU's cores, k ascending, subnormals kept (no --use_fast_math)":
    'moltiplicazioni con somma fuse dei core di una GPU NVIDIA, k crescente, subnormali conservati (senza --use_fast_math)',
  'H100, H200: 5,000 dot products without C; H200: 2.4 million random and adversarial outputs an instruction, of sums up to 2,048 long':
    'H100, H200: 5.000 prodotti scalari senza C; H200: 2,4 milioni di risultati casuali e ostili per istruzione, da somme lunghe fino a 2.048',
  'H100, H200: 5,000 dot products; H200: 2.4 million random and adversarial outputs an instruction, of sums up to 2,048 long':
    'H100, H200: 5.000 prodotti scalari; H200: 2,4 milioni di risultati casuali e ostili per istruzione, da somme lunghe fino a 2.048',
  'H200: 2.4 million random and adversarial outputs an instruction, of sums up to 2,048 long':
    'H200: 2,4 milioni di risultati casuali e ostili per istruzione, da somme lunghe fino a 2.048',
  'RTX 1000 Ada: 2,500 dot products': 'RTX 1000 Ada: 2.500 prodotti scalari',
  'A100: 2,500 dot products': 'A100: 2.500 prodotti scalari',
  'V100: 2,500 dot products': 'V100: 2.500 prodotti scalari',
};

/** The text in Italian; null where nobody has translated it. */
export function italian(text: string): string | null {
  return Object.hasOwn(SAID, text) ? SAID[text]! : null;
}
