// Kernels with one mistake each, so that check.py can show that it would find it; and one without.
#include "device.cuh"

// to[i] = from[n - 1 - i], by way of shared memory. The threads must meet between writing and reading it.
template <bool MEET>
DEVICE void reverse(int n, const int *from, int *to) {
  __shared__ int shelf[64];
  for (int i = threadIdx.x; i < n; i += blockDim.x) shelf[i] = from[i];
  if (MEET) __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = shelf[n - 1 - i];
}
KERNEL planted_nothing(int n, const int *from, int *to) { reverse<true>(n, from, to); }
EXPORT_KERNEL(planted_nothing)

KERNEL planted_race(int n, const int *from, int *to) { reverse<false>(n, from, to); }
EXPORT_KERNEL(planted_race)

// One element too far.
KERNEL planted_overrun(int n, const int *from, int *to) {
  for (int i = threadIdx.x; i <= n; i += blockDim.x) to[i] = from[i % n];
}
EXPORT_KERNEL(planted_overrun)

// A sum that does not fit an int.
KERNEL planted_overflow(int n, const int *from, int *to) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i] + 0x7fffffff;
}
EXPORT_KERNEL(planted_overflow)
