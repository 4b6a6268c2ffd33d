// Operands whose rows are off the copy engine's road (16 bytes), copied to rows that are on it, zeros behind each. Both
// operands in one launch. A warp has a piece of a row: each thread loads 16 aligned bytes and the 16 behind them, which its
// neighbour has just asked for too, and shifts its target's out of the 32. Pieces are short, so that long rows make as many
// warps as short ones, and no warp's end is long. BATCHED: rows are several matrices', those of the target one behind another.
#include "shift.cuh"

typedef unsigned int u32;
typedef unsigned long long u64;

struct Copy {
  const unsigned char* source;
  unsigned char* target;
  long long rows, row_bytes, source_step, target_step;  // steps between rows in bytes; the target's a multiple of 128
  long long each, matrix_step;  // of BATCHED: rows of one matrix, and bytes between two in the source
};

__device__ __forceinline__ const unsigned char* row_of(const Copy& copy, u32 row) {
#if BATCHED
  const u32 each = (u32)copy.each;
  return copy.source + row / each * copy.matrix_step + row % each * copy.source_step;
#else
  return copy.source + row * copy.source_step;
#endif
}

constexpr int WARPS = 8, DEEP = 4;  // strips of 512 bytes in a piece: all are on their way before the first is stored
constexpr u32 PIECE = 32 * DEEP;    // chunks of 16 bytes, at most

// Pieces of a row, as even as whole cache lines are.
__device__ __forceinline__ u32 pieces_of(const Copy& copy) { return (u32)(copy.target_step / 16 + PIECE - 1) / PIECE; }

__device__ __forceinline__ u32 kept(u32 word, int bytes) {
  return bytes >= 4 ? word : bytes <= 0 ? 0 : word & ((1u << (8 * bytes)) - 1);
}

// The first bytes of a chunk, fewer than 16, of which no more are anybody's.
__device__ __forceinline__ uint4 begun(const unsigned char* chunk, int bytes) {
  u32 words[4] = {};
#pragma unroll
  for (int at = 0; at < 15; at++)
    if (at < bytes) words[at / 4] |= (u32)chunk[at] << (8 * (at % 4));
  return make_uint4(words[0], words[1], words[2], words[3]);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 4)
    repack(const __grid_constant__ Copy first, const __grid_constant__ Copy second) {
  // before anything is read: operands may be results of the kernel in front, which the host need not wait for to launch this one
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const u32 lane = threadIdx.x % 32, warp = blockIdx.x * WARPS + threadIdx.x / 32;
  const u32 before = (u32)first.rows * pieces_of(first);
  const bool left = warp < before;
  const Copy& copy = left ? first : second;
  if (copy.rows == 0) return;
  const u32 number = left ? warp : warp - before, pieces = pieces_of(copy), row = number / pieces, piece = number % pieces;
  if (row >= copy.rows) return;
  const u32 wanted = (u32)(copy.target_step / 16), share = ((wanted + pieces - 1) / pieces + 7) / 8 * 8;
  const u32 begin = piece * share, end = min(wanted, begin + share);
  const unsigned char* from = row_of(copy, row);
  const int past = (int)((u64)from & 15);
  const uint4* aligned = (const uint4*)(from - past);
  uint4* to = (uint4*)(copy.target + row * copy.target_step);
  const long long there = copy.row_bytes + past;  // from `aligned` on
  const int cut = row == copy.rows - 1 ? (int)(there % 16) : 0;  // bytes behind which nothing is read: it is nobody's
  const u32 whole = (u32)(cut ? there / 16 : (there + 15) / 16);  // chunks that are read
  uint4 own[DEEP], next[DEEP];
#pragma unroll
  for (int deep = 0; deep < DEEP; deep++) {
    const u32 chunk = begin + 32 * deep + lane;
    own[deep] = next[deep] = make_uint4(0, 0, 0, 0);
    if (chunk < end && chunk < whole) own[deep] = aligned[chunk];
    if (chunk < end && chunk + 1 < whole) next[deep] = aligned[chunk + 1];
  }
  if (cut && begin <= whole && whole <= end) {
    const uint4 rest = begun((const unsigned char*)(aligned + whole), cut);
#pragma unroll
    for (int deep = 0; deep < DEEP; deep++) {
      const u32 chunk = begin + 32 * deep + lane;
      if (chunk == whole) own[deep] = rest;
      if (chunk + 1 == whole) next[deep] = rest;
    }
  }
#pragma unroll
  for (int deep = 0; deep < DEEP; deep++) {
    const u32 chunk = begin + 32 * deep + lane;
    const long long left_bytes = copy.row_bytes - 16ll * chunk;
    uint4 out = shifted(own[deep], next[deep], past);
    if (left_bytes < 16) {
      const int few = left_bytes < 0 ? 0 : (int)left_bytes;
      out = make_uint4(kept(out.x, few), kept(out.y, few - 4), kept(out.z, few - 8), kept(out.w, few - 12));
    }
    if (chunk < end) to[chunk] = out;
  }
}
