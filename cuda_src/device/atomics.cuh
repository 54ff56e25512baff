// CUDA's atomics on a CPU, for 32 and 64 bits, among all blocks of a launch.
#pragma once
template <class T>
static inline T atomicMin(T *target, T value) {
  T old = __atomic_load_n(target, __ATOMIC_RELAXED);
  while (value < old && !__atomic_compare_exchange_n(target, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
static inline T atomicAdd(T *target, T value) {
  return __atomic_fetch_add(target, value, __ATOMIC_RELAXED);
}
template <class T>
static inline T atomicOr(T *target, T value) {
  return __atomic_fetch_or(target, value, __ATOMIC_RELAXED);
}
// Replaces *target by `value` if it is `expected`. Returns what it was.
template <class T>
static inline T atomicCAS(T *target, T expected, T value) {
  __atomic_compare_exchange_n(target, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
// Reads a value that other threads may be changing with atomics.
template <class T>
DEVICE T peek(const T *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
