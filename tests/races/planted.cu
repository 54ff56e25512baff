// Kernels with one mistake each, so that check.py can show that it would find it; and one without.
#include "device/device.cuh"

// out[i] = values[n - 1 - i], by way of shared memory. The threads must meet between writing and reading it.
template <bool MEET>
DEVICE void reverse(int n, const int *values, int *out) {
  __shared__ int shelf[64];
  for (int i = threadIdx.x; i < n; i += blockDim.x) shelf[i] = values[i];
  if (MEET) __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = shelf[n - 1 - i];
}
KERNEL planted_nothing(int n, const int *values, int *out) { reverse<true>(n, values, out); }
EXPORT_KERNEL(planted_nothing)

KERNEL planted_race(int n, const int *values, int *out) { reverse<false>(n, values, out); }
EXPORT_KERNEL(planted_race)

// One element too far.
KERNEL planted_overrun(int n, const int *values, int *out) {
  for (int i = threadIdx.x; i <= n; i += blockDim.x) out[i] = values[i % n];
}
EXPORT_KERNEL(planted_overrun)

// A sum that does not fit an int.
KERNEL planted_overflow(int n, const int *values, int *out) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = values[i] + 0x7fffffff;
}
EXPORT_KERNEL(planted_overflow)
