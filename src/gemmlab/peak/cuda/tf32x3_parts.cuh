// Tiles of float32 operands, fetched as they lie, and a warp's share of them as two tfloat32 each.
#pragma once
#include "transport.cuh"

struct Operand {
  const float* at;
  long long ld;  // elements between lines: rows in memory
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
DEVICE void piece(float (&x)[COUNT][4], u32 tile, int first, int k16, int lane) {
  const int g = lane / 4, t = lane % 4;
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
}

// To the nearest tfloat32, halves away from zero; what is left is exact, and at most its last bit is not read.
template <int COUNT>
DEVICE void split(float (&high)[COUNT][4], float (&low)[COUNT][4], const float (&x)[COUNT][4]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      high[i][j] = __uint_as_float((__float_as_uint(x[i][j]) + 0x1000u) & 0xffffe000u);
      low[i][j] = x[i][j] - high[i][j];
    }
}
