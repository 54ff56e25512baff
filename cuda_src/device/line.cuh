// A line is W values side by side in memory, 32 if nothing else is said, or 16 or 64, which a group (device/group.cuh)
// works on at once. Values are unsigned, and those that are added at most half of what their type can hold, so that the
// sum of two fits. A thread has `parts` words of a line: under g++ a word is a vector register, in the two CUDA builds
// one value (of a line of 16, half of a warp has none). Words know + - < == & and ?:, and `flag` is the result of
// a comparison.
//
//   read_line<W>(p)           returns the values at p, which nobody is changing
//   load_line<W>(p)           returns the values at p, which other groups of the block may be lowering
//   store_line(p, x)          sets the values at p
//   all_of<W>(x)              returns a line with x everywhere
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
template <class T, int W = 32>
struct line {
  static constexpr int parts = W > 32 ? W / 32 : 1;
  typedef T word;
  word part[parts];
};
// Whether a thread has words of a line: of a line of 16 only half of a warp has.
template <int W>
DEVICE bool has_words() {
  return W >= 32 || lane() < W;
}
DEVICE int place_of(int k) { return 32 * k + lane(); }
template <int W = 32, class T>
DEVICE line<T, W> read_line(const T *p) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = has_words<W>() ? p[place_of(k)] : 0;
  return x;
}
template <int W = 32, class T>
DEVICE line<T, W> load_line(const T *p) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = has_words<W>() ? peek(p + place_of(k)) : 0;
  return x;
}
template <class T, int W>
DEVICE void store_line(T *p, const line<T, W> &x) {
  if (!has_words<W>()) return;
  UNROLL for (int k = 0; k < x.parts; k++) p[place_of(k)] = x.part[k];
}
template <int W = 32, class T>
DEVICE line<T, W> all_of(T value) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = value;
  return x;
}
template <class T, int W>
DEVICE bool lower_line(T *p, const line<T, W> &x, T weight) {
  bool lower = false;
  UNROLL for (int k = 0; k < x.parts; k++) {
    const T offer = x.part[k] + weight;
    T *to = p + place_of(k);
    lower |= has_words<W>() && offer < peek(to) && offer < atomicMin_block(to, offer);
  }
  return __ballot_sync(full_mask, lower) != 0;
}
template <class T, int W>
DEVICE bool any_value(const line<T, W> &x) {
  T any = 0;
  UNROLL for (int k = 0; k < x.parts; k++) any |= x.part[k];
  return any != 0;
}
template <class T, int W, class Use>
DEVICE void each_value(const line<T, W> &x, const Use &use) {
  if (!has_words<W>()) return;
  UNROLL for (int k = 0; k < x.parts; k++) use(place_of(k), x.part[k]);
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
template <int W = 32, class T>
DEVICE line<T, W> read_line(const T *p) {
  line<T, W> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = load(p + k * lanes<T>::width).v;
  return x;
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
