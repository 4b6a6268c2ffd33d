// Whether two float16 could not say some row: split.cu writes a byte for each row, all of them at each launch, so that no
// number is kept between launches and graphs, streams and threads need no care. Asked by all threads of a block at once.
#pragma once

__device__ __forceinline__ bool any_refused(const unsigned char* refused, int rows) {
  int found = 0;
#pragma unroll 4
  for (int at = 16 * threadIdx.x; at < rows / 16 * 16; at += 16 * blockDim.x) {
    const uint4 sixteen = __ldcg((const uint4*)(refused + at));
    found |= sixteen.x | sixteen.y | sixteen.z | sixteen.w;
  }
  const int behind = rows / 16 * 16 + threadIdx.x;
  if (behind < rows) found |= __ldcg(refused + behind);
  return __syncthreads_or(found);
}
