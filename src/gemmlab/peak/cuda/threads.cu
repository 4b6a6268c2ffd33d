// float32 by threads' multiply-adds, for operands that two float16 cannot say: starts only where rows were refused. Any
// strides; blocks of 64 x 64 of D, 16 k at a time, 4 x 4 results a thread; as many blocks as are given walk over them.
#include "refused.cuh"

struct Matrix {
  const float* at;
  long long along_side, along_k;  // elements between neighbours along m or n, and along k
};

extern "C" __global__ void __launch_bounds__(256)
    by_threads(const unsigned char* refused, int rows, const __grid_constant__ Matrix a, const __grid_constant__ Matrix b, float* d, long long ldd,
               int m, int n, int k) {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (!any_refused(refused, rows)) return;
  __shared__ float left[16][68], right[16][68];
  const int thread = threadIdx.x, top = 4 * (thread / 16), side = 4 * (thread % 16);
  const int across = (n + 63) / 64;
  for (int tile = blockIdx.x; tile < (m + 63) / 64 * across; tile += gridDim.x) {
    const int row = tile / across * 64, column = tile % across * 64;
    float sums[4][4] = {};
    for (int start = 0; start < k; start += 16) {
      for (int at = thread; at < 1024; at += 256) {
        const int of = at / 16, deep = at % 16, from = start + deep;
        left[deep][of] = row + of < m && from < k ? a.at[(row + of) * a.along_side + from * a.along_k] : 0.0f;
        right[deep][of] = column + of < n && from < k ? b.at[(column + of) * b.along_side + from * b.along_k] : 0.0f;
      }
      __syncthreads();
      // what lies past k is not multiplied: zero times an infinity of the other operand would be no number
      for (int deep = 0; deep < min(16, k - start); deep++)
        for (int i = 0; i < 4; i++)
          for (int j = 0; j < 4; j++) sums[i][j] = fmaf(left[deep][top + i], right[deep][side + j], sums[i][j]);
      __syncthreads();
    }
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        if (row + top + i < m && column + side + j < n) d[(row + top + i) * ldd + column + side + j] = sums[i][j];
  }
}
