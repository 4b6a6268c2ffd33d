// In which order a program takes tiles of D: groups of GROUP_M rows of tiles are walked together, so that they share B.
#pragma once

struct Tiles {
  int down, across, group;

  __device__ __forceinline__ void at(int number, int& row, int& column) const {
    const int whole = group * across, first = number / whole * group, height = min(down - first, group);
    row = first + number % whole % height;
    column = number % whole / height;
  }
};
