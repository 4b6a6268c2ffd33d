// Sums become elements of D one by one or a few at a time: scaled, turned where they are D's transpose's, and cut at its edges.
#pragma once
#include "order.cuh"
#include "stage.cuh"
#include "store.cuh"

constexpr int CLUSTER = PARTS * SPREAD * ACROSS;  // programs

struct Problem {
  int m, n, k;         // k of one piece
  int group_m;
  void* d;
  long long ldd;       // elements
  const float* row_scale;     // factors of D's rows and columns, powers of two; 0: none of both
  const float* column_scale;
  float* shares;       // of GROUPS: sums of each tile, group by group
  u32* arrived;        // how many groups have brought theirs, a number for each tile and program of a cluster; zeros
  int batch;           // of BATCHED: how many multiplications,
  int a_several, b_several;  // whether each has its own A and B, of the sums' rows and columns: 1, or all have the same: 0,
  long long d_step;    // and bytes between their D
};

// The problem with the D of one of a batch.
DEVICE Problem own_problem(const Problem& p, int matrix) {
  Problem found = p;
#if BATCHED
  found.d = (char*)p.d + matrix * p.d_step;
#endif
  return found;
}

// Tiles of a cluster, in the rows and columns of the sums: D's own, or its transpose's.
DEVICE Tiles tiles_of(const Problem& p) {
  constexpr int DOWN = SPREAD * BLOCK_M, WIDE = ACROSS * BLOCK_N;
  const int rows = SWAPPED ? p.n : p.m, columns = SWAPPED ? p.m : p.n;
  return {(rows + DOWN - 1) / DOWN, (columns + WIDE - 1) / WIDE, p.group_m};
}

// A sum times the powers of two of its row and column. In an order that neither passes a float32's range where the result does
// not: factors of opposite signs cancel, of one sign only lead further where the result lies.
DEVICE float scaled(float sum, float row, float column) {
  return (row > 1.0f) == (column > 1.0f) ? sum * row * column : sum * (row * column);
}

DEVICE void one_result(const Problem& p, int row, int column, float value) {
#if SWAPPED
  const int across = row;
  row = column;
  column = across;
#endif
  if (row >= p.m || column >= p.n) return;
  if (p.row_scale) value = scaled(value, p.row_scale[row], p.column_scale[column]);
#if OUT == 2 || OUT == 4
  ((float*)p.d)[row * p.ldd + column] = value;
#else
  ((u16*)p.d)[row * p.ldd + column] = (u16)pair(value, 0.0f);
#endif
}

// Neighbours of the sums' rows, in one store where D's rows are theirs and aligned.
DEVICE void two_results(const Problem& p, int row, int column, float first, float second) {
#if !SWAPPED && OUT == 2
  float* to = (float*)p.d + row * p.ldd + column;
  if (row < p.m && column + 2 <= p.n && ((u64)to & 7) == 0) {
    if (p.row_scale) {
      const float down = p.row_scale[row];
      first = scaled(first, down, p.column_scale[column]), second = scaled(second, down, p.column_scale[column + 1]);
    }
    *(float2*)to = make_float2(first, second);
    return;
  }
#elif !SWAPPED
  u16* to = (u16*)p.d + row * p.ldd + column;
  if (row < p.m && column + 2 <= p.n && ((u64)to & 3) == 0 && !p.row_scale) {
    *(u32*)to = pair(first, second);
    return;
  }
#endif
  one_result(p, row, column, first);
  one_result(p, row, column + 1, second);
}

DEVICE void four_results(const Problem& p, int row, int column, int at, const float4& of) {
#if !SWAPPED && OUT != 2
  u16* to = (u16*)p.d + row * p.ldd + column + at;
  if (row < p.m && column + at + 4 <= p.n && ((u64)to & 7) == 0 && !p.row_scale && !p.column_scale) {
    *(uint2*)to = make_uint2(pair(of.x, of.y), pair(of.z, of.w));
    return;
  }
#endif
  one_result(p, row, column + at, of.x);
  one_result(p, row, column + at + 1, of.y);
  one_result(p, row, column + at + 2, of.z);
  one_result(p, row, column + at + 3, of.w);
}

// The 8 x 8 elements of 16 bits that a warp holds, two of a row in each lane, across their diagonal.
DEVICE u32 turned(u32 both) {
  u32 found;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(found) : "r"(both));
  return found;
}

// Two times 8 x 8 elements to D, whose columns begin at `column` and, the second's, 8 further on: a lane takes four neighbours of
// one of them and its neighbour of the other, so that four lanes fill 32 bytes. All ends of D's rows are multiples of 16 bytes.
DEVICE void put_two(const Problem& p, int row, int column, u32 first, u32 second, bool both, int lane) {
  const bool odd = lane & 1;
  const u32 other = __shfl_xor_sync(~0u, odd ? first : second, 1);
  row += lane / 4, column += 4 * (lane % 4 / 2) + 8 * odd;
  if (row < p.m && column < p.n && (both || !odd))
    *(uint2*)((u16*)p.d + row * p.ldd + column) = odd ? make_uint2(other, second) : make_uint2(first, other);
}

// A warpgroup's sums, rounded, from registers to D.
DEVICE void put_sums(const Problem& p, int row, int column, const float (&sums)[SUMS], int warp, int lane) {
  row += 16 * warp;
#if SWAPPED
#pragma unroll
  for (int at = 0; at < SUMS; at += 4)
    put_two(p, column + 2 * at, row, turned(pair(sums[at], sums[at + 1])), turned(pair(sums[at + 2], sums[at + 3])), true, lane);
#else
#pragma unroll
  for (int at = 0; at < SUMS; at += 2) {
    if (at % 8 >= 4) continue;  // with those before
    const bool both = at + 4 < SUMS;
    const int more = both ? at + 4 : at;
    put_two(p, row + 8 * (at / 2 % 2), column + 2 * (at / 4 * 4), pair(sums[at], sums[at + 1]), pair(sums[more], sums[more + 1]),
            both, lane);
  }
#endif
}
