// Distances as keys: unsigned integers that order like the distances. An integer is its own key, a non-negative IEEE
// number has its bit pattern. And what searches need beside it: a queue's push, a block's minimum, the next job.
#pragma once
#include "device/device.cuh"

template <class T>
constexpr DEVICE T unreached() {
  return ~(T)0;
}
// What stands for "not reached" where any weight may be added to it, and no sum may wrap.
template <class T>
constexpr DEVICE T infinite() {
  return unreached<T>() >> 1;
}
constexpr uint32_t nobody = ~0u;

// How keys add up. Integers: exactly, and beyond the limit if the sum would pass it.
template <class T>
struct integer {
  using key = T;
};
template <class T>
DEVICE T plus(integer<T>, T distance, T weight) {
  return distance + weight;
}
template <class T>
DEVICE bool beyond(integer<T>, T distance, T weight, T limit) {
  return weight > limit - distance;
}
// Whether a distance with a weight added is below, or exactly, `there`, which is not below the distance.
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
// Non-negative IEEE numbers, by their bit patterns; infinity is beyond any limit.
template <class T, class Number>
struct real {
  using key = T;
};
template <class T, class Number>
DEVICE T plus(real<T, Number>, T distance, T weight) {
  return bits_as<T>(bits_as<Number>(distance) + bits_as<Number>(weight));
}
template <class T, class Number>
DEVICE bool beyond(real<T, Number> sum, T distance, T weight, T limit) {
  return plus(sum, distance, weight) > limit;
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

// Appends x unless the items are full. *count runs past the capacity then: read it through a minimum.
DEVICE bool push(uint32_t *items, uint32_t capacity, uint32_t *count, uint32_t x) {
  const uint32_t place = atomicAdd_block(count, 1u);
  if (place < capacity) items[place] = x;
  return place < capacity;
}
// The smallest x of the block, given to every thread; barriers before and after.
template <class T>
DEVICE T block_min(T *shared, T x) {
  if (threadIdx.x == 0) *shared = ~(T)0;
  __syncthreads();
  atomicMin_block(shared, x);
  __syncthreads();
  const T result = *shared;
  __syncthreads();
  return result;
}
// The number of the next job that no block has, given to every thread; *next counts those that were taken.
DEVICE uint32_t take_job(uint32_t *next, uint32_t *shared) {
  __syncthreads();
  if (threadIdx.x == 0) *shared = atomicAdd(next, 1u);
  __syncthreads();
  return *shared;
}
