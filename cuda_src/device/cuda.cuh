// The nvcc build of device/device.cuh: CUDA itself.
#pragma once
#define KERNEL extern "C" __global__ void
#define EXPORT_KERNEL(name)
#define ANY_REGISTERS
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 4)
#define REGISTERS(most) __maxnreg__(most)
#else
#define REGISTERS(most)
#endif
#define DEVICE __device__ __forceinline__
#define MEMBER __device__ __forceinline__
#define ROLLED _Pragma("unroll 1")
#define UNROLL _Pragma("unroll")
#define UNROLL_ON_GPU UNROLL
#include "device/warp.cuh"

// 64-bit atomics take `unsigned long long`, which is not the same type as uint64_t.
DEVICE uint64_t atomicMin_block(uint64_t *target, uint64_t value) {
  return atomicMin_block((unsigned long long *)target, (unsigned long long)value);
}
DEVICE int64_t atomicMin_block(int64_t *target, int64_t value) {
  return atomicMin_block((long long *)target, (long long)value);
}
DEVICE uint64_t atomicOr_block(uint64_t *target, uint64_t value) {
  return atomicOr_block((unsigned long long *)target, (unsigned long long)value);
}
DEVICE uint64_t atomicAdd_block(uint64_t *target, uint64_t value) {
  return atomicAdd_block((unsigned long long *)target, (unsigned long long)value);
}
DEVICE uint64_t atomicMin(uint64_t *target, uint64_t value) {
  return atomicMin((unsigned long long *)target, (unsigned long long)value);
}
DEVICE int64_t atomicMin(int64_t *target, int64_t value) { return atomicMin((long long *)target, (long long)value); }
DEVICE uint64_t atomicOr(uint64_t *target, uint64_t value) {
  return atomicOr((unsigned long long *)target, (unsigned long long)value);
}
DEVICE uint64_t atomicAdd(uint64_t *target, uint64_t value) {
  return atomicAdd((unsigned long long *)target, (unsigned long long)value);
}
// Reads a value in global memory that other threads may be changing with atomics. A change by a thread of the same block
// is seen; one by another block may be seen late.
DEVICE uint32_t peek(const uint32_t *p) {
  uint32_t x;
  asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
DEVICE uint64_t peek(const uint64_t *p) {
  uint64_t x;
  asm volatile("ld.relaxed.cta.global.u64 %0, [%1];" : "=l"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
template <class T>
DEVICE T peek_block(const T *p) {
  return peek(p);
}
template <class T>
DEVICE T *in_global(T *p) {
  __builtin_assume(__isGlobal(p));
  return p;
}
DEVICE void prefetch(const void *) {}  // other warps hide the latency
DEVICE void prefetch_write(void *) {}
