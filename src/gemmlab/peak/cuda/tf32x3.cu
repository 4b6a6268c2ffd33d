// float32 D = A B by three tfloat32 products on tensor cores (mma.sync), from operands as they lie: any strides, nothing is
// written before. x = high + low with high = x rounded to tfloat32; low times high, high times low, then high times high add
// up in the tensor core over 16 k, from zero, and leave it there: its sums are cut, those of float32 outside are rounded.
//
// An infinity, a NaN, or a number that rounds past the largest makes low = infinity - infinity a NaN, and with it every
// result of its row or column: results that are not finite are computed again, by multiply-adds.
//
// What Python sets: BLOCK_M, BLOCK_N, BLOCK_K (a program's tile: rows and columns of the sums, and k of a stage); WARPS_M, WARPS_N
// (warps by their part of the tile), WARPS_K (by their turn of 16 k); STAGES; A_SIDES, B_SIDES (operands whose rows run along m,
// n); A_WIDE, B_WIDE (base and rows at multiples of 16 bytes); SWAPPED (A is D's columns' operand: sums are D's transpose's);
// PARTS (programs of a cluster that share k; sums meet in shared memory), GROUPS (clusters that share k; in global memory); EXACT
// (six products, by mma.sync); EARLY; BATCHED (several multiplications of these sides, by blockIdx.y).
#include "order.cuh"
#include "refused.cuh"
#include "transport.cuh"

#define SHARES (PARTS * GROUPS)
constexpr int THREADS = 32 * WARPS_M * WARPS_N * WARPS_K;
#if WARPGROUPS
constexpr int A_ROWS = 2, B_ROWS = 1;  // neighbours that a lane reads
#else
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;  // a warp's part: sets of 32 rows by groups of columns
constexpr int SETS = WARP_M / 32, TILES_N = WARP_N / 8, WIDTH = TILES_N < 4 ? TILES_N : 4, COLUMN_GROUPS = TILES_N / WIDTH;
constexpr int A_ROWS = 4, B_ROWS = WIDTH;  // neighbours that a lane reads
#endif
constexpr int A_LINES = A_SIDES ? BLOCK_K : BLOCK_M, A_ALONG = A_SIDES ? BLOCK_M : BLOCK_K;
constexpr int B_LINES = B_SIDES ? BLOCK_K : BLOCK_N, B_ALONG = B_SIDES ? BLOCK_N : BLOCK_K;
constexpr int A_PITCH = A_ALONG, B_PITCH = B_ALONG < 32 ? 32 : B_ALONG;  // floats of a line in shared memory
constexpr int A_BYTES = 4 * A_LINES * A_PITCH, STAGE_BYTES = A_BYTES + 4 * B_LINES * B_PITCH;
constexpr int D_ROWS = SWAPPED ? BLOCK_N : BLOCK_M, D_COLUMNS = SWAPPED ? BLOCK_M : BLOCK_N, D_PITCH = D_COLUMNS + 4;

#include "tf32x3_results.cuh"

// Fetches both operands' tiles, one step of k after another, into one stage after another.
struct Fetch {
  Steps<A_LINES, A_ALONG, A_PITCH, A_ROWS, A_SIDES, A_WIDE> a;
  Steps<B_LINES, B_ALONG, B_PITCH, B_ROWS, B_SIDES, B_WIDE> b;
  const u32 ring;
  int left, stage = 0;

  DEVICE Fetch(const Problem& p, int row, int column, int begin, int end, u32 ring)
      : a(p.a, A_SIDES ? begin * BLOCK_K : row, A_SIDES ? row : begin * BLOCK_K, A_SIDES ? p.k : p.rows, A_SIDES ? p.rows : p.k),
        b(p.b, B_SIDES ? begin * BLOCK_K : column, B_SIDES ? column : begin * BLOCK_K, B_SIDES ? p.k : p.columns,
          B_SIDES ? p.columns : p.k),
        ring(ring), left(end - begin) {}

  DEVICE void first_half() {
    if (left > 0) a.next(ring + stage * STAGE_BYTES);
  }

