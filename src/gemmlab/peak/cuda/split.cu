// Both operands of a float32 multiplication as two float16 each, in one launch, read once and written once where a row fits
// registers. A row that cannot be said so is told of in `refused`, and whoever launched takes another way.
//
// What Python sets: A_TURNED, B_TURNED (operands whose rows in memory run along m, n); THREADS of a block; TEAM (threads of a
// row along k), HELD (chunks of 16 bytes of a thread); DEEP, CLUSTER (of turned.cuh); LOOPED (rows do not fit: read twice).
#include "pieces.cuh"
#if A_TURNED || B_TURNED
#include "turned.cuh"
#endif

// A chunk of a row that ends `behind` elements into the last of its `chunks`: what lies after it may be no one's memory.
DEVICE float4 chunk_of(const float4* aligned, u32 chunk, u32 chunks, u32 behind) {
  if (chunk + 1 < chunks || (behind == 0 && chunk < chunks)) return __ldcg(aligned + chunk);
  float4 found = make_float4(0, 0, 0, 0);
  if (chunk < chunks) {
    const float* at = (const float*)(aligned + chunk);
    found.x = __ldcg(at);
    if (behind > 1) found.y = __ldcg(at + 1);
    if (behind > 2) found.z = __ldcg(at + 2);
  }
  return found;
}

// held[i] is elements 4 c .. 4 c + 3 of a row, c = first + 32 i + lane, zeros past its end. `aligned` is `past` elements
// before the row: what a row off the road lacks is its neighbour's.
DEVICE void fetch_row(float4 (&held)[HELD], const float4* aligned, u32 past, u32 first, u32 lane, u32 k) {
  const u32 chunks = (k + past + 3) / 4, behind = (k + past) % 4;
#pragma unroll
  for (int i = 0; i < HELD; i++) held[i] = chunk_of(aligned, first + 32 * i + lane, chunks, behind);
  if (past) {
    float4 extra = make_float4(0, 0, 0, 0);
    if (lane == 31) extra = chunk_of(aligned, first + 32 * HELD, chunks, behind);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      const float4 own = held[i], ahead = held[i + 1 < HELD ? i + 1 : 0];
      const bool gives_ahead = i + 1 < HELD && lane == 0;
      float4 next;
      next.x = __shfl_sync(~0u, gives_ahead ? ahead.x : own.x, lane + 1);
      next.y = __shfl_sync(~0u, gives_ahead ? ahead.y : own.y, lane + 1);
      next.z = __shfl_sync(~0u, gives_ahead ? ahead.z : own.z, lane + 1);
      if (i + 1 == HELD && lane == 31) next = extra;
      held[i] = past == 1   ? make_float4(own.y, own.z, own.w, next.x)
                : past == 2 ? make_float4(own.z, own.w, next.x, next.y)
                            : make_float4(own.w, next.x, next.y, next.z);
    }
  }
}

DEVICE void along(const Operand& of, int block, u32 k, u32 padded) {
  constexpr int WARPS = TEAM / 32;
  __shared__ u32 most[THREADS / 32], least[THREADS / 32];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const long long row = block * (long long)(THREADS / TEAM) + thread / TEAM;
  if (row >= of.rows) return;
  const float* x = of.x + row * of.ld;
  const u32 past = ((u64)x & 15) / 4, first = warp % WARPS * 32 * HELD;
  const float4* aligned = (const float4*)(x - past);
  float4 held[HELD];
  Extremes found;
  for (u32 start = first; 4 * start < padded; start += TEAM * HELD) {
    fetch_row(held, aligned, past, start, lane, k);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      found.meet(held[i].x), found.meet(held[i].y);
      found.meet(held[i].z), found.meet(held[i].w);
    }
    if (!LOOPED) break;
  }
  found.over_warp();
  if (WARPS > 1) {
    if (lane == 0) most[warp] = found.most, least[warp] = found.least;
    asm volatile("bar.sync %0, %1;" ::"r"(1 + thread / TEAM), "n"(TEAM) : "memory");
#pragma unroll
    for (int other = warp / WARPS * WARPS; other < warp / WARPS * WARPS + WARPS; other++)
      found.meet(Extremes{most[other], least[other]});
  }
  if (thread % TEAM == 0) row_told(of, row, found);
  const float scale = found.scale();
  u16* high = of.pieces + row * 2 * padded;
  for (u32 start = first; 4 * start < padded; start += TEAM * HELD) {
    if (LOOPED) fetch_row(held, aligned, past, start, lane, k);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      const u32 at = 4 * (start + 32 * i + lane);
      uint2 upper, lower;
      split_pair(held[i].x, held[i].y, scale, upper.x, lower.x);
      split_pair(held[i].z, held[i].w, scale, upper.y, lower.y);
      if (at < padded) *(uint2*)(high + at) = upper, *(uint2*)(high + padded + at) = lower;
    }
    if (!LOOPED) break;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, (DEEP <= 32 && HELD <= 8 ? 1024 : 512) / THREADS)
#if CLUSTER > 1
    __cluster_dims__(CLUSTER, 1, 1)
#endif
        split(const __grid_constant__ Operand a, const __grid_constant__ Operand b, int k, int padded) {
  // Every kernel of a chain waits here, before its first read or write, until the one before it has ended, which has waited
  // for the one before it: so none overtakes another, though each is there early.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const bool left = blockIdx.x < a.blocks;
  const Operand& of = left ? a : b;
  const int block = left ? blockIdx.x : blockIdx.x - a.blocks;
#if A_TURNED && B_TURNED
  turned(of, block, k, padded);
#elif A_TURNED || B_TURNED
  if (left == A_TURNED)
    turned(of, block, k, padded);
  else
    along(of, block, k, padded);
#else
  along(of, block, k, padded);
#endif
}
