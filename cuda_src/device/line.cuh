// A line is W values side by side in memory, 32 if nothing else is said, or 16 or 64, which a group (device/group.cuh)
// works on at once. Values are unsigned, and those that are added at most half of what their type can hold, so that the
// sum of two fits. A thread has `parts` words of a line: under g++ a word is a vector register, in the two CUDA builds
// one value (of a line of 16, half of a warp has none). Words know + - < == & and ?:, and `flag` is the result of
// a comparison.
//
// A wide line is one of which, in the two CUDA builds, each thread has 16 bytes side by side, read and written at once. So
// a warp works on several, each by a group of its threads. It stands on a boundary of 16 bytes.
//
//   read_line<W>(p)           returns the values at p, which nobody is changing; read_wide<W>(p) returns a wide line
//   load_line<W>(p)           returns the values at p, which other groups of the block may be lowering
//   store_line(p, x)          sets the values at p; fill_line<W>(p, x) sets all of them to x, by one thread
//   all_of<W>(x)              returns a line with x everywhere; wide_of<W>(x) returns a wide line
//   wide_group<T, W>()        the number of this thread's group for wide lines, of the wide_groups<T, W>() of its block
//   groups_a_warp<T, W>       the number of these groups in a warp
//   least_of_warp(x)          returns the least values of the wide lines of a warp's groups to each of them
//   lower_line(p, x, weight)  lowers the values at p to those of x + weight, and returns whether any has changed; to
//                             lower a value is to replace it by a smaller one
//   any_value(x)              returns whether any of the values that the thread has is not 0
//   each_value(x, use)        calls use(k, value) for each value of the line, by the thread that has it
//   where(flag, x, y)         returns the word with x where the flag is set, else y; y and x are words or values
//   from_leader(x)            returns the leader's x to every thread of the group
//   fence_block()             orders the thread's memory accesses before it and after it, as its block sees them
#pragma once
#include "device/group.cuh"

