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
// PARTS (programs of a cluster that share k; sums meet in shared memory), GROUPS (clusters that share k; in global memory); EARLY.
#include "order.cuh"
#include "refused.cuh"
#include "transport.cuh"

#define SHARES (PARTS * GROUPS)
constexpr int THREADS = 32 * WARPS_M * WARPS_N * WARPS_K;
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;  // a warp's part: sets of 32 rows by groups of columns
constexpr int SETS = WARP_M / 32, TILES_N = WARP_N / 8, WIDTH = TILES_N < 4 ? TILES_N : 4, COLUMN_GROUPS = TILES_N / WIDTH;
constexpr int A_LINES = A_SIDES ? BLOCK_K : BLOCK_M, A_ALONG = A_SIDES ? BLOCK_M : BLOCK_K;
constexpr int B_LINES = B_SIDES ? BLOCK_K : BLOCK_N, B_ALONG = B_SIDES ? BLOCK_N : BLOCK_K;
constexpr int A_PITCH = A_ALONG, B_PITCH = B_ALONG < 32 ? 32 : B_ALONG;  // floats of a line in shared memory
constexpr int A_BYTES = 4 * A_LINES * A_PITCH, STAGE_BYTES = A_BYTES + 4 * B_LINES * B_PITCH;
constexpr int D_ROWS = SWAPPED ? BLOCK_N : BLOCK_M, D_COLUMNS = SWAPPED ? BLOCK_M : BLOCK_N, D_PITCH = D_COLUMNS + 4;

struct Operand {
  const float* at;
  long long ld;  // elements between lines: rows in memory
};

struct Problem {
  int rows, columns, k;  // of the sums: m, n; n, m where they are D's transpose's
  int group_m;
  Operand a, b;          // of the sums' rows, of their columns
  float* d;
  long long ldd;
  const unsigned char* refused;  // a byte of each row of D, then of each column; where it is given, the others' are left
  int refused_rows;              // how many there are
  float* shares;         // of GROUPS: sums of each tile, group by group
  u32* arrived;          // how many groups have brought theirs, a number for each tile and program of a cluster; zeros
};

// Where 16 bytes of a line lie among their neighbours, so that a warp's reads fall into all banks.
template <int WIDTH_OF, bool SIDES>
DEVICE int swizzled(int line, int chunk) {
  return chunk ^ (SIDES ? (line / 4 % 4) * 2 : (line / WIDTH_OF % 2) * 4);
}

// A tile of an operand into shared memory; what lies outside the matrix, unless all is INSIDE, becomes zeros.
template <int LINES, int ALONG, int PITCH, int WIDTH_OF, bool SIDES, bool WIDE, bool INSIDE>
DEVICE void copy(u32 to, const Operand& of, int line, int along, int lines, int alongs) {
  constexpr int EACH = WIDE ? 4 : 1, ACROSS = ALONG / EACH, DOWN = THREADS / ACROSS;  // elements, lines of all threads
  static_assert(THREADS % ACROSS == 0);
  const int first = threadIdx.x / ACROSS, right = threadIdx.x % ACROSS * EACH;
  const int here = INSIDE ? EACH : max(0, min(EACH, alongs - along - right));
  const float* from = of.at + (line + (long long)first) * of.ld + along + right;
#pragma unroll
  for (int next = 0; next < LINES; next += DOWN, from += DOWN * of.ld) {
    const int down = first + next;
    if (LINES % DOWN && down >= LINES) break;
    const u32 place = to + 4 * (down * PITCH + swizzled<WIDTH_OF, SIDES>(down, right / 4) * 4 + right % 4);
    const int bytes = INSIDE || down < lines - line ? 4 * here : 0;
    if (WIDE && INSIDE)
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
    else if (WIDE)
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(place), "l"(bytes ? from : of.at), "r"(bytes)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(bytes ? from : of.at), "r"(bytes)
                   : "memory");
  }
}

