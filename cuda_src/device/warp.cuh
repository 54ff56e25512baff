// The registers of both CUDA builds, nvcc's and the one on real threads: each thread of a warp holds one of 32 values.
#pragma once

template <class T>
struct lanes {
  static constexpr int width = 1;  // elements of memory that one thread moves
  T v;
};

constexpr int warp_size = 32;  // threads that share a register
// Whether a block is one thread, which may then do its work in any order.
constexpr bool one_thread_blocks = false;

template <class T>
constexpr DEVICE int lane_bits() {
  return 5;
}
DEVICE int lane() { return threadIdx.x % 32; }
DEVICE int warp() { return threadIdx.x / 32; }
DEVICE int warps() { return blockDim.x / 32; }

template <class T>
DEVICE lanes<T> load(const T *p) {
  return {*p};
}
template <class T>
DEVICE void store(T *p, lanes<T> x) {
  *p = x.v;
}
// Returns the same value in every lane. The pattern holds a 16-bit value twice (device/host.cuh says why).
template <class T>
DEVICE lanes<T> splat(uint32_t pattern) {
  return {(T)pattern};
}
template <class T>
DEVICE lanes<T> operator+(lanes<T> a, lanes<T> b) {
  return {(T)(a.v + b.v)};
}
template <class T>
DEVICE lanes<T> min(lanes<T> a, lanes<T> b) {
  return {a.v < b.v ? a.v : b.v};
}
// Lane numbers are sets of bits. Returns at each lane s that has bit b the x of lane s without it, and at the other
// lanes infinity (the largest value with a clear top bit).
template <class T>
DEVICE lanes<T> without(lanes<T> x, int b) {
  uint32_t other = __shfl_xor_sync(0xffffffffu, (uint32_t)x.v, 1 << b);
  return {lane() >> b & 1 ? (T)other : (T)((T)~T(0) >> 1)};
}
// Returns the elements up to `last`, backwards: lane s of the register at `position` is last[-(position + s)].
template <class T>
DEVICE lanes<T> load_mirrored(const T *last, size_t position) {
  return {last[-(ptrdiff_t)position]};
}
template <class T>
DEVICE void lower_to(uint32_t *target, lanes<T> x) {
  atomicMin(target, (uint32_t)x.v);
}
// By comparisons: what is indexed by a variable cannot be in registers, and stands in local memory.
template <class T, int n>
DEVICE T element(const T (&few)[n], int i) {
  T found = few[n - 1];
  UNROLL for (int k = n - 2; k >= 0; k--) found = i == k ? few[k] : found;
  return found;
}
DEVICE int lowest(uint64_t set) { return __ffsll((long long)set) - 1; }
DEVICE int count(uint64_t set) { return __popcll(set); }
