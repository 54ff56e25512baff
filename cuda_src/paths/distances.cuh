// Distances as keys: unsigned integers in the same order as the distances. The key of an integer is the integer itself,
// that of a non-negative IEEE number its bit pattern. Also what all searches share: push, block_min and take_search.
#pragma once
#include "device/group.cuh"

template <class T>
constexpr DEVICE T no_path() {
  return ~(T)0;
}
// Means "not reached" in kernels that add weights without a test first: it is so small that no sum wraps.
template <class T>
constexpr DEVICE T infinite() {
  return no_path<T>() >> 1;
}
constexpr uint32_t none = ~0u;  // no vertex, no arc

// How keys are added. Integers: exactly. Whether a sum is beyond the cutoff is told without forming it, as it may wrap.
template <class T>
struct integer {
  using key = T;
};
template <class T>
DEVICE T plus(integer<T>, T distance, T weight) {
  return distance + weight;
}
template <class T>
DEVICE bool beyond(integer<T>, T distance, T weight, T cutoff) {
  return weight > cutoff - distance;
}
// `below` returns whether distance + weight < there, `exact` whether they are equal; `there` is at least the distance.
template <class T>
DEVICE bool below(integer<T>, T distance, T weight, T there) {
  return weight < there - distance;
}
template <class T>
DEVICE bool exact(integer<T>, T distance, T weight, T there) {
  return weight == there - distance;
}
template <class T>
DEVICE T half(integer<T>, T width) {
  return width >> 1;
}
// Non-negative IEEE numbers, by their bit patterns; infinity is beyond any cutoff.
template <class T, class Number>
struct real {
  using key = T;
};
template <class T, class Number>
DEVICE T plus(real<T, Number>, T distance, T weight) {
  return bits_as<T>(bits_as<Number>(distance) + bits_as<Number>(weight));
}
template <class T, class Number>
DEVICE bool beyond(real<T, Number> sum, T distance, T weight, T cutoff) {
  return plus(sum, distance, weight) > cutoff;
}
template <class T, class Number>
DEVICE bool below(real<T, Number> sum, T distance, T weight, T there) {
  return plus(sum, distance, weight) < there;
}
template <class T, class Number>
DEVICE bool exact(real<T, Number> sum, T distance, T weight, T there) {
  return plus(sum, distance, weight) == there;
}
template <class T, class Number>
DEVICE T half(real<T, Number>, T width) {
  return bits_as<T>(bits_as<Number>(width) * (Number)0.5);
}

// Appends x unless the items are full, and returns whether it did. *count grows in either case, even beyond the
// capacity, so readers take the minimum of both.
DEVICE bool push(uint32_t *items, uint32_t capacity, uint32_t *count, uint32_t x) {
  const uint32_t place = atomicAdd_block(count, 1u);
  if (place < capacity) items[place] = x;
  return place < capacity;
}
// Returns the smallest x of the block to every thread. It begins and ends with a barrier.
template <class T>
DEVICE T block_min(T *shared, T x) {
  if (threadIdx.x == 0) *shared = ~(T)0;
  __syncthreads();
  if constexpr (sizeof(T) == 8) {  // as in `add_to`: no atomic 64-bit minimum in shared memory
    const T least = group_min(x);
    if (group_leader()) atomicMin_block(shared, least);
  } else {
    atomicMin_block(shared, x);
  }
  __syncthreads();
  const T result = *shared;
  __syncthreads();
  return result;
}
// Returns to every thread the number of the next search that no block has taken. *next counts those taken so far.
DEVICE uint32_t take_search(uint32_t *next, uint32_t *shared) {
  __syncthreads();
  if (threadIdx.x == 0) *shared = atomicAdd(next, 1u);
  __syncthreads();
  return *shared;
}
