// D = A B on Hopper's wgmma: as many programs as the chip has SMs walk over tiles of D and parts of k. A warpgroup of
// one thread fetches tiles of A and B into a ring of stages by the copy engine; up to three others multiply, 64 rows each.
//
// What Python sets: BLOCK_N, HALVES (instructions side by side that these columns take), CONSUMERS, STAGES; TILE_K (elements in 128 bytes); PIECES (1; 2: high and low parts of float32
// beside one another along k); PROMOTE (tiles of k after which sums go to registers outside; 0 never); A_SIDES, B_SIDES
// (operands whose rows run along m, n); SWAPPED (sums are D's transpose's, D is written as it is); OUT (0: 16 bits by the
// copy engine, 1: 16 bits row by row, 2: float32 by threads, 3: 16 bits by threads, 4: float32 row by row), OUT_PAIR; STORE_N
// (columns of D that are stored at a time), BLOCKS (of a warpgroup in shared memory, filled in turn); LAG (steps that the
// second warpgroup stays behind the first, so that one multiplies while the other rounds); SPREAD (2: two programs of a
// cluster have tiles below one another and fetch half of B each, for both), ACROSS (2: two have tiles beside one another, and
// half of A each); RESIDENT (programs that an SM holds, also of the launch behind); PARTS (programs of one cluster that share
// k; their sums meet in shared memory), GROUPS (clusters that share k; theirs meet in global memory), LATER (where adds.cu adds
// them), LEAN (registers are left for its programs, which wait on the same SMs), HOLD (they begin when this launch has ended);
// EARLY (programmatic dependent launch);
// BATCHED (several multiplications of these sides, whose tiles are walked one after another's); WGMMA_TEXT.
#define SHARES (PARTS * GROUPS)
#include "float_rows.cuh"
#include "shares.cuh"

constexpr int BYTES_BY_OUT[] = {BLOCKS * BLOCK_BYTES, (LOOSE_BYTES + 127) / 128 * 128, 0, 0, FLOATS_BYTES};
constexpr int D_BYTES = SHARES > 1 ? 0 : BYTES_BY_OUT[OUT];  // of a warpgroup's part of D on its way
constexpr int THREADS = 128 * (CONSUMERS + 1);
constexpr int LEAN_THREADS = 512;  // as if they were so many: 128 registers each at most
// registers of a thread that fetches and of one that multiplies, where the one hands some on: of 65,536 for all
constexpr bool HANDED = CONSUMERS > 1 && !LEAN;
constexpr int FEWER = CONSUMERS == 3 ? 32 : 40, MORE = CONSUMERS == 3 ? 160 : 232;

// A stage is free again: told to all that fetch into it. `empty` is the first stage's barrier here, `there` that of a lane's
// partner.
DEVICE void freed(u32 empty, u32 there, int stage, int lane) {
  if (PARTNERS > 2) {
    if (lane < PARTNERS) barrier_arrive_there(there + 8 * stage);
    return;
  }
  if (lane == 0) barrier_arrive(empty + 8 * stage);
  if (PARTNERS == 2 && lane == 1) barrier_arrive_there(there + 8 * stage);
}

