// The few words of CUDA C++ that the ladder's texts use, as threads of the system: a block's threads at once, blocks in turn.
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(bytes)
struct Place { int x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static thread_local Place threadIdx;
static Place blockIdx;
static std::barrier<>* meeting;
static void __syncthreads() { meeting->arrive_and_wait(); }

alignas(16) static float tiles[1 << 16];  // dynamic shared memory
static size_t tile_bytes;
static unsigned long long __cvta_generic_to_shared(const void* at) { return (const char*)at - (const char*)tiles; }

// copies of cp.async: done at once, or as late as the text allows, when their group is waited for
static bool late;
struct Copy { unsigned to; const float* from; size_t bytes, taken; };
static thread_local std::vector<Copy> open_group;
static thread_local std::deque<std::vector<Copy>> groups;
static void done(const Copy& c) {
  if (c.taken) memcpy((char*)tiles + c.to, c.from, c.taken);
  memset((char*)tiles + c.to + c.taken, 0, c.bytes - c.taken);
}
template <int BYTES>
void copy_if(unsigned to, const float* from, bool inside) {
  if (to % BYTES || (inside && (size_t)from % BYTES) || to + BYTES > tile_bytes) abort();
  const Copy c{to, from, BYTES, inside ? (size_t)BYTES : 0};
  if (late) open_group.push_back(c);
  else done(c);
}
template <int BYTES>
void copy(unsigned to, const float* from) { copy_if<BYTES>(to, from, true); }
static void commit() {
  groups.push_back(open_group);
  open_group.clear();
}
template <int GROUPS>
void wait() {
  for (; groups.size() > GROUPS; groups.pop_front())
    for (const Copy& c : groups.front()) done(c);
}