template <int LINES, int ALONG, int PITCH, int WIDTH_OF, bool SIDES, bool WIDE>
DEVICE void fill(u32 to, const Operand& of, int line, int along, int lines, int alongs) {
  if (lines - line >= LINES && alongs - along >= ALONG)
    copy<LINES, ALONG, PITCH, WIDTH_OF, SIDES, WIDE, true>(to, of, line, along, lines, alongs);
  else
    copy<LINES, ALONG, PITCH, WIDTH_OF, SIDES, WIDE, false>(to, of, line, along, lines, alongs);
}

template <int COUNT>
DEVICE void read(float* to, u32 from) {
  if (COUNT == 4)
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(from));
  else if (COUNT == 2)
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(to[0]), "=f"(to[1]) : "r"(from));
  else
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(to[0]) : "r"(from));
}

// Of 8 * COUNT rows (columns) of an operand from `first` on and 16 k: lane 4 g + t has rows COUNT * g + i at k = 4 t + j.
template <int COUNT, int PITCH, bool SIDES>
DEVICE void piece(float (&high)[COUNT][4], float (&low)[COUNT][4], u32 tile, int first, int k16, int lane) {
  const int g = lane / 4, t = lane % 4;
  float x[COUNT][4];
  if (SIDES) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int line = 16 * k16 + 4 * t + j, side = first + COUNT * g;
      float found[COUNT];
      read<COUNT>(found, tile + 4 * (line * PITCH + ((side / 4) ^ (2 * t)) * 4 + side % 4));
#pragma unroll
      for (int i = 0; i < COUNT; i++) x[i][j] = found[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      read<4>(x[i], tile + 4 * ((first + COUNT * g + i) * PITCH + ((4 * k16 + t) ^ (g % 2 * 4)) * 4));
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      // to the nearest, halves away from zero; low is exact, and at most its last bit is not read
      high[i][j] = __uint_as_float((__float_as_uint(x[i][j]) + 0x1000u) & 0xffffe000u);
      low[i][j] = x[i][j] - high[i][j];
    }
}

// D (16, 8) = A (16, 8) B (8, 8) + C: two rows of A and a column of B that the lane has, at two k each
DEVICE void multiply(float (&d)[4], const float (&top)[4], const float (&bottom)[4], const float (&b)[4], int half, bool fresh) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(__float_as_uint(top[2 * half])), "r"(__float_as_uint(bottom[2 * half])), "r"(__float_as_uint(top[2 * half + 1])),
        "r"(__float_as_uint(bottom[2 * half + 1])), "r"(__float_as_uint(b[2 * half])), "r"(__float_as_uint(b[2 * half + 1])),
        "f"(fresh ? 0.0f : d[0]), "f"(fresh ? 0.0f : d[1]), "f"(fresh ? 0.0f : d[2]), "f"(fresh ? 0.0f : d[3]));
}

typedef float Sums[SETS][2][TILES_N][4];  // a warp's: tiles of 16 x 8

// The products of 16 k.
DEVICE void products(Sums& sums, u32 a, u32 b, int row, int column, int k16, int lane) {
  float b_high[TILES_N][4], b_low[TILES_N][4];
#pragma unroll
  for (int group = 0; group < COLUMN_GROUPS; group++) {
    float high[WIDTH][4], low[WIDTH][4];
    piece<WIDTH, B_PITCH, B_SIDES>(high, low, b, column + 8 * WIDTH * group, k16, lane);
#pragma unroll
    for (int i = 0; i < WIDTH * 4; i++) {
      b_high[group * WIDTH + i / 4][i % 4] = high[i / 4][i % 4];
      b_low[group * WIDTH + i / 4][i % 4] = low[i / 4][i % 4];
    }
  }
#pragma unroll
  for (int set = 0; set < SETS; set++) {
    float high[4][4], low[4][4];
    piece<4, A_PITCH, A_SIDES>(high, low, a, row + 32 * set, k16, lane);
    float fresh[2][TILES_N][4];
#pragma unroll
    for (int round = 0; round < 6; round++)
#pragma unroll
      for (int tile = 0; tile < 2; tile++)
#pragma unroll
        for (int across = 0; across < TILES_N; across++) {
          float(&d)[4] = fresh[tile][across];
          const int top = 2 * tile, bottom = top + 1, half = round % 2;
          if (round < 2) multiply(d, low[top], low[bottom], b_high[across], half, round == 0);
          else if (round < 4) multiply(d, high[top], high[bottom], b_low[across], half, false);
          else multiply(d, high[top], high[bottom], b_high[across], half, false);
        }
#pragma unroll
    for (int tile = 0; tile < 2; tile++)
#pragma unroll
      for (int across = 0; across < TILES_N; across++)
#pragma unroll
        for (int at = 0; at < 4; at++) sums[set][tile][across][at] += fresh[tile][across][at];
  }
}

