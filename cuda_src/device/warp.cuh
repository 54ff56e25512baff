// The registers of both CUDA builds, nvcc's and the one on real threads. A register is spread over the 32 threads of a
// warp: each holds a word of 32 bits, which is one value of 32 bits, or two neighbouring values of 16 bits.
#pragma once

template <class T>
struct lanes {
  static constexpr int width = 4 / sizeof(T);  // elements of memory that one thread moves
  uint32_t v;
};

constexpr int warp_size = 32;  // threads that share a register
// Two, since a multiprocessor is assumed to execute two instructions in the time of reading a word for each thread.
constexpr int registers_together = 2;
// Whether a block is one thread, which may then do its work in any order.
constexpr bool one_thread_blocks = false;
constexpr bool permutes_lanes = false, permutes_bytes = false;

template <class T>
constexpr DEVICE int lane_bits() {
  return sizeof(T) == 2 ? 6 : 5;
}
DEVICE int lane() { return threadIdx.x % 32; }
DEVICE int warp() { return threadIdx.x / 32; }
DEVICE int warps() { return blockDim.x / 32; }

typedef uint32_t __attribute__((may_alias)) word_of_lanes;

template <class T>
DEVICE lanes<T> load(const T *p) {
  return {*(const word_of_lanes *)p};
}
template <class T>
DEVICE void store(T *p, lanes<T> x) {
  *(word_of_lanes *)p = x.v;
}
// Returns the same value in every lane. The pattern holds a 16-bit value twice.
template <class T>
DEVICE lanes<T> splat(uint32_t pattern) {
  return {pattern};
}
// No sum of two values wraps, so nothing is carried from one value of 16 bits to the other.
template <class T>
DEVICE lanes<T> operator+(lanes<T> a, lanes<T> b) {
  return {a.v + b.v};
}
template <class T>
DEVICE lanes<T> min(lanes<T> a, lanes<T> b) {
  return {sizeof(T) == 2 ? __vminu2(a.v, b.v) : a.v < b.v ? a.v : b.v};
}
DEVICE lanes<uint32_t> max(lanes<uint32_t> a, lanes<uint32_t> b) { return {a.v > b.v ? a.v : b.v}; }
DEVICE lanes<uint32_t> unless_above(lanes<uint32_t> x, lanes<uint32_t> most, lanes<uint32_t> other) {
  return {x.v > most.v ? other.v : x.v};
}
// Returns min(best, a + b). A GPU from sm_90 on has one instruction for it (DPX).
template <class T>
DEVICE lanes<T> min_add(lanes<T> best, lanes<T> a, lanes<T> b) {
  return {sizeof(T) == 2 ? __viaddmin_u16x2(a.v, b.v, best.v) : __viaddmin_u32(a.v, b.v, best.v)};
}
// Lane numbers are sets of bits. Returns at each lane s that has bit b the x of lane s without it, and at the other
// lanes infinity (the largest value with a clear top bit).
template <class T>
DEVICE lanes<T> without(lanes<T> x, int b) {
  constexpr int own_bits = lane_bits<T>() - 5;  // bit 0 tells the two values of 16 bits in a word
  if (b < own_bits) return {x.v << 16 | 0x7fffu};
  const uint32_t other = __shfl_xor_sync(0xffffffffu, x.v, 1 << (b - own_bits));
  return {lane() >> (b - own_bits) & 1 ? other : sizeof(T) == 2 ? 0x7fff7fffu : 0x7fffffffu};
}
// Returns the elements up to `last`, backwards: lane s of the register at `position` is last[-(position + s)].
template <class T>
DEVICE lanes<T> load_mirrored(const T *last, size_t position) {
  const uint32_t x = load(last - position - (lanes<T>::width - 1)).v;
  return {sizeof(T) == 2 ? x >> 16 | x << 16 : x};
}
template <class T>
DEVICE void lower_to(uint32_t *target, lanes<T> x) {
  atomicMin(target, sizeof(T) == 4 ? x.v : x.v >> 16 < (x.v & 0xffffu) ? x.v >> 16 : x.v & 0xffffu);
}
// Uses comparisons, because an array that is indexed by a variable cannot be in registers, only in local memory.
template <class T, int n>
DEVICE T element(const T (&few)[n], int i) {
  T found = few[n - 1];
  UNROLL for (int k = n - 2; k >= 0; k--) found = i == k ? few[k] : found;
  return found;
}
DEVICE int lowest(uint32_t set) { return __popc(~set & (set - 1)); }
DEVICE int lowest(uint64_t set) { return __ffsll((long long)set) - 1; }
DEVICE int count(uint64_t set) { return __popcll(set); }
