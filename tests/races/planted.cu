// Kernels with one mistake each, by which check.py shows that it would find them; and one without a mistake.
#include "device/device.cuh"

// out[i] = values[n - 1 - i], through shared memory, which needs a barrier between writing and reading.
template <bool barrier>
DEVICE void reverse(int n, const int *values, int *out) {
  __shared__ int shared[64];
  for (int i = threadIdx.x; i < n; i += blockDim.x) shared[i] = values[i];
  if (barrier) __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = shared[n - 1 - i];
}
KERNEL planted_nothing(int n, const int *values, int *out) { reverse<true>(n, values, out); }
EXPORT_KERNEL(planted_nothing)

KERNEL planted_race(int n, const int *values, int *out) { reverse<false>(n, values, out); }
EXPORT_KERNEL(planted_race)

// Writes one element beyond the end.
KERNEL planted_overrun(int n, const int *values, int *out) {
  for (int i = threadIdx.x; i <= n; i += blockDim.x) out[i] = values[i % n];
}
EXPORT_KERNEL(planted_overrun)

// A sum that does not fit into an int.
KERNEL planted_overflow(int n, const int *values, int *out) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = values[i] + 0x7fffffff;
}
EXPORT_KERNEL(planted_overflow)
