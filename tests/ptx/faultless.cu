// A kernel that does right what those of planted.cu do wrong, for n = 64 values and 2 blocks of 64 threads.
#include "device/group.cuh"

KERNEL faultless(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t shared[64], least;
  const int t = threadIdx.x;
  shared[t] = values[t];
  if (t == 0) least = ~0ull;
  __syncthreads();
  atomicMin_block(&least, (uint64_t)1 << 40 | (values[t] + 1) << 33);
  const uint64_t turned = shared[n - 1 - t];
  __syncthreads();
  shared[t] = turned + shuffled(turned, t ^ 1) + (least >> 32);
  __syncwarp();
  if (blockIdx.x > 0) {
    if (t >= 32) atomicMin(&out[t], ~0ull);  // peek reads what its own block changes
    return;
  }
  atomicAdd(&out[t], shared[t ^ 2] + (1ull << 40));
  if (t < 32) atomicAdd(&out[t], peek(&out[t]));
}
EXPORT_KERNEL(faultless)