  DEVICE void second_half() {
    if (left > 0) b.next(ring + stage * STAGE_BYTES + A_BYTES);
    left--;
    stage = stage == STAGES - 1 ? 0 : stage + 1;
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
};

#if WARPGROUPS
#include "tf32x3_wgmma.cuh"
#else
#include "tf32x3_mma.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if PARTS > 1
    __cluster_dims__(PARTS, 1, 1)
#endif
        tf32x3(const __grid_constant__ Problem p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 ring = shared_address(shared);
#if EARLY
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (p.refused && !any_refused(p.refused, p.refused_rows)) return;
  const int thread = threadIdx.x;
  const Tiles tiles{(p.rows - 1) / BLOCK_M + 1, (p.columns - 1) / BLOCK_N + 1, p.group_m};
  const int steps = (p.k - 1) / BLOCK_K + 1, count = tiles.down * tiles.across;
  const int part = blockIdx.x % PARTS, group = blockIdx.x / PARTS % GROUPS, share = group * PARTS + part;
  const int begin = (int)((long long)share * steps / SHARES), end = (int)((long long)(share + 1) * steps / SHARES);
  for (int tile = blockIdx.x / SHARES; tile < count; tile += gridDim.x / SHARES) {
    int row, column;
    tiles.at(tile, row, column);
    row *= BLOCK_M;
    column *= BLOCK_N;
    const int d_row = SWAPPED ? column : row, d_column = SWAPPED ? row : column;
    if (!any_wanted(p, d_row, d_column)) continue;
    Fetch fetch(own_problem(p), row, column, begin, end, ring);
    Sums sums = {};
    tile_products(sums, ring, begin, end, fetch);
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // the ring is free
    sums_out(sums, ring);
    programs_barrier();
    // four neighbours at a time, a cluster's programs take turns; all shares are added in one order
    constexpr int ACROSS = D_COLUMNS / 4, FOURS = D_ROWS * ACROSS;
    bool all = true;
    const Problem its = own_problem(p);
#if GROUPS > 1
    const int place = BATCHED ? blockIdx.y * count + tile : tile;
    float4* by_group = (float4*)p.shares + (long long)place * GROUPS * FOURS;
#endif
    for (int at = part * THREADS + thread; at < FOURS; at += PARTS * THREADS) {
      const u32 there = ring + 4 * (at / ACROSS * D_PITCH + at % ACROSS * 4);
      float4 of[PARTS * WARPS_K];
#pragma unroll
      for (int from = 0; from < PARTS * WARPS_K; from++)
        of[from] = sums_of_peer(there + 4 * (from % WARPS_K) * D_ROWS * D_PITCH, from / WARPS_K);
#pragma unroll
      for (int from = 1; from < PARTS * WARPS_K; from++) add_to(of[0], of[from]);
#if GROUPS > 1
      by_group[group * FOURS + at] = of[0];
    }
    __threadfence();
    __shared__ u32 before;
    u32* arrived = p.arrived + place * PARTS + part;
    __syncthreads();
    if (thread == 0) before = atomicAdd(arrived, 1u);
    __syncthreads();
    if (before == GROUPS - 1) {  // all groups' sums are there: added in the order of k, whoever came last
      __threadfence();
      if (thread == 0) *arrived = 0;
      for (int at = part * THREADS + thread; at < FOURS; at += PARTS * THREADS) {
        float4 of[GROUPS];
#pragma unroll
        for (int from = 0; from < GROUPS; from++) of[from] = __ldcg(by_group + from * FOURS + at);
#pragma unroll
        for (int from = 1; from < GROUPS; from++) add_to(of[0], of[from]);
        all &= four_results(its, d_row + at / ACROSS, d_column + at % ACROSS * 4, of[0]);
      }
#else
      all &= four_results(its, d_row + at / ACROSS, d_column + at % ACROSS * 4, of[0]);
#endif
    }
    if (!all)
      for (int at = part * THREADS + thread; at < FOURS; at += PARTS * THREADS)
        again(its, d_row + at / ACROSS, d_column + at % ACROSS * 4);
    programs_barrier();  // the ring is filled again, or the program ends, when no peer reads it
  }
}
