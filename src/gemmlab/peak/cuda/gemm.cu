// D = A B on Hopper's wgmma: as many programs as the chip has SMs walk over tiles of D and parts of k. A warpgroup of
// one thread fetches tiles of A and B into a ring of stages by the copy engine; one or two others multiply, 64 rows each.
//
// What Python sets: BLOCK_N, CONSUMERS, STAGES; TILE_K (elements in 128 bytes); PIECES (1; 2: high and low parts of float32
// beside one another along k); PROMOTE (tiles of k after which sums go to registers outside; 0 never); A_SIDES, B_SIDES
// (operands whose rows run along m, n); SWAPPED (sums are D's transpose's, D is written as it is); OUT (0: 16 bits by the
// copy engine, 1: 16 bits row by row, 2: float32 by threads), OUT_PAIR; STORE_N (columns of a block of D), BLOCKS (of a
// warpgroup in shared memory); PARTS (programs of one cluster that share k; their sums meet in shared memory), GROUPS
// (clusters that share k; theirs meet in global memory); EARLY (programmatic dependent launch); WGMMA_TEXT.
#define SHARES (PARTS * GROUPS)
#include "order.cuh"
#include "store.cuh"

constexpr int BLOCK_M = 64 * CONSUMERS;
constexpr int A_BYTES = BLOCK_M * 128;
constexpr int B_BYTES = (B_SIDES ? (BLOCK_N + 63) / 64 * 64 : BLOCK_N) * 128;
constexpr int STAGE_BYTES = PIECES * (A_BYTES + B_BYTES);
constexpr int SIDES_BOX = 64 * 128;  // a box of 64 k by 64 elements along m or n
constexpr int D_BYTES = SHARES > 1 ? 0 : OUT == 0 ? BLOCKS * BLOCK_BYTES : OUT == 1 ? (LOOSE_BYTES + 127) / 128 * 128 : 0;
constexpr int THREADS = 128 * (CONSUMERS + 1);

struct Problem {
  int m, n, k;         // k of one piece
  int group_m;
  void* d;
  long long ldd;       // elements
  const float* row_scale;     // factor of each row of D; 0: none
  const float* column_scale;
  float* shares;       // of GROUPS: sums of each tile, group by group
  u32* arrived;        // how many groups have brought theirs, a number for each tile and program of a cluster; zeros
};

#if SHARES > 1
// Partial sums of a cluster's programs meet in shared memory: each adds its share of the tile, in the order of k.
constexpr int SUM_LD = BLOCK_N + 4;

// Not volatile, so that the loads from all peers are on their way together; the barriers before and after hold them.
DEVICE float4 sums_of_peer(u32 address, u32 peer) {
  float4 found;
  asm("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(found.x), "=f"(found.y), "=f"(found.z), "=f"(found.w)
      : "r"(address), "r"(peer)
      : "memory");
  return found;
}

DEVICE void add_to(float4& sum, const float4& more) {
  sum.x += more.x;
  sum.y += more.y;
  sum.z += more.z;
  sum.w += more.w;
}

