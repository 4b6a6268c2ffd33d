// Tiles of float32 operands, fetched as they lie, and a warp's share of them as two tfloat32 each.
#pragma once
#include "transport.cuh"

struct Operand {
  const float* at;
  long long ld;  // elements between lines: rows in memory
};

// Where 16 bytes of a line lie among their neighbours, so that a warp's reads fall into all banks.
template <int NEIGHBOURS, bool SIDES>
DEVICE int swizzled(int line, int chunk) {
  return chunk ^ (SIDES ? (line / 4 % 4) * 2 : (line / NEIGHBOURS % 2) * 4);
}

template <bool WIDE>
DEVICE void copy(u32 to, const float* from) {
  if (WIDE)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

// So many bytes of it, then zeros; with none of them nothing is read.
template <bool WIDE>
DEVICE void copy(u32 to, const float* from, int bytes) {
  if (WIDE)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// A thread's part of an operand's tiles, one step of k after another: LINES of ALONG elements, of a matrix of `lines` of
// `alongs` elements from (line, along) on, each from its place in memory to its place in a stage.
template <int LINES, int ALONG, int PITCH, int NEIGHBOURS, bool SIDES, bool WIDE>
struct Steps {
  static constexpr int EACH = WIDE ? 4 : 1, ACROSS = ALONG / EACH, DOWN = THREADS / ACROSS;  // elements, lines of all threads
  static constexpr int PERIOD = SIDES ? 16 : 2 * NEIGHBOURS, PLACES = PERIOD > DOWN ? PERIOD / DOWN : 1;
  static_assert(THREADS % ACROSS == 0);
  const float* base;
  const float* from;
  const long long ld;
  const int lines, alongs, first, right;
  int line, along;
  u32 places[PLACES];  // in a stage, of the first lines; the others' are whole periods further

  DEVICE Steps(const Operand& of, int line, int along, int lines, int alongs)
      : base(of.at), ld(of.ld), lines(lines), alongs(alongs), first(threadIdx.x / ACROSS), right(threadIdx.x % ACROSS * EACH),
        line(line), along(along) {
    from = base + (line + (long long)first) * ld + along + right;
#pragma unroll
    for (int at = 0; at < PLACES; at++) {
      const int down = first + at * DOWN;
      places[at] = 4 * (down * PITCH + swizzled<NEIGHBOURS, SIDES>(down, right / 4) * 4 + right % 4);
    }
  }

  DEVICE u32 place(int next) const {
    return places[next / DOWN % PLACES] + 4 * (next / (DOWN * PLACES)) * DOWN * PLACES * PITCH;
  }

  // The tile into a stage; what lies outside the matrix becomes zeros.
  DEVICE void next(u32 to) {
    const float* source = from;
    if (lines - line >= LINES && alongs - along >= ALONG) {
#pragma unroll
      for (int next = 0; next < LINES; next += DOWN, source += DOWN * ld) {
        if (LINES % DOWN && first + next >= LINES) break;
        copy<WIDE>(to + place(next), source);
      }
    } else {
      const int here = max(0, min(EACH, alongs - along - right));
#pragma unroll 1
      for (int next = 0; next < LINES; next += DOWN, source += DOWN * ld) {
        if (LINES % DOWN && first + next >= LINES) break;
        const int bytes = first + next < lines - line ? 4 * here : 0, down = first + next;
        const u32 there = 4 * (down * PITCH + swizzled<NEIGHBOURS, SIDES>(down, right / 4) * 4 + right % 4);
        copy<WIDE>(to + there, bytes ? source : base, bytes);
      }
    }
    (SIDES ? line : along) += BLOCK_K;
    from += SIDES ? BLOCK_K * ld : BLOCK_K;
  }
};

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

// What the tensor core does not read of low parts: x = high + low as read + this.
template <int COUNT>
DEVICE void unread(float (&rest)[COUNT][4], const float (&low)[COUNT][4]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) rest[i][j] = low[i][j] - __uint_as_float(__float_as_uint(low[i][j]) & 0xffffe000u);
}
