// The g++ build of device/device.cuh: a block is one thread, OpenMP runs the blocks, and a register is a vector
// register of the CPU (GCC vector extensions). `__shared__` memory is on the thread's stack, and a block-stride loop is
// a plain loop that the compiler can vectorise. (`static thread_local` memory would cost a function call for each
// access, and 40 % of the speed.)
#pragma once
#include <utility>

#include "device/launch.cuh"

#define KERNEL static void
#define ANY_REGISTERS
#define REGISTERS(most)
#define DEVICE static inline __attribute__((always_inline))
#define MEMBER inline __attribute__((always_inline))
#define ROLLED
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_ON_GPU _Pragma("GCC unroll 1")
#define __shared__
#define __restrict__ __restrict

#if defined(__AVX512BW__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

static constexpr index3 threadIdx{0, 0, 0}, blockDim{1, 1, 1};
static thread_local index3 blockIdx, gridDim;  // several threads of a process may launch at once
static inline void __syncthreads() {}
#include "device/atomics.cuh"
template <class T>
DEVICE T *in_global(T *p) {
  return p;
}

template <class T>
struct lanes {
  static constexpr int width = VECTOR_BYTES / sizeof(T);  // elements of memory that one thread moves
  typedef T vector __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));
  typedef uint32_t words __attribute__((vector_size(VECTOR_BYTES)));
  vector v;
};

constexpr int warp_size = 1;  // threads that share a register
constexpr int registers_together = 1;  // two took 1.7 times as long in Held-Karp: memory is read out of order
// Whether a block is one thread, which may then do its work in any order.
constexpr bool one_thread_blocks = true;
constexpr bool permutes_lanes = VECTOR_BYTES == 64;
#if defined(__AVX512VBMI__)
constexpr bool permutes_bytes = true;
#else
constexpr bool permutes_bytes = false;
#endif

template <class T>
constexpr int lane_bits() {
  return __builtin_ctz(lanes<T>::width);
}
DEVICE int lane() { return 0; }
DEVICE int warp() { return 0; }
DEVICE int warps() { return 1; }

template <class T>
DEVICE lanes<T> load(const T *p) {
  return {*(const typename lanes<T>::vector *)p};
}
template <class T>
DEVICE void store(T *p, lanes<T> x) {
  *(typename lanes<T>::vector *)p = x.v;
}
// Returns a register with the same value in every lane. The caller gives a 16-bit value twice in a pattern of 32 bits,
// because x86 broadcasts 32 bits at the cost of a load, while 16 bits need a shuffle too.
template <class T>
DEVICE lanes<T> splat(uint32_t pattern) {
  return {(typename lanes<T>::vector)(typename lanes<T>::words{} + pattern)};
}
// No sum of two values wraps, so nothing is carried from one value of 16 bits to the next, and words can be added:
// AVX-512 reads a word from memory, repeats it and adds it in one instruction, which it cannot do with 16 bits.
template <class T>
DEVICE lanes<T> operator+(lanes<T> a, lanes<T> b) {
  typedef typename lanes<T>::words words;
  return {(typename lanes<T>::vector)((words)a.v + (words)b.v)};
}
template <class T>
DEVICE lanes<T> min(lanes<T> a, lanes<T> b) {
  return {a.v < b.v ? a.v : b.v};
}
DEVICE lanes<uint32_t> max(lanes<uint32_t> a, lanes<uint32_t> b) { return {a.v > b.v ? a.v : b.v}; }
DEVICE lanes<uint32_t> unless_above(lanes<uint32_t> x, lanes<uint32_t> most, lanes<uint32_t> other) {
  return {x.v > most.v ? other.v : x.v};
}
template <class T>
DEVICE lanes<T> min_add(lanes<T> best, lanes<T> a, lanes<T> b) {
  return min(best, a + b);
}
template <int B, class T, size_t... S>
DEVICE lanes<T> without_bit(lanes<T> x, std::index_sequence<S...>) {
  typedef typename lanes<T>::vector vector;
  constexpr vector partner{(T)(S ^ (1 << B))...}, absent{(T)(S >> B & 1 ? T(0) : (T)((T)~T(0) >> 1))...};
  vector other = __builtin_shuffle(x.v, partner);
  return {other > absent ? other : absent};
}
// Lane numbers are sets of bits. Returns at each lane s that has bit b the x of lane s without it, and at the other
// lanes infinity (the largest value with a clear top bit).
template <class T>
DEVICE lanes<T> without(lanes<T> x, int b) {
  constexpr int width = lanes<T>::width, last = __builtin_ctz(width) - 1;
  auto all = std::make_index_sequence<width>();
  switch (b) {
    case 0: return without_bit<0>(x, all);
    case 1: return without_bit<1>(x, all);
    case 2: return without_bit<(last < 2 ? last : 2)>(x, all);
    case 3: return without_bit<(last < 3 ? last : 3)>(x, all);
    default: return without_bit<last>(x, all);
  }
}
template <class T, size_t... S>
DEVICE lanes<T> reversed(lanes<T> x, std::index_sequence<S...>) {
  constexpr typename lanes<T>::vector order{(T)(sizeof...(S) - 1 - S)...};
  return {__builtin_shuffle(x.v, order)};
}
// Returns the elements up to `last`, backwards: lane s of the register at `position` is last[-(position + s)].
template <class T>
DEVICE lanes<T> load_mirrored(const T *last, size_t position) {
  return reversed(load(last - position - (lanes<T>::width - 1)), std::make_index_sequence<lanes<T>::width>());
}
// Atomics within a block are plain reads and writes, since it is one thread.
template <class T>
DEVICE T atomicMin_block(T *target, T value) {
  T old = *target;
  *target = value < old ? value : old;
  return old;
}
template <class T>
DEVICE T atomicAdd_block(T *target, T value) {
  T old = *target;
  *target = old + value;
  return old;
}
template <class T>
DEVICE T atomicOr_block(T *target, T value) {
  T old = *target;
  *target = old | value;
  return old;
}
template <class T>
DEVICE T peek_block(const T *p) {
  return *p;
}
DEVICE void prefetch(const void *p) { __builtin_prefetch(p); }
DEVICE void prefetch_write(void *p) { __builtin_prefetch(p, 1); }
template <class T>
DEVICE void lower_to(uint32_t *target, lanes<T> x) {
  T least = x.v[0];
  for (int s = 1; s < lanes<T>::width; s++) least = x.v[s] < least ? x.v[s] : least;
  atomicMin(target, (uint32_t)least);
}
template <class T, int n>
DEVICE T element(const T (&few)[n], int i) {
  return few[i];
}
DEVICE int lowest(uint32_t set) { return __builtin_ctz(set); }
DEVICE int lowest(uint64_t set) { return __builtin_ctzll(set); }
DEVICE int count(uint64_t set) { return __builtin_popcountll(set); }

template <class... A, size_t... I>
static void run_grid(void (*kernel)(A...), unsigned grid, unsigned, void **params, std::index_sequence<I...>) {
#pragma omp parallel for schedule(dynamic, 1) if (grid > 1)
  for (unsigned b = 0; b < grid; b++) {
    blockIdx = {b, 0, 0};
    gridDim = {grid, 1, 1};
    kernel(*static_cast<std::remove_reference_t<A> *>(params[I])...);
  }
}