#if defined(__CUDACC__) || defined(HOST_THREADS)
template <class T>
struct alignas(16) sixteen_bytes {
  static constexpr int values = 16 / sizeof(T);
  T value[values];
};
// V values side by side are a thread's, or if V is 1 every 32nd value.
template <class T, int W = 32, int V = 1>
struct line {
  static constexpr int parts = V > 1 ? V : W > 32 ? W / 32 : 1;
  typedef T word;
  word part[parts];
};
template <class T, int W>
using wide_line = line<T, W, sixteen_bytes<T>::values>;
// Whether a thread has words of a line: of a line of 16 only half of a warp has.
template <int W, int V = 1>
DEVICE bool has_words() {
  return V > 1 || W >= 32 || lane() < W;
}
template <int W, int V = 1>
DEVICE int place_of(int k) {
  return V > 1 ? V * (threadIdx.x % (W / V)) + k : 32 * k + lane();
}
template <class T, int W>
DEVICE uint32_t wide_group() {
  return threadIdx.x / (W / sixteen_bytes<T>::values);
}
template <class T, int W>
DEVICE uint32_t wide_groups() {
  return blockDim.x / (W / sixteen_bytes<T>::values);
}
template <class T, int W>
constexpr uint32_t groups_a_warp = 32 / (W / sixteen_bytes<T>::values);
template <class T, int W, int V>
DEVICE line<T, W, V> least_of_warp(line<T, W, V> x) {
  UNROLL for (int d = W / V; d < 32; d *= 2) UNROLL for (int k = 0; k < x.parts; k++) {
    const T other = shuffled(x.part[k], lane() ^ d);
    x.part[k] = other < x.part[k] ? other : x.part[k];
  }
  return x;
}
template <int W = 32, class T>
DEVICE line<T, W> read_line(const T *p) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = has_words<W>() ? p[place_of<W>(k)] : 0;
  return x;
}
template <int W, class T>
DEVICE wide_line<T, W> read_wide(const T *p) {
  wide_line<T, W> x;
  const sixteen_bytes<T> own = *(const sixteen_bytes<T> *)(p + place_of<W, x.parts>(0));
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = own.value[k];
  return x;
}
template <int W = 32, class T>
DEVICE line<T, W> load_line(const T *p) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = has_words<W>() ? peek(p + place_of<W>(k)) : 0;
  return x;
}
template <class T, int W>
DEVICE void store_line(T *p, const line<T, W> &x) {
  if (!has_words<W>()) return;
  UNROLL for (int k = 0; k < x.parts; k++) p[place_of<W>(k)] = x.part[k];
}
template <class T, int W>
DEVICE void store_line(T *p, const wide_line<T, W> &x) {
  sixteen_bytes<T> own;
  UNROLL for (int k = 0; k < x.parts; k++) own.value[k] = x.part[k];
  *(sixteen_bytes<T> *)(p + place_of<W, x.parts>(0)) = own;
}
template <int W, class T>
DEVICE void fill_line(T *p, T value) {
  sixteen_bytes<T> all;
  UNROLL for (int k = 0; k < all.values; k++) all.value[k] = value;
  UNROLL for (int k = 0; k < W; k += all.values) * (sixteen_bytes<T> *)(p + k) = all;
}
template <int W = 32, int V = 1, class T>
DEVICE line<T, W, V> all_of(T value) {
  line<T, W, V> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = value;
  return x;
}
template <int W, class T>
DEVICE wide_line<T, W> wide_of(T value) {
  return all_of<W, sixteen_bytes<T>::values>(value);
}
template <class T, int W>
DEVICE bool lower_line(T *p, const line<T, W> &x, T weight) {
  bool lower = false;
  UNROLL for (int k = 0; k < x.parts; k++) {
    const T offer = x.part[k] + weight;
    T *to = p + place_of<W>(k);
    lower |= has_words<W>() && offer < peek(to) && offer < atomicMin_block(to, offer);
  }
  return __ballot_sync(full_mask, lower) != 0;
}
template <class T, int W, int V>
DEVICE bool any_value(const line<T, W, V> &x) {
  T any = 0;
  UNROLL for (int k = 0; k < x.parts; k++) any |= x.part[k];
  return any != 0;
}
template <class T, int W, int V, class Use>
DEVICE void each_value(const line<T, W, V> &x, const Use &use) {
  if (!has_words<W, V>()) return;
  UNROLL for (int k = 0; k < x.parts; k++) use(place_of<W, V>(k), x.part[k]);
}
template <class T>
DEVICE T where(bool flag, T x, T y) {
  return flag ? x : y;
}
template <class T>
DEVICE T from_leader(T x) {
  return shuffled(x, 0);
}
#else
template <class T, int W = 32>
struct line {
  static constexpr int parts = W / lanes<T>::width;
  typedef typename lanes<T>::vector word;
  word part[parts];
};
template <class T, int W>
using wide_line = line<T, W>;
template <class T, int W>
DEVICE uint32_t wide_group() {
  return 0;
}
template <class T, int W>
DEVICE uint32_t wide_groups() {
  return 1;
}
template <class T, int W>
constexpr uint32_t groups_a_warp = 1;
template <class T, int W>
DEVICE line<T, W> least_of_warp(const line<T, W> &x) {
  return x;
}
template <int W = 32, class T>
DEVICE line<T, W> read_line(const T *p) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = load(p + k * lanes<T>::width).v;
  return x;
}
template <int W, class T>
DEVICE line<T, W> read_wide(const T *p) {
  return read_line<W>(p);
}
template <int W = 32, class T>
DEVICE line<T, W> load_line(const T *p) {
  return read_line<W>(p);
}
template <class T, int W>
DEVICE void store_line(T *p, const line<T, W> &x) {
  UNROLL for (int k = 0; k < x.parts; k++) store(p + k * lanes<T>::width, lanes<T>{x.part[k]});
}
template <int W = 32, class T>
DEVICE line<T, W> all_of(T value) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = typename line<T, W>::word{} + value;
  return x;
}
template <int W, class T>
DEVICE line<T, W> wide_of(T value) {
  return all_of<W>(value);
}
template <int W, class T>
DEVICE void fill_line(T *p, T value) {
  store_line(p, all_of<W>(value));
}
template <class T, int W>
DEVICE bool any_value(const line<T, W> &x) {
  auto together = x.part[0];
  UNROLL for (int k = 1; k < x.parts; k++) together |= x.part[k];
  T any = 0;
  UNROLL for (int k = 0; k < lanes<T>::width; k++) any |= together[k];
  return any != 0;
}
template <class T, int W>
DEVICE bool lower_line(T *p, const line<T, W> &x, T weight) {
  typedef typename lanes<T>::vector vector;
  vector changed = {};
  UNROLL for (int k = 0; k < x.parts; k++) {
    const vector old = load(p + k * lanes<T>::width).v, offer = x.part[k] + weight;
    const vector least = offer < old ? offer : old;
    store(p + k * lanes<T>::width, lanes<T>{least});
    changed |= least ^ old;
  }
  T any = 0;
  UNROLL for (int k = 0; k < lanes<T>::width; k++) any |= changed[k];
  return any != 0;
}
template <class T, int W, class Use>
DEVICE void each_value(const line<T, W> &x, const Use &use) {
  for (int k = 0; k < W; k++) use(k, x.part[k / lanes<T>::width][k % lanes<T>::width]);
}
template <class Flag, class Word>
DEVICE Word where(Flag flag, Word x, Word y) {
  return flag ? x : y;
}
template <class T>
DEVICE T from_leader(T x) {
  return x;
}
#endif

#if defined(__CUDACC__)
DEVICE void fence_block() { __threadfence_block(); }
#elif defined(HOST_THREADS)
DEVICE void fence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#else
DEVICE void fence_block() {}
#endif
