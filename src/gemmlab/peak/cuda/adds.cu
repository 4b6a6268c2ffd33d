// D from the sums that groups of programs left behind, each of another part of k: of every element in the order of k, SLICES
// warps of a block a part of the groups each. A lane has four sums of a thread that multiplied: two rows, two columns; BESIDE
// warps of that thread's warpgroup are a block's.
#define SHARES (PARTS * GROUPS)
#include "results.cuh"
#include "shares.cuh"

constexpr int SLICE = (GROUPS + SLICES - 1) / SLICES;  // groups of a warp

extern "C" __global__ void __launch_bounds__(32 * BESIDE * SLICES, 1) adds(const __grid_constant__ Problem p) {
  __shared__ float4 found[SLICES][32 * BESIDE];
  const int slice = threadIdx.x / (32 * BESIDE), thread = threadIdx.x % (32 * BESIDE), lane = thread % 32;
  // a block's: some of four warps, of one of SUMS / 4 fours, of a warpgroup, of a program
  int at = blockIdx.x;
  const int warp = at % (4 / BESIDE) * BESIDE + thread / 32;
  const int four = (at /= 4 / BESIDE) % (SUMS / 4), consumer = (at /= SUMS / 4) % CONSUMERS, place = at / CONSUMERS;
  const float4* from = left_sums(p.shares, place, slice * SLICE, consumer, 32 * warp + lane) + four * LEFT_STEP;
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  float4 shares[SLICE];
#pragma unroll
  for (int of = 0; of < SLICE; of++)
    shares[of] = slice * SLICE + of < GROUPS ? __ldcg(from + (long long)of * CONSUMERS * LEFT_FOURS) : make_float4(0, 0, 0, 0);
#pragma unroll
  for (int of = 1; of < SLICE; of++) add_to(shares[0], shares[of]);
  found[slice][thread] = shares[0];
  __syncthreads();
  if (slice) return;
#pragma unroll
  for (int of = 1; of < SLICES; of++) add_to(shares[0], found[of][thread]);
  const Place own(place % CLUSTER);
  const Tiles tiles = tiles_of(p);
  int row, column, number = place / CLUSTER;
  const Problem its = own_problem(p, tiles.matrix_of(number));
  tiles.at(number, row, column);
  row = (row * SPREAD + own.down) * BLOCK_M + 64 * consumer + 16 * warp + lane / 4;
  column = (column * ACROSS + own.across) * BLOCK_N + 8 * four + 2 * (lane % 4);
  two_results(its, row, column, shares[0].x, shares[0].y);
  two_results(its, row + 8, column, shares[0].z, shares[0].w);
}
