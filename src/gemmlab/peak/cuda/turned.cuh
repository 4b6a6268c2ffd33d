// An operand whose rows in memory run along its side, m or n: the programs of a cluster take 32 of its rows and share k, a
// warp DEEP neighbours of k, a lane one row of them. So reads are whole lines; through shared memory writes are too.
#pragma once
#include "pieces.cuh"

constexpr int CHUNKS = DEEP / 8;               // of 16 bytes, in a row's pieces of a warp
constexpr int PITCH = (CHUNKS | 1) * 16;       // bytes between rows in shared memory: no two of 8 rows share banks
constexpr int TILE_BYTES = 32 * PITCH;         // of a warp's high or low parts

#if CLUSTER > 1
DEVICE u32 of_peer(const u32* at, u32 peer) {
  u32 found;
  asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %1, %2;\nld.shared::cluster.u32 %0, [there];\n}"
               : "=r"(found)
               : "r"((u32)__cvta_generic_to_shared(at)), "r"(peer)
               : "memory");
  return found;
}
DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
#endif

DEVICE uint4* chunk_at(u8* tile, int row, int chunk) { return (uint4*)(tile + row * PITCH + 16 * chunk); }

DEVICE void fetch_turned(float (&x)[DEEP], const float* from, long long ld, int k, bool there) {
#pragma unroll
  for (int at = 0; at < DEEP; at++, from += ld) x[at] = there && at < k ? __ldcg(from) : 0.0f;
}

// A warp's chunks of one piece from shared memory: lanes side by side have chunks of one row.
DEVICE void put_turned(u8* tile, u16* to, long long step, int rows, int columns, int lane) {
  __syncwarp();
#pragma unroll
  for (int pass = 0; pass < CHUNKS; pass++) {
    const int at = 32 * pass + lane, row = at / CHUNKS, chunk = at % CHUNKS;
    const uint4 found = *chunk_at(tile, row, chunk);
    if (row < rows && 8 * chunk < columns) *(uint4*)(to + row * step + 8 * chunk) = found;
  }
  __syncwarp();
}

DEVICE void turned(const Operand& of, int block, int k, int padded) {
  constexpr int WARPS = THREADS / 32, STEP = CLUSTER * WARPS * DEEP;
  __shared__ u32 most[WARPS][32], least[WARPS][32];
  extern __shared__ __align__(128) u8 tiles[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, rank = block % CLUSTER;
  const long long first_row = block / CLUSTER * 32LL, row = first_row + lane;
  const int rows = (int)min(of.rows - first_row, 32LL), first = (rank * WARPS + warp) * DEEP;
  const bool there = lane < rows;
  const float* from = of.x + row;
  u8* tile = tiles + warp * TILE_BYTES;
  float x[DEEP];
  Extremes found;
  for (int start = first; start < padded; start += STEP) {
    fetch_turned(x, from + start * of.ld, of.ld, k - start, there);
#pragma unroll
    for (int at = 0; at < DEEP; at++) found.meet(x[at]);
    if (!LOOPED) break;
  }
  most[warp][lane] = found.most, least[warp][lane] = found.least;
  __syncthreads();
#pragma unroll
  for (int other = 0; other < WARPS; other++) found.meet(Extremes{most[other][lane], least[other][lane]});
#if CLUSTER > 1
  __syncthreads();
  if (warp == 0) most[0][lane] = found.most, least[0][lane] = found.least;
  cluster_arrive();
  cluster_wait();
#pragma unroll
  for (int peer = 0; peer < CLUSTER; peer++) found.meet(Extremes{of_peer(&most[0][lane], peer), of_peer(&least[0][lane], peer)});
  cluster_arrive();
#endif
  if (rank == 0 && warp == 0 && there) row_told(of, row, found);
  const float scale = found.scale();
  u16* to = of.pieces + first_row * 2 * padded;
  for (int start = first; start < padded; start += STEP) {
    if (LOOPED) fetch_turned(x, from + start * of.ld, of.ld, k - start, there);
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
      u32 high[4];
#pragma unroll
      for (int pair = 0; pair < 4; pair++) {
        const int at = 8 * chunk + 2 * pair;
        u32 low;
        split_pair(x[at], x[at + 1], scale, high[pair], low);
        x[at / 2] = __uint_as_float(low);  // only values behind it are still to be read
      }
      *chunk_at(tile, lane, chunk) = make_uint4(high[0], high[1], high[2], high[3]);
    }
    put_turned(tile, to + start, 2LL * padded, rows, padded - start, lane);
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++)
      *chunk_at(tile, lane, chunk) =
          make_uint4(__float_as_uint(x[4 * chunk]), __float_as_uint(x[4 * chunk + 1]), __float_as_uint(x[4 * chunk + 2]),
                     __float_as_uint(x[4 * chunk + 3]));
    put_turned(tile, to + padded + start, 2LL * padded, rows, padded - start, lane);
    if (!LOOPED) break;
  }
#if CLUSTER > 1
  cluster_wait();  // peers have read what this one found
#endif
}
