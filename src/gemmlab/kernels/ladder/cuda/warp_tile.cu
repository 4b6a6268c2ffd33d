// Warp tile: a warp owns a rectangle of C, its lanes lie in it so that they read shared memory without conflicts, and
// cp.async fills the next tiles while this one is multiplied. float32 on ordinary FMA units.
//
// Sizes are macros: BM, BN, BK a block's tile; TM, TN outputs of a thread (multiples of 4); STAGES tiles in shared
// memory; BLOCKS of an SM at once; WIDE 4, or 1 where a row of B or C does not begin at a multiple of 16 bytes.
// The twin that the emulator counts is ladder/warp_tile.py: thread for thread the same elements.

constexpr int WM = 8 * TM, WN = 4 * TN;  // outputs of a warp: 8 x 4 lanes
constexpr int WARPS_N = BN / WN, WARPS = BM / WM * WARPS_N, THREADS = 32 * WARPS;
// A's tile lies transposed. A warp stores 8 of k for 4 rows: with 4 words of padding, into 32 different banks
constexpr int A_LD = BM + 4, A_WORDS = BK * A_LD, STAGE = A_WORDS + BK * BN;
constexpr int K_PARTS = BK / 8, A_STEP = 4 * WARPS / K_PARTS, A_COPIES = BM / A_STEP;
constexpr int B_ACROSS = BN / WIDE, B_STEP = THREADS / B_ACROSS, B_COPIES = BK / B_STEP;
static_assert(BM % WM == 0 && BN % WN == 0 && BK % 8 == 0 && WARPS % K_PARTS == 0 && TM % 4 == 0 && TN % 4 == 0);
static_assert(A_COPIES * A_STEP == BM && B_COPIES * B_STEP == BK && B_STEP * B_ACROSS == THREADS && STAGES >= 2);

template <int BYTES>
__device__ __forceinline__ void copy(unsigned to, const float* from) {
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

// with zeros, and nothing read, where the element is outside
template <int BYTES>
__device__ __forceinline__ void copy_if(unsigned to, const float* from, bool inside) {
  const int size = inside ? BYTES : 0;
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(size) : "memory");
}

// what was copied since the last call is one group
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// until no more than so many groups are on their way
template <int GROUPS>
__device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

template <int COUNT, int APART>
__device__ __forceinline__ void take(float* own, const float* tile) {
#pragma unroll
  for (int i = 0; i < COUNT / 4; i++)
    *reinterpret_cast<float4*>(own + 4 * i) = *reinterpret_cast<const float4*>(tile + APART * i);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
       int m, int n, int k, int lda, int ldb, int ldc) {
  extern __shared__ __align__(16) float tiles[];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int top = blockIdx.y * BM, left = blockIdx.x * BN;
  const bool whole = top + BM <= m && left + BN <= n;

  const int a_k = lane % 8 + 8 * (warp % K_PARTS), a_row = lane / 8 + 4 * (warp / K_PARTS);
  const int b_k = thread / B_ACROSS, b_col = thread % B_ACROSS * WIDE;
  const float* a_from = a + static_cast<long long>(top + a_row) * lda + a_k;
  const float* b_from = b + static_cast<long long>(b_k) * ldb + left + b_col;
  const long long a_apart = static_cast<long long>(A_STEP) * lda, b_apart = static_cast<long long>(B_STEP) * ldb;
  const long long b_next = static_cast<long long>(BK) * ldb;
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(tiles));
  const unsigned a_to = shared + 4 * (a_k * A_LD + a_row), b_to = shared + 4 * (A_WORDS + b_k * BN + b_col);

  // called for one tile after another: the places in A and B move on
  auto fetch = [&](int first, int slot) {
    const unsigned at = slot * (STAGE * 4);
    if (whole && first + BK <= k) {
#pragma unroll
      for (int i = 0; i < A_COPIES; i++) copy<4>(a_to + at + 4 * A_STEP * i, a_from + a_apart * i);
#pragma unroll
      for (int i = 0; i < B_COPIES; i++) copy<4 * WIDE>(b_to + at + 4 * B_STEP * BN * i, b_from + b_apart * i);
    } else if (first < k) {
#pragma unroll 1
      for (int i = 0; i < A_COPIES; i++) {
        const bool inside = top + a_row + A_STEP * i < m && first + a_k < k;
        copy_if<4>(a_to + at + 4 * A_STEP * i, inside ? a_from + a_apart * i : a, inside);
      }
#pragma unroll 1
      for (int i = 0; i < B_COPIES; i++) {
        const bool inside = first + b_k + B_STEP * i < k && left + b_col < n;
        copy_if<4 * WIDE>(b_to + at + 4 * B_STEP * BN * i, inside ? b_from + b_apart * i : b, inside);
      }
    }
    a_from += BK;
    b_from += b_next;
    commit();
  };

  // neighbours lie in one row, lanes two apart in one column: a 16-byte load takes 2 wavefronts of shared memory, not 4
  const int lane_m = lane >> 1 & 1 | (lane >> 3) << 1, lane_n = lane & 1 | (lane >> 1 & 2);
  const int row_in = warp / WARPS_N * WM + lane_m * 4, col_in = warp % WARPS_N * WN + lane_n * 4;
  const float *a_own = tiles + row_in, *b_own = tiles + A_WORDS + col_in;
  float totals[TM][TN] = {}, column[2][TM], row[2][TN];

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++) fetch(stage * BK, stage);
  wait<STAGES - 2>();
  __syncthreads();
  take<TM, 32>(column[0], a_own);
  take<TN, 16>(row[0], b_own);
  int slot = 0, filled = STAGES - 1;
  for (int start = 0; start < k; start += BK) {
#pragma unroll
    for (int step = 0; step < BK; step++) {
      const int now = step % 2, next = (step + 1) % 2, ahead = (step + 1) % BK;
      if (ahead == 0) {
        wait<STAGES - 2>();
        __syncthreads();
        slot = slot + 1 == STAGES ? 0 : slot + 1;
      }
      take<TM, 32>(column[next], a_own + slot * STAGE + ahead * A_LD);
      take<TN, 16>(row[next], b_own + slot * STAGE + ahead * BN);
      if (step == 0) {  // the tile before this one has been read by all: its place is free
        fetch(start + (STAGES - 1) * BK, filled);
        filled = filled + 1 == STAGES ? 0 : filled + 1;
      }
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) totals[i][j] += column[now][i] * row[now][j];
    }
  }

#pragma unroll
  for (int i = 0; i < TM; i++) {
    const int out_row = top + row_in + i / 4 * 32 + i % 4;
    if (out_row >= m) continue;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int out_col = left + col_in + j * 4;
      float* out = c + static_cast<long long>(out_row) * ldc + out_col;
      if constexpr (WIDE == 4) {
        if (out_col < n)
          *reinterpret_cast<float4*>(out) =
              make_float4(totals[i][j], totals[i][j + 1], totals[i][j + 2], totals[i][j + 3]);
      } else {
#pragma unroll
        for (int l = 0; l < 4; l++)
          if (out_col + l < n) out[l] = totals[i][j + l];
      }
    }
  }
}