// Once, before the second warpgroup's first product: the first one arrives after LAG of its own.
DEVICE void behind_barrier() { asm volatile("bar.sync 9, 256;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(LEAN ? LEAN_THREADS : THREADS, RESIDENT)
#if PARTS * SPREAD * ACROSS > 1
    __cluster_dims__(PARTS * SPREAD * ACROSS, 1, 1)
#endif
        gemm(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
             const __grid_constant__ TensorMap d_map, const __grid_constant__ Problem p) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 ring = shared_address(shared), blocks = ring + STAGES * STAGE_BYTES;
  const u32 full = blocks + CONSUMERS * D_BYTES, empty = full + 8 * STAGES;
  [[maybe_unused]] const u32 note = empty + 8 * STAGES;  // a number that one thread tells the others
  const int thread = threadIdx.x, group = thread / 128, warp = thread % 128 / 32, lane = thread % 32;
  if (thread == 0) {
    for (int stage = 0; stage < STAGES; stage++) {
      barrier_init(full + 8 * stage, 1);
      barrier_init(empty + 8 * stage, 4 * CONSUMERS * PARTNERS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    prefetch(&a_map);
    prefetch(&b_map);
    if (OUT == 0 && SHARES == 1) prefetch(&d_map);
  }
  __syncthreads();
  if (PARTNERS > 1) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  const Tiles tiles = tiles_of(p);
  const int steps = (p.k + TILE_K - 1) / TILE_K, count = tiles.down * tiles.across * (BATCHED ? p.batch : 1);
  // with shares of k a cluster has one tile, and GROUPS clusters have the same one
  const Place own(blockIdx.x % (SPREAD * ACROSS));
  const int part = blockIdx.x % PARTS, group_of = blockIdx.x / CLUSTER % GROUPS, share = group_of * PARTS + part;
  const int begin = (int)((long long)share * steps / SHARES), end = (int)((long long)(share + 1) * steps / SHARES);
  const int first_tile = blockIdx.x / (CLUSTER * GROUPS), tile_step = gridDim.x / (CLUSTER * GROUPS);
#if EARLY
  if (!HOLD) asm volatile("griddepcontrol.launch_dependents;");  // else when this one ends
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (PARTNERS > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");  // the others' barriers are there
  int stage = 0;
  u32 parity = 0;

  if (group == 0) {
    if (HANDED) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(FEWER));
    if (thread == 0) {
      for (int tile = first_tile; tile < count; tile += tile_step) {
        int row, column, number = tile;
        const int matrix = tiles.matrix_of(number);
        tiles.at(number, row, column);
        row = (row * SPREAD + own.down) * BLOCK_M;
        column = (column * ACROSS + own.across) * BLOCK_N;
        for (int step = begin; step < end; step++) {
          barrier_wait(empty + 8 * stage, parity ^ 1);
          const u32 arrived = full + 8 * stage;
          barrier_expect(arrived, STAGE_BYTES);
          fetch_stage(ring + stage * STAGE_BYTES, arrived, a_map, b_map, row, column, step, p.k, own, matrix * p.a_several,
                      matrix * p.b_several);
          if (++stage == STAGES) stage = 0, parity ^= 1;
        }
      }
      if (PARTNERS > 1)  // nobody leaves while others may still arrive here
        for (int left = 0; left < STAGES; left++) {
          barrier_wait(empty + 8 * stage, parity ^ 1);
          if (++stage == STAGES) stage = 0, parity ^= 1;
        }
    }
#if SHARES > 1
    __syncwarp();
    if (PARTS > 1) cluster_barrier(), cluster_barrier();  // they are all threads': two, as below
#endif
  } else {
    if (HANDED) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MORE));
    const int consumer = group - 1;
    [[maybe_unused]] const int local = thread % 128;
    [[maybe_unused]] const u32 block = blocks + consumer * D_BYTES;
#if OUT == 0 && SHARES == 1
    int turn = 0;  // of the blocks
#endif
#if LAG
    if (consumer == 1) behind_barrier();
#endif
    // of a warp, a lane for each partner
    const u32 partners = PARTNERS > 1 && lane < PARTNERS ? at_peer(empty, partner(own, lane)) : 0;
    float sums[SUMS];
#if PROMOTE
    float outside[SUMS];
#endif
#if PIECES == 2
    float cross[SUMS];
#endif
    for (int tile = first_tile; tile < count; tile += tile_step) {
      int row, column, number = tile;
      const int matrix = tiles.matrix_of(number);
      [[maybe_unused]] const Problem its = own_problem(p, matrix);
      tiles.at(number, row, column);
      row = (row * SPREAD + own.down) * BLOCK_M + 64 * consumer;
      column = (column * ACROSS + own.across) * BLOCK_N;
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
        // D's own order, whichever operand is the rows': A's high parts times B's low ones come first
        tile_products(cross, SWAPPED ? a + A_BYTES : a, SWAPPED ? b : b + B_BYTES, fresh);
        tile_products(cross, SWAPPED ? a : a + A_BYTES, SWAPPED ? b + B_BYTES : b, false);
#endif
        tile_products(sums, a, b, fresh);
        products_commit();
#if LAG
        if (consumer == 0 && tile == first_tile && step == min(begin + LAG, end) - 1)
          asm volatile("bar.arrive 9, 256;" ::: "memory");
#endif
#if PROMOTE
        if ((step - begin) % PROMOTE == PROMOTE - 1 || step == end - 1) {
          products_wait<0>();
          if (behind >= 0) freed(empty, partners, behind, lane);
          freed(empty, partners, stage, lane);
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
          if (behind >= 0) freed(empty, partners, behind, lane);
          behind = stage;
        }
        if (++stage == STAGES) stage = 0, parity ^= 1;
      }
#if PROMOTE
      float(&total)[SUMS] = outside;
#else
      float(&total)[SUMS] = sums;
      products_wait<0>();
      if (behind >= 0) freed(empty, partners, behind, lane);
      if (begin == end) {
#pragma unroll
        for (int at = 0; at < SUMS; at++) sums[at] = 0.0f;
      }
#endif
#if LATER
      float4* to = left_sums(p.shares, tile * CLUSTER + own.number(), group_of, consumer, local);
#pragma unroll
      for (int at = 0; at < SUMS; at += 4)
        __stcg(to + at / 4 * LEFT_STEP, make_float4(total[at], total[at + 1], total[at + 2], total[at + 3]));
#elif SHARES > 1
      // rings are free once all have multiplied: nothing more is fetched
      consumers_barrier();
      if (PARTS > 1) cluster_barrier();
      send_shares(total, ring, part, consumer, warp, lane);
      if (PARTS > 1) cluster_barrier();
      else warpgroup_barrier(group);
      // four neighbours at a time
      constexpr int FOURS = OWN_ROWS * BLOCK_N / 4, ROW_FOURS = BLOCK_N / 4;
      const int own = part * OWN_ROWS;  // of the warpgroup's rows
#if GROUPS > 1
      constexpr int GROUP_FOURS = PARTS * CONSUMERS * FOURS;
      float4* by_group = (float4*)p.shares + (long long)tile * GROUPS * GROUP_FOURS + (part * CONSUMERS + consumer) * FOURS;
#endif
#pragma unroll 2
      for (int at = local; at < FOURS; at += 128) {
        const float4 found = added_shares(shared, consumer, at / ROW_FOURS, at % ROW_FOURS * 4);
#if GROUPS > 1
        __stcg(by_group + group_of * GROUP_FOURS + at, found);
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
#pragma unroll 2
        for (int at = local; at < FOURS; at += 128) {
          float4 shares[GROUPS];
#pragma unroll
          for (int of = 0; of < GROUPS; of++) shares[of] = __ldcg(by_group + of * GROUP_FOURS + at);
#pragma unroll
          for (int of = 1; of < GROUPS; of++) add_to(shares[0], shares[of]);
          four_results(its, row + own + at / ROW_FOURS, column, at % ROW_FOURS * 4, shares[0]);
        }
#else
        four_results(its, row + own + at / ROW_FOURS, column, at % ROW_FOURS * 4, found);
#endif
      }
#elif OUT == 2
      const int top = 16 * warp + lane / 4, left = 2 * (lane % 4);
#pragma unroll
      for (int at = 0; at < SUMS; at += 2) {
        const int of = row + top + 8 * (at / 2 % 2), along = left + 8 * (at / 4);
        two_results(its, of, column + along, total[at], total[at + 1]);
      }
#elif OUT == 3
      put_sums(its, row, column, total, warp, lane);
#elif OUT == 4
      put_float_rows(its, row, column, total, block, warp, lane);
#else
#if OUT == 1
      const int d_row = SWAPPED ? column : row, d_column = SWAPPED ? row : column;
      u16* to = (u16*)its.d + d_row * p.ldd + d_column;
      loose_rows(total, block, to, p.ldd, p.m - d_row, p.n - d_column, group, warp, lane);
#else
#pragma unroll
      for (int first = 0; first < BLOCK_N || first == 0; first += STORE_N) {
        const u32 next = block + turn * BLOCK_BYTES;
        if (++turn == BLOCKS) turn = 0;
        if (local == 0) put_read<BLOCKS - 1>();  // it may still be on its way
        warpgroup_barrier(group);
        block_of(total, first, next, warp, lane);
        fence_for_engines();
        warpgroup_barrier(group);
        if (local == 0) put(&d_map, next, SWAPPED ? row : column + first, SWAPPED ? column + first : row, matrix);
      }
#endif
#endif
    }
    if (OUT == 0) put_read<0>();  // what is read need not have been written yet: the launch ends with it
  }
}
