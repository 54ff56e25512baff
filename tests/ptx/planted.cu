// Kernels with one mistake each, by which the interpreter shows that it would find them. faultless.cu does the same things
// right. All take n = 64 values, 2 blocks of 64 threads.
#include "device/group.cuh"

// out[i] = values[n - 1 - i] through shared memory that has been used before, without a barrier in between.
KERNEL planted_missing_barrier(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t shared[64];
  shared[threadIdx.x] = 0;
  __syncthreads();
  shared[threadIdx.x] = values[threadIdx.x];
  if (blockIdx.x == 0) out[threadIdx.x] = shared[n - 1 - threadIdx.x];
}
EXPORT_KERNEL(planted_missing_barrier)

KERNEL planted_missing_syncwarp(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t shared[64];
  shared[threadIdx.x] = 0;
  __syncthreads();
  shared[threadIdx.x] = values[threadIdx.x];
  if (blockIdx.x == 0) out[threadIdx.x] = shared[threadIdx.x ^ 1];
}
EXPORT_KERNEL(planted_missing_syncwarp)

// A shuffle makes the lanes meet, but does not order their memory.
KERNEL planted_shuffle_for_sync(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t shared[64];
  shared[threadIdx.x] = values[threadIdx.x];
  const uint64_t other = shuffled(values[threadIdx.x], 0);
  if (blockIdx.x == 0) out[threadIdx.x] = shared[threadIdx.x ^ 1] + other;
}
EXPORT_KERNEL(planted_shuffle_for_sync)

KERNEL planted_racing_threads(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t last;
  last = values[threadIdx.x];
  __syncthreads();
  if (blockIdx.x == 0) out[threadIdx.x] = last;
}
EXPORT_KERNEL(planted_racing_threads)

KERNEL planted_racing_blocks(int n, const uint64_t *values, uint64_t *out) { out[threadIdx.x] = values[threadIdx.x]; }
EXPORT_KERNEL(planted_racing_blocks)

KERNEL planted_atomic_of_a_block(int n, const uint64_t *values, uint64_t *out) {
  atomicAdd_block(&out[threadIdx.x], values[threadIdx.x]);
}
EXPORT_KERNEL(planted_atomic_of_a_block)

KERNEL planted_read_beside_atomic(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t least;
  if (threadIdx.x == 0) least = ~0ull;
  __syncthreads();
  atomicMin_block(&least, values[threadIdx.x]);
  if (blockIdx.x == 0) out[threadIdx.x] = least;
}
EXPORT_KERNEL(planted_read_beside_atomic)

// ld.global.nc may give old values of memory that the launch writes.
KERNEL planted_read_only(int n, const uint64_t *values, uint64_t *out) {
  if (blockIdx.x > 0) return;
  const uint64_t before = __ldg((const unsigned long long *)&out[n - 1 - threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = before + 1;
}
EXPORT_KERNEL(planted_read_only)

KERNEL planted_half_a_mask(int n, const uint64_t *values, uint64_t *out) {
  const uint32_t other = __shfl_xor_sync(0xffffu, (uint32_t)values[threadIdx.x], 1);
  if (blockIdx.x == 0) out[threadIdx.x] = other;
}
EXPORT_KERNEL(planted_half_a_mask)

KERNEL planted_divergent_shuffle(int n, const uint64_t *values, uint64_t *out) {
  uint32_t x = (uint32_t)values[threadIdx.x];
  if (threadIdx.x % 32 < 16) {
    x = __shfl_xor_sync(full_mask, x, 1);
  } else {
    x = __ballot_sync(full_mask, x & 1);
  }
  if (blockIdx.x == 0) out[threadIdx.x] = x;
}
EXPORT_KERNEL(planted_divergent_shuffle)

KERNEL planted_lane_that_left(int n, const uint64_t *values, uint64_t *out) {
  if (threadIdx.x == 5) return;
  const uint32_t x = __shfl_sync(full_mask, (uint32_t)values[threadIdx.x], 5);
  if (blockIdx.x == 0) out[threadIdx.x] = x;
}
EXPORT_KERNEL(planted_lane_that_left)

KERNEL planted_divergent_barrier(int n, const uint64_t *values, uint64_t *out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    if (__syncthreads_or((int)values[threadIdx.x])) out[threadIdx.x] = 1;
  }
}
EXPORT_KERNEL(planted_divergent_barrier)

// Half of a warp waits for the whole warp, the other half for the block.
KERNEL planted_deadlock(int n, const uint64_t *values, uint64_t *out) {
  if (threadIdx.x % 32 < 16) __syncwarp();
  __syncthreads();
}
EXPORT_KERNEL(planted_deadlock)

KERNEL planted_endless(int n, const uint64_t *values, uint64_t *out) {
  while (peek(&out[0]) == 0) {
  }
}
EXPORT_KERNEL(planted_endless)

KERNEL planted_overrun(int n, const uint64_t *values, uint64_t *out) {
  if (blockIdx.x == 0) out[threadIdx.x + 1] = values[threadIdx.x];
}
EXPORT_KERNEL(planted_overrun)

KERNEL planted_shared_overrun(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t shared[64];
  shared[threadIdx.x + n / 64] = values[threadIdx.x];
  __syncthreads();
  if (blockIdx.x == 0) out[threadIdx.x] = shared[threadIdx.x];
}
EXPORT_KERNEL(planted_shared_overrun)

KERNEL planted_local_overrun(int n, const uint64_t *values, uint64_t *out) {
  uint64_t mine[8];
  for (int k = 0; k < n / 8 + 1; k++) mine[(k + threadIdx.x) % (n / 7)] = values[k];
  if (blockIdx.x == 0) out[threadIdx.x] = mine[threadIdx.x % 8];
}
EXPORT_KERNEL(planted_local_overrun)

KERNEL planted_misaligned(int n, const uint64_t *values, uint64_t *out) {
  if (blockIdx.x == 0) out[threadIdx.x] = *(const uint64_t *)((const char *)values + n / 16);
}
EXPORT_KERNEL(planted_misaligned)

// An instruction for global memory that gets the address of shared memory.
KERNEL planted_wrong_space(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t shared[64];
  shared[threadIdx.x] = values[threadIdx.x];
  uint64_t x;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(x) : "l"(&shared[threadIdx.x]) : "memory");
  if (blockIdx.x == 0) out[threadIdx.x] = x;
}
EXPORT_KERNEL(planted_wrong_space)

KERNEL planted_foreign_local(int n, const uint64_t *values, uint64_t *out) {
  __shared__ const volatile uint64_t *lent;
  volatile uint64_t mine = values[threadIdx.x];
  if (threadIdx.x == 7) lent = &mine;
  __syncthreads();
  if (blockIdx.x == 0) out[threadIdx.x] = *lent;
}
EXPORT_KERNEL(planted_foreign_local)

KERNEL planted_division(int n, const uint64_t *values, uint64_t *out) {
  if (blockIdx.x == 0) out[threadIdx.x] = values[threadIdx.x] / (uint64_t)(n - 64);
}
EXPORT_KERNEL(planted_division)

KERNEL planted_unwritten(int n, const uint64_t *values, uint64_t *out) {
  __shared__ uint64_t shared[64];
  if (threadIdx.x > 0) shared[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  if (blockIdx.x == 0) out[threadIdx.x] = shared[threadIdx.x];
}
EXPORT_KERNEL(planted_unwritten)

KERNEL planted_trap(int n, const uint64_t *values, uint64_t *out) { asm volatile("trap;"); }
EXPORT_KERNEL(planted_trap)
