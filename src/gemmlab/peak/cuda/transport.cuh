// How tiles travel between global and shared memory: barriers that count bytes, and the copy engine (TMA).
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
#define DEVICE __device__ __forceinline__

// CUtensorMap, opaque: address, sizes, strides, box and swizzle of a matrix in global memory
struct alignas(64) TensorMap {
  char bytes[128];
};

DEVICE u32 shared_address(const void* pointer) { return (u32)__cvta_generic_to_shared(pointer); }

DEVICE void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

DEVICE void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Unqualified, as below.
DEVICE void barrier_arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }

// At another program's, an address from `at_peer`.
DEVICE void barrier_arrive_there(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// The same place in the shared memory of a program of the cluster.
DEVICE u32 at_peer(u32 address, u32 peer) {
  u32 there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(peer));
  return there;
}

// Until the phase of that parity is over. The unqualified form: `.acquire.cluster` would put a fence over the whole chip
// into the loop.
DEVICE void barrier_wait(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{\n.reg .pred over;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
}

DEVICE void prefetch(const TensorMap* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

// A box of a map: its first element, and, of a batch, which matrix it is of.
#if BATCHED
#define RANK "3d"
#define BOX "{%2, %3, %6}"
#else
#define RANK "2d"
#define BOX "{%2, %3}"
#endif

// One box of the matrix, its first element at (inner, outer); what lies outside the matrix arrives as zeros. Into this
// program's shared memory, or at the same place into those of the cluster's programs `who`, a bit each, whose barriers all
// count it.
template <int PROGRAMS = 1>
DEVICE void fetch(u32 to, const TensorMap* map, int inner, int outer, int matrix, u32 barrier, int who = 1) {
  if (PROGRAMS > 1)
    asm volatile("cp.async.bulk.tensor." RANK
                 ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, " BOX "], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(inner), "r"(outer), "r"(barrier), "h"((u16)who), "r"(matrix)
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor." RANK ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " BOX
                 "], [%4];" ::"r"(to),
                 "l"(map), "r"(inner), "r"(outer), "r"(barrier), "h"((u16)who), "r"(matrix)
                 : "memory");
}

// The other way; what lies outside the matrix is not written.
DEVICE void put(const TensorMap* map, u32 from, int inner, int outer, int matrix) {
  asm volatile("cp.async.bulk.tensor." RANK ".global.shared::cta.bulk_group [%0, " BOX "], [%1];" ::"l"(map), "r"(from),
               "r"(inner), "r"(outer), "r"(0), "r"(0), "r"(matrix)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until the copy engine has read all but the last LEFT that were put.
template <int LEFT>
DEVICE void put_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

// What threads wrote to shared memory is seen by the copy engine and by wgmma behind this and a barrier.
DEVICE void fence_for_engines() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Of all threads of a cluster.
DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

DEVICE void warpgroup_barrier(int id) { asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory"); }