DEVICE void cluster_barrier() {
  if (PARTS > 1)
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

DEVICE void consumers_barrier() { asm volatile("bar.sync 8, %0;" ::"n"(128 * CONSUMERS) : "memory"); }
#endif

DEVICE float scale_of(const float* scale, int at, int limit) { return scale && at < limit ? scale[at] : 1.0f; }

DEVICE void one_result(const Problem& p, int row, int column, float value) {
#if SWAPPED
  const int across = row;
  row = column;
  column = across;
#endif
  if (row >= p.m || column >= p.n) return;
  if (p.row_scale) value *= p.row_scale[row];
  if (p.column_scale) value *= p.column_scale[column];
#if OUT == 2
  ((float*)p.d)[row * p.ldd + column] = value;
#else
  ((u16*)p.d)[row * p.ldd + column] = (u16)pair(value, 0.0f);
#endif
}

DEVICE void four_results(const Problem& p, int row, int column, const float4& of) {
  one_result(p, row, column, of.x);
  one_result(p, row, column + 1, of.y);
  one_result(p, row, column + 2, of.z);
  one_result(p, row, column + 3, of.w);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if PARTS > 1
    __cluster_dims__(PARTS, 1, 1)
#endif
        gemm(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
             const __grid_constant__ TensorMap d_map, const __grid_constant__ Problem p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 ring = shared_address(shared), blocks = ring + STAGES * STAGE_BYTES;
  const u32 full = blocks + CONSUMERS * D_BYTES, empty = full + 8 * STAGES;
  const u32 note = empty + 8 * STAGES;  // a number that one thread tells the others
  const int thread = threadIdx.x, group = thread / 128, warp = thread % 128 / 32, lane = thread % 32;
  if (thread == 0) {
    for (int stage = 0; stage < STAGES; stage++) {
      barrier_init(full + 8 * stage, 1);
      barrier_init(empty + 8 * stage, 4 * CONSUMERS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
#if EARLY
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  // rows and columns of the sums: D's own, or its transpose's
  const int sum_rows = SWAPPED ? p.n : p.m, sum_columns = SWAPPED ? p.m : p.n;
  const Tiles tiles{(sum_rows + BLOCK_M - 1) / BLOCK_M, (sum_columns + BLOCK_N - 1) / BLOCK_N, p.group_m};
  const int steps = (p.k + TILE_K - 1) / TILE_K, count = tiles.down * tiles.across;
  // with shares of k a cluster has one tile, and GROUPS clusters have the same one
  const int part = blockIdx.x % PARTS, group_of = blockIdx.x / PARTS % GROUPS, share = group_of * PARTS + part;
  const int begin = (int)((long long)share * steps / SHARES), end = (int)((long long)(share + 1) * steps / SHARES);
  const int first_tile = blockIdx.x / SHARES, tile_step = gridDim.x / SHARES;
  int stage = 0;
  u32 parity = 0;

  if (group == 0) {
    if (CONSUMERS == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread == 0) {
      for (int tile = first_tile; tile < count; tile += tile_step) {
        int row, column;
        tiles.at(tile, row, column);
        row *= BLOCK_M;
        column *= BLOCK_N;
        for (int step = begin; step < end; step++) {
          barrier_wait(empty + 8 * stage, parity ^ 1);
          const u32 arrived = full + 8 * stage;
          barrier_expect(arrived, STAGE_BYTES);
          u32 to = ring + stage * STAGE_BYTES;
#pragma unroll
          for (int piece = 0; piece < PIECES; piece++, to += A_BYTES) {
#if A_SIDES
#pragma unroll
            for (int box = 0; box < CONSUMERS; box++)
              fetch(to + box * SIDES_BOX, &a_map, row + 64 * box, step * TILE_K, arrived);
#else
            fetch(to, &a_map, piece * p.k + step * TILE_K, row, arrived);
#endif
          }
#pragma unroll
          for (int piece = 0; piece < PIECES; piece++, to += B_BYTES) {
#if B_SIDES
#pragma unroll
            for (int box = 0; box < (BLOCK_N + 63) / 64; box++)
              fetch(to + box * SIDES_BOX, &b_map, column + 64 * box, step * TILE_K, arrived);
#else
            fetch(to, &b_map, piece * p.k + step * TILE_K, column, arrived);
#endif
          }
          if (++stage == STAGES) stage = 0, parity ^= 1;
        }
      }
    }
#if SHARES > 1
    __syncwarp();
    cluster_barrier();  // they are all threads': two, as below
    cluster_barrier();
#endif
  } else {
    if (CONSUMERS == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int consumer = group - 1, local = thread % 128;
    const u32 block = blocks + consumer * D_BYTES;
    float sums[SUMS];
#if PROMOTE
    float outside[SUMS];
#endif
#if PIECES == 2
    float cross[SUMS];
#endif
    for (int tile = first_tile; tile < count; tile += tile_step) {
      int row, column;
      tiles.at(tile, row, column);
      row = row * BLOCK_M + 64 * consumer;
      column *= BLOCK_N;
#if PROMOTE
#pragma unroll
      for (int at = 0; at < SUMS; at++) outside[at] = 0.0f;
#endif
      int behind = -1;  // the stage whose products may still be reading
      for (int step = begin; step < end; step++) {
        barrier_wait(full + 8 * stage, parity);
        const u32 a = ring + stage * STAGE_BYTES + 64 * 128 * consumer, b = ring + stage * STAGE_BYTES + PIECES * A_BYTES;
        const bool fresh = PROMOTE ? (step - begin) % (PROMOTE ? PROMOTE : 1) == 0 : step == begin;
        products_begin();
#if PIECES == 2
        tile_products(cross, a, b + B_BYTES, fresh);
        tile_products(cross, a + A_BYTES, b, false);
#endif
        tile_products(sums, a, b, fresh);
        products_commit();
#if PROMOTE
        if ((step - begin) % PROMOTE == PROMOTE - 1 || step == end - 1) {
          products_wait<0>();
          if (lane == 0) {
            if (behind >= 0) barrier_arrive(empty + 8 * behind);
            barrier_arrive(empty + 8 * stage);
          }
          behind = -1;
#pragma unroll
          for (int at = 0; at < SUMS; at++) {
#if PIECES == 2
            outside[at] += fmaf(cross[at], 0.00048828125f, sums[at]);  // low parts were scaled by 2^11
#else
            outside[at] += sums[at];
#endif
          }
        } else
#endif
        {
          products_wait<1>();
          if (behind >= 0 && lane == 0) barrier_arrive(empty + 8 * behind);
          behind = stage;
        }
        if (++stage == STAGES) stage = 0, parity ^= 1;
      }
#if PROMOTE
      float(&total)[SUMS] = outside;
#else
      float(&total)[SUMS] = sums;
      products_wait<0>();
      if (behind >= 0 && lane == 0) barrier_arrive(empty + 8 * behind);
      if (begin == end) {
#pragma unroll
        for (int at = 0; at < SUMS; at++) sums[at] = 0.0f;
      }
#endif
      const int top = 16 * warp + lane / 4, left = 2 * (lane % 4);
#if SHARES > 1
      // the ring is free once both warpgroups have multiplied: nothing more is fetched
      consumers_barrier();
      const u32 mine = ring + 4 * (64 * consumer * SUM_LD);
#pragma unroll
      for (int at = 0; at < SUMS; at += 2) {
        const u32 to = mine + 4 * ((top + 8 * (at / 2 % 2)) * SUM_LD + left + 8 * (at / 4));
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(total[at]), "f"(total[at + 1]) : "memory");
      }
      cluster_barrier();
      // four neighbours at a time; a cluster's programs take turns
      constexpr int FOURS = 64 * BLOCK_N / 4, ACROSS = BLOCK_N / 4;
#if GROUPS > 1
      constexpr int GROUP_FOURS = BLOCK_M * BLOCK_N / 4;
      float4* by_group = (float4*)p.shares + ((long long)tile * GROUPS * CONSUMERS + consumer) * FOURS;
#endif
      for (int at = part * 128 + local; at < FOURS; at += PARTS * 128) {
        const u32 there = mine + 4 * (at / ACROSS * SUM_LD + at % ACROSS * 4);
        float4 shares[PARTS];
#pragma unroll
        for (int peer = 0; peer < PARTS; peer++) shares[peer] = sums_of_peer(there, peer);
#pragma unroll
        for (int peer = 1; peer < PARTS; peer++) add_to(shares[0], shares[peer]);
#if GROUPS > 1
        by_group[group_of * GROUP_FOURS + at] = shares[0];
      }
      __threadfence();
      consumers_barrier();
      u32* arrived = p.arrived + tile * PARTS + part;
      u32 before;
      if (thread == 128) asm volatile("st.shared.u32 [%0], %1;" ::"r"(note), "r"(atomicAdd(arrived, 1u)) : "memory");
      consumers_barrier();
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(before) : "r"(note) : "memory");
      if (before == GROUPS - 1) {  // all groups' sums are there: added in the order of k, whoever came last
        __threadfence();
        if (thread == 128) *arrived = 0;
        for (int at = part * 128 + local; at < FOURS; at += PARTS * 128) {
          float4 shares[GROUPS];
#pragma unroll
          for (int of = 0; of < GROUPS; of++) shares[of] = __ldcg(by_group + of * GROUP_FOURS + at);
#pragma unroll
          for (int of = 1; of < GROUPS; of++) add_to(shares[0], shares[of]);
          four_results(p, row + at / ACROSS, column + at % ACROSS * 4, shares[0]);
        }
#else
        four_results(p, row + at / ACROSS, column + at % ACROSS * 4, shares[0]);
#endif
      }
      cluster_barrier();
#elif OUT == 2
#pragma unroll
      for (int at = 0; at < SUMS; at++)
        one_result(p, row + top + 8 * (at / 2 % 2), column + left + 8 * (at / 4) + at % 2, total[at]);
#else
      if (p.row_scale || p.column_scale) {
        const float* down = SWAPPED ? p.column_scale : p.row_scale;
        const float* along = SWAPPED ? p.row_scale : p.column_scale;
        const float upper = scale_of(down, row + top, sum_rows), lower = scale_of(down, row + top + 8, sum_rows);
#pragma unroll
        for (int at = 0; at < SUMS; at++)
          total[at] *= (at / 2 % 2 ? lower : upper) * scale_of(along, column + left + 8 * (at / 4) + at % 2, sum_columns);
      }
#if OUT == 1
      const int d_row = SWAPPED ? column : row, d_column = SWAPPED ? row : column;
      u16* to = (u16*)p.d + d_row * p.ldd + d_column;
      put_read();  // rows of the last tile may still be on their way
      warpgroup_barrier(group);
      rows_of(total, block, to, p.ldd, warp, lane);
      fence_for_engines();
      warpgroup_barrier(group);
      const int columns = min(p.n - d_column, ROW_ELEMENTS);
      if (columns > 0)
        for (int at = local; at < min(p.m - d_row, ROWS); at += 128) row_out(block, at, to + at * p.ldd, columns);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
#pragma unroll
      for (int first = 0; first < BLOCK_N / STORE_N || first == 0; first += BLOCKS) {
        if (local == 0) put_read();  // the blocks may still be on their way
        warpgroup_barrier(group);
#pragma unroll
        for (int at = 0; at < BLOCKS; at++) block_of(total, STORE_N * (first + at), block + at * BLOCK_BYTES, warp, lane);
        fence_for_engines();
        warpgroup_barrier(group);
        if (local == 0) {
#pragma unroll
          for (int at = 0; at < BLOCKS; at++) {
            const int along = column + STORE_N * (first + at);
            put(&d_map, block + at * BLOCK_BYTES, SWAPPED ? row : along, SWAPPED ? along : row);
          }
        }
      }
#endif
#endif
    }
    if (OUT != 2) put_done();
  }
}
