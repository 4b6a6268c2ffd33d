// Vectorised: a thread fetches 16 bytes at once, and A's tile lies transposed, so that it reads 16 bytes of that too.
// The twin that the emulator counts is ladder/vectorised.py: thread for thread the same elements.
// WIDE is 4, or 1 where a row of an operand does not begin at a multiple of 16 bytes.

constexpr int BLOCK = 128;         // rows and columns of C in a block
constexpr int STEP = 8;            // of k
constexpr int OWN = 8;             // rows and columns of C that a thread owns
constexpr int SIDE = BLOCK / OWN;  // threads of a block along x and along y

__device__ float4 fetch(const float* row, int first, int end) {
  if (WIDE == 4 && first < end) return *reinterpret_cast<const float4*>(row + first);
  float4 found = make_float4(0.f, 0.f, 0.f, 0.f);
  if (first < end) found.x = row[first];
  if (first + 1 < end) found.y = row[first + 1];
  if (first + 2 < end) found.z = row[first + 2];
  if (first + 3 < end) found.w = row[first + 3];
  return found;
}

__device__ void take(float* own, const float* tile) {
  *reinterpret_cast<float4*>(own) = *reinterpret_cast<const float4*>(tile);
  *reinterpret_cast<float4*>(own + 4) = *reinterpret_cast<const float4*>(tile + 4);
}

extern "C" __global__ void __launch_bounds__(SIDE * SIDE, 2)
kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
       int m, int n, int k, int lda, int ldb, int ldc) {
  __shared__ __align__(16) float a_tile[STEP][BLOCK], b_tile[STEP][BLOCK];
  const int x = threadIdx.x, y = threadIdx.y, thread = y * SIDE + x;
  const int top = blockIdx.y * BLOCK, left = blockIdx.x * BLOCK;
  const int a_row = thread / 2, a_col = thread % 2 * 4, b_row = thread / 32, b_col = thread % 32 * 4;
  const bool a_inside = top + a_row < m;
  a += static_cast<long long>(a_inside ? top + a_row : 0) * lda;
  b += static_cast<long long>(b_row) * ldb;
  float totals[OWN][OWN] = {};
  for (int start = 0; start < k; start += STEP, b += static_cast<long long>(STEP) * ldb) {
    const float4 from_a = fetch(a, start + a_col, a_inside ? k : 0);
    const float4 from_b = fetch(b, left + b_col, start + b_row < k ? n : 0);
    a_tile[a_col][a_row] = from_a.x;
    a_tile[a_col + 1][a_row] = from_a.y;
    a_tile[a_col + 2][a_row] = from_a.z;
    a_tile[a_col + 3][a_row] = from_a.w;
    *reinterpret_cast<float4*>(&b_tile[b_row][b_col]) = from_b;
    __syncthreads();
#pragma unroll
    for (int step = 0; step < STEP; step++) {
      float column[OWN], row[OWN];
      take(column, &a_tile[step][y * OWN]);
      take(row, &b_tile[step][x * OWN]);
#pragma unroll
      for (int i = 0; i < OWN; i++)
#pragma unroll
        for (int j = 0; j < OWN; j++) totals[i][j] += column[i] * row[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < OWN; i++) {
    const int row = top + y * OWN + i, col = left + x * OWN;
    if (row >= m) continue;
    float* out = c + static_cast<long long>(row) * ldc + col;
#pragma unroll
    for (int j = 0; j < OWN; j += 4) {
      if (WIDE == 4) {
        if (col + j < n)
          *reinterpret_cast<float4*>(out + j) =
              make_float4(totals[i][j], totals[i][j + 1], totals[i][j + 2], totals[i][j + 3]);
      } else {
#pragma unroll
        for (int l = 0; l < 4; l++)
          if (col + j + l < n) out[j + l] = totals[i][j + l];
      }
    }
  }
}