// A warp's sums into D's tile in shared memory. Of a tile of 16 x 8 the lane has rows 4 g + 2 tile + {0, 1} of the set, and
// columns WIDTH * (2 t + {0, 1}) + across of the group: neighbours, all together.
DEVICE void sums_out(const Sums& sums, u32 to, int row, int column, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int set = 0; set < SETS; set++)
#pragma unroll
    for (int across = 0; across < TILES_N; across++)
#pragma unroll
      for (int at = 0; at < 8; at++) {
        const int down = row + 32 * set + 4 * g + at / 2;
        const int right = column + across / WIDTH * 8 * WIDTH + WIDTH * (2 * t + at % 2) + across % WIDTH;
        const u32 place = to + 4 * (SWAPPED ? right * D_PITCH + down : down * D_PITCH + right);
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(place), "f"(sums[set][at / 4][across][at % 4]) : "memory");
      }
}

DEVICE void add_to(float4& sum, const float4& more) {
  sum.x += more.x;
  sum.y += more.y;
  sum.z += more.z;
  sum.w += more.w;
}

// Not volatile, so that all loads are on their way together; the barriers before and after hold them.
DEVICE float4 sums_of_peer(u32 address, u32 peer) {
  float4 found;
#if PARTS > 1
  asm("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(found.x), "=f"(found.y), "=f"(found.z), "=f"(found.w)
      : "r"(address), "r"(peer)
      : "memory");
#else
  asm("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(found.x), "=f"(found.y), "=f"(found.z), "=f"(found.w)
      : "r"(address)
      : "memory");
#endif
  return found;
}

DEVICE void programs_barrier() {
#if PARTS > 1
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}

DEVICE bool finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

// One result by multiply-adds in the order of k.
DEVICE float by_threads(const Problem& p, int row, int column) {
  const float* a = p.a.at + (A_SIDES ? row : row * p.a.ld);
  const float* b = p.b.at + (B_SIDES ? column : column * p.b.ld);
  const long long a_step = A_SIDES ? p.a.ld : 1, b_step = B_SIDES ? p.b.ld : 1;
  float sum = 0.0f;
#pragma unroll 4
  for (int k = 0; k < p.k; k++) {
    sum = fmaf(a[k * a_step], b[k * b_step], sum);
    if (sum != sum) break;  // and stays so
  }
  return sum;
}

// Whether a result is asked for: of refused rows and columns alone, where they are told.
DEVICE bool wanted(const Problem& p, int row, int column) {
  return !p.refused || p.refused[row] || p.refused[(SWAPPED ? p.columns : p.rows) + (long long)column];
}

// Four neighbours of D from (row, column) on; whether all that are in it are finite.
DEVICE bool four_results(const Problem& p, int row, int column, const float4& of) {
  const int rows = SWAPPED ? p.columns : p.rows, columns = SWAPPED ? p.rows : p.columns;
  if (row >= rows || column >= columns) return true;
  float* to = p.d + row * p.ldd + column;
  if (columns - column > 3 && ((u64)to & 15) == 0 && !p.refused) {
    *(float4*)to = of;
    return finite(of.x) && finite(of.y) && finite(of.z) && finite(of.w);
  }
  bool all = true;
  if (wanted(p, row, column)) to[0] = of.x, all &= finite(of.x);
  if (columns - column > 1 && wanted(p, row, column + 1)) to[1] = of.y, all &= finite(of.y);
  if (columns - column > 2 && wanted(p, row, column + 2)) to[2] = of.z, all &= finite(of.z);
  if (columns - column > 3 && wanted(p, row, column + 3)) to[3] = of.w, all &= finite(of.w);
  return all;
}

