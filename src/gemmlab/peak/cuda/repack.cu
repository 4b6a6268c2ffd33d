// Operands whose rows are off the copy engine's road (16 bytes), copied to rows that are on it, zeros behind each. Both
// operands in one launch. Each thread loads 16 aligned bytes, takes the next 16 from its neighbour, and shifts its target's
// out of the 32.
#include "shift.cuh"

typedef unsigned int u32;
typedef unsigned long long u64;

struct Copy {
  const unsigned char* source;
  unsigned char* target;
  long long rows, row_bytes, source_step, target_step;  // steps between rows in bytes; the target's a multiple of 16
};

constexpr int WARPS = 8, DEEP = 2;  // strips of 512 bytes that a warp has in flight

__device__ __forceinline__ u32 kept(u32 word, long long bytes) {
  return bytes >= 4 ? word : bytes <= 0 ? 0 : word & ((1u << (8 * bytes)) - 1);
}

// 16 aligned bytes of a row of `there` bytes, zeros past it. Of the last row nothing behind its end is read: it is nobody's.
__device__ __forceinline__ uint4 chunk_of(const uint4* row, long long chunk, long long there, bool last) {
  const long long left = there - 16 * chunk;
  if (left <= 0) return make_uint4(0, 0, 0, 0);
  if (!last || left >= 16) return __ldcs(row + chunk);
  u64 low = 0, high = 0;
#pragma unroll 1
  for (int at = (int)left - 1; at >= 0; at--) {
    high = high << 8 | low >> 56;
    low = low << 8 | ((const unsigned char*)(row + chunk))[at];
  }
  return make_uint4((u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32));
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    repack(const __grid_constant__ Copy first, const __grid_constant__ Copy second) {
  const int lane = threadIdx.x % 32;
  for (long long line = blockIdx.x * (long long)WARPS + threadIdx.x / 32; line < first.rows + second.rows;
       line += (long long)gridDim.x * WARPS) {
    const bool left = line < first.rows;
    const Copy& copy = left ? first : second;
    const long long row = left ? line : line - first.rows;
    const unsigned char* from = copy.source + row * copy.source_step;
    const int past = (int)((u64)from & 15);
    const uint4* aligned = (const uint4*)(from - past);
    uint4* to = (uint4*)(copy.target + row * copy.target_step);
    const long long there = copy.row_bytes + past, wanted = copy.target_step / 16;  // bytes from `aligned` on; chunks
    const bool last = row == copy.rows - 1;
    for (long long strip = 0; strip < wanted; strip += 32 * DEEP) {
      uint4 own[DEEP], extra = make_uint4(0, 0, 0, 0);
#pragma unroll
      for (int deep = 0; deep < DEEP; deep++) {
        const long long chunk = strip + 32 * deep + lane;
        own[deep] = chunk_of(aligned, chunk, there, last);
      }
      if (lane == 31) extra = chunk_of(aligned, strip + 32 * DEEP, there, last);
#pragma unroll
      for (int deep = 0; deep < DEEP; deep++) {
        const uint4 ahead = deep + 1 < DEEP ? own[deep + 1 < DEEP ? deep + 1 : 0] : extra;
        // the neighbour's; lane 31's is lane 0's of the strip behind, or what lane 31 fetched itself
        const uint4 mine = own[deep];
        uint4 next;
        next.x = __shfl_sync(~0u, lane == 0 && deep + 1 < DEEP ? ahead.x : mine.x, (lane + 1) % 32);
        next.y = __shfl_sync(~0u, lane == 0 && deep + 1 < DEEP ? ahead.y : mine.y, (lane + 1) % 32);
        next.z = __shfl_sync(~0u, lane == 0 && deep + 1 < DEEP ? ahead.z : mine.z, (lane + 1) % 32);
        next.w = __shfl_sync(~0u, lane == 0 && deep + 1 < DEEP ? ahead.w : mine.w, (lane + 1) % 32);
        if (deep + 1 == DEEP && lane == 31) next = extra;
        const long long chunk = strip + 32 * deep + lane, left_bytes = copy.row_bytes - 16 * chunk;
        uint4 out = shifted(mine, next, past);
        if (left_bytes < 16)
          out = make_uint4(kept(out.x, left_bytes), kept(out.y, left_bytes - 4), kept(out.z, left_bytes - 8),
                           kept(out.w, left_bytes - 12));
        if (chunk < wanted) to[chunk] = out;
      }
    }
  }
}
