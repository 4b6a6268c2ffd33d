// Where sums of a tile meet, those of warps, programs and clusters that share k, and how they become part of D.
#pragma once
#include "tf32x3_parts.cuh"

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
  long long a_step, b_step, d_step;  // of BATCHED: elements between two multiplications' A, B and D
};

// The problem with the operands and the D of a program's multiplication of a batch.
DEVICE Problem own_problem(const Problem& p) {
  Problem found = p;
#if BATCHED
  const long long matrix = blockIdx.y;
  found.a.at += matrix * p.a_step;
  found.b.at += matrix * p.b_step;
  found.d += matrix * p.d_step;
#endif
  return found;
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