DEVICE void again(const Problem& p, int row, int column) {
  const int rows = SWAPPED ? p.columns : p.rows, columns = SWAPPED ? p.rows : p.columns;
  for (int next = 0; row < rows && next < min(4, columns - column); next++) {
    const int at = column + next;
    float* to = p.d + row * p.ldd + at;
    if (wanted(p, row, at) && !finite(*to)) *to = SWAPPED ? by_threads(p, at, row) : by_threads(p, row, at);
  }
}

// Whether some result of a tile of D is asked for; all threads of a program ask at once.
DEVICE bool any_wanted(const Problem& p, int row, int column) {
  if (!p.refused) return true;
  const int rows = SWAPPED ? p.columns : p.rows, columns = SWAPPED ? p.rows : p.columns;
  int found = 0;
  for (int at = threadIdx.x; at < D_ROWS + D_COLUMNS; at += THREADS) {
    const bool down = at < D_ROWS;
    const int next = down ? at : at - D_ROWS, first = down ? row : column;
    if (next < (down ? rows : columns) - first) found |= p.refused[(down ? 0ll : rows) + first + next];
  }
  return __syncthreads_or(found);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if PARTS > 1
    __cluster_dims__(PARTS, 1, 1)
#endif
        tf32x3(const __grid_constant__ Problem p) {
  extern __shared__ __align__(128) unsigned char shared[];
  const u32 ring = shared_address(shared);
#if EARLY
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (p.refused && !any_refused(p.refused, p.refused_rows)) return;
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int warp_k = warp % WARPS_K, warp_row = warp / WARPS_K % WARPS_M * WARP_M, warp_column = warp / (WARPS_K * WARPS_M) * WARP_N;
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
    auto fetch_step = [&](int step) {
      if (step < end) {
        const u32 to = ring + (step - begin) % STAGES * STAGE_BYTES;
        const int k = step * BLOCK_K;
        fill<A_LINES, A_ALONG, A_PITCH, 4, A_SIDES, A_WIDE>(to, p.a, A_SIDES ? k : row, A_SIDES ? row : k,
                                                            A_SIDES ? p.k : p.rows, A_SIDES ? p.rows : p.k);
        fill<B_LINES, B_ALONG, B_PITCH, WIDTH, B_SIDES, B_WIDE>(to + A_BYTES, p.b, B_SIDES ? k : column, B_SIDES ? column : k,
                                                                B_SIDES ? p.k : p.columns, B_SIDES ? p.columns : p.k);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int stage = 0; stage < STAGES - 1; stage++) fetch_step(begin + stage);
    Sums sums = {};
    for (int step = begin; step < end; step++) {
      asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
      __syncthreads();  // this stage has come, and all have read the one before it
      fetch_step(step + STAGES - 1);
      const u32 a = ring + (step - begin) % STAGES * STAGE_BYTES;
#pragma unroll 1
      for (int k16 = 0; k16 < BLOCK_K / 16; k16 += WARPS_K)
        products(sums, a, a + A_BYTES, warp_row, warp_column, k16 + warp_k, lane);
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // the ring is free
    sums_out(sums, ring + 4 * warp_k * D_ROWS * D_PITCH, warp_row, warp_column, lane);
    programs_barrier();
    // four neighbours at a time, a cluster's programs take turns; all shares are added in one order
    constexpr int ACROSS = D_COLUMNS / 4, FOURS = D_ROWS * ACROSS;
    bool all = true;
#if GROUPS > 1
    float4* by_group = (float4*)p.shares + (long long)tile * GROUPS * FOURS;
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
    u32* arrived = p.arrived + tile * PARTS + part;
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
        all &= four_results(p, d_row + at / ACROSS, d_column + at % ACROSS * 4, of[0]);
      }
#else
      all &= four_results(p, d_row + at / ACROSS, d_column + at % ACROSS * 4, of[0]);
#endif
    }
    if (!all)
      for (int at = part * THREADS + thread; at < FOURS; at += PARTS * THREADS)
        again(p, d_row + at / ACROSS, d_column + at % ACROSS * 4);
    programs_barrier();  // the ring is filled again, or the program ends, when no peer reads it
  }
}
