// An operand whose rows are off the copy engine's road (16 bytes), copied to rows that are on it, zeros behind each.
// ELEMENT: bytes of an element, 1, 2 or 4. A block takes a strip of one row; each thread 16 bytes of the target, shifted
// out of two aligned pieces of the source.
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(256)
    repack(const unsigned char* source, unsigned char* target, long long rows, long long row_bytes, long long source_step,
           long long target_step) {
  // all four in bytes
  const long long chunks = target_step / 16;
  const long long row = blockIdx.y + (long long)gridDim.y * blockIdx.z;
  if (row >= rows) return;
  for (long long chunk = (long long)blockIdx.x * 256 + threadIdx.x; chunk < chunks; chunk += 256ll * gridDim.x) {
    const long long at = 16 * chunk;
    uint4 out = make_uint4(0, 0, 0, 0);
    if (at < row_bytes) {
      const unsigned char* from = source + row * source_step + at;
      const int past = (int)((u64)from & 3);  // bytes past a word: 0 or 2, of bytes any
      const u32* word = (const u32*)(from - past);
      const long long there = row_bytes - at;  // bytes of the row from here on
      u32 words[5];
#pragma unroll
      for (int i = 0; i < 5; i++) words[i] = 4 * i < there + past ? __ldg(word + i) : 0;
      u32 shifted[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        shifted[i] = __funnelshift_r(words[i], words[i + 1], 8 * past);
        const long long left = there - 4 * i;
        if (left < 4) shifted[i] = left <= 0 ? 0 : shifted[i] & ((1u << (8 * left)) - 1);
      }
      out = make_uint4(shifted[0], shifted[1], shifted[2], shifted[3]);
    }
    *(uint4*)(target + row * target_step + at) = out;
  }
}
