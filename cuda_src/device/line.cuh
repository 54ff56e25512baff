// A line is 32 values side by side in memory, which a group (device/group.cuh) reads or lowers at once; to lower a
// value is to replace it by a smaller one. Values are unsigned, and at most half of what their type can hold, so that
// the sum of two fits.
//
//   load_line(p)              returns the 32 values at p, which other groups of the block may be lowering
//   lower_line(p, x, weight)  lowers the values at p to those of x + weight, and returns whether any has changed
//   from_leader(x)            returns the leader's x to every thread of the group
//   fence_block()             orders the thread's memory accesses before it and after it, as its block sees them
#pragma once
#include "device/group.cuh"

#if defined(__CUDACC__) || defined(HOST_THREADS)
template <class T>
struct line {
  T value;
};
template <class T>
DEVICE line<T> load_line(const T *p) {
  return {peek(p + lane())};
}
template <class T>
DEVICE bool lower_line(T *p, const line<T> &x, T weight) {
  const T offer = x.value + weight;
  const bool lower = offer < peek(p + lane()) && offer < atomicMin_block(p + lane(), offer);
  return __ballot_sync(full_mask, lower) != 0;
}
template <class T>
DEVICE T from_leader(T x) {
  return shuffled(x, 0);
}
#else
template <class T>
struct line {
  static constexpr int parts = 32 / lanes<T>::width;
  typename lanes<T>::vector part[parts];
};
template <class T>
DEVICE line<T> load_line(const T *p) {
  line<T> x;
  UNROLL for (int k = 0; k < x.parts; k++) x.part[k] = load(p + k * lanes<T>::width).v;
  return x;
}
template <class T>
DEVICE bool lower_line(T *p, const line<T> &x, T weight) {
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
