// In which order a program takes tiles of D: groups of GROUP_M rows of tiles are walked together, so that they share B.
#pragma once

struct Tiles {
  int down, across, group;

  __device__ __forceinline__ void at(int number, int& row, int& column) const {
    const int whole = group * across, first = number / whole * group, height = min(down - first, group);
    row = first + number % whole % height;
    column = number % whole / height;
  }

  // Of a batch, the multiplication that a tile is of; `tile` becomes its number there.
  __device__ __forceinline__ int matrix_of(int& tile) const {
#if BATCHED
    const int each = down * across, found = tile / each;
    tile -= found * each;
    return found;
#else
    return 0;
#endif
  }
};
