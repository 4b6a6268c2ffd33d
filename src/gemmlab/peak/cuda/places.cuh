// How rows that the copy engine cannot step over are fetched all the same, and where the sums of such tiles go in D.
//
// The engine steps from row to row by multiples of 16 bytes, but may begin at any element. Of rows whose distance is odd
// every eighth (of 16 bits) is such a multiple away: each class of rows, r modulo CLASSES, has a map of its own, whose base is
// the multiple of 16 bytes below its first row, and is fetched from the element on where the row begins. So a tile's rows
// arrive class by class: row i of it is row CLASSES * (i % RUN) + i / RUN of D. A takes 64 rows at a time, B all BLOCK_N.
#pragma once
#include "transport.cuh"

constexpr int A_RUN = 64 / A_CLASSES, B_RUN = BLOCK_N / B_CLASSES;
constexpr int ROAD = TILE_K / 8;  // elements in 16 bytes

template <int CLASSES>
struct Maps {
  TensorMap of[CLASSES];
};

// How many elements past a multiple of 16 bytes an operand begins, and its next row more than that.
struct Past {
  int first, step;

  DEVICE int of(int row) const { return (first + row * step) & (ROAD - 1); }
};

// Rows of a tile along k: RUN of each class, from `row` of the operand on, a multiple of CLASSES.
template <int CLASSES, int RUN>
DEVICE void fetch_rows(u32 to, const Maps<CLASSES>& maps, const Past& past, int row, int k, u32 barrier) {
#pragma unroll
  for (int of = 0; of < CLASSES; of++)
    fetch(to + of * RUN * 128, &maps.of[of], k + past.of(of), row / CLASSES, barrier);
}

// Rows and columns of D for those of a warpgroup's sums.
DEVICE int row_of(int i) { return A_CLASSES == 1 ? i : A_CLASSES * (i % A_RUN) + i / A_RUN; }
DEVICE int column_of(int i) { return B_CLASSES == 1 ? i : B_CLASSES * (i % B_RUN) + i / B_RUN; }
