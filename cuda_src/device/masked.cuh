// Registers of values that stand where masks say, for tables whose entries are numbered by sets of bits. `e` is the
// entry of this thread's first lane; a register has neighbouring entries, of which the first is a multiple of its width.
//
//   load_masked(table, e, keep, put)   the values at (e & keep) | put
//   load_flipped(table, e, flip)       the values at e ^ flip
#pragma once
#include "device/device.cuh"

#if defined(__CUDACC__) || defined(HOST_THREADS)
template <class T>
DEVICE lanes<T> load_masked(const T *table, uint32_t e, uint32_t keep, uint32_t put) {
  return {table[(e & keep) | put]};
}
template <class T>
DEVICE lanes<T> load_flipped(const T *table, uint32_t e, uint32_t flip) {
  return {table[e ^ flip]};
}
#else
// All lanes of a result come from one register, whose lanes are shuffled.
typedef int32_t lane_numbers __attribute__((vector_size(VECTOR_BYTES)));
DEVICE lane_numbers numbered_lanes() {
  lane_numbers x{};
  UNROLL for (int s = 0; s < lanes<uint32_t>::width; s++) x[s] = s;
  return x;
}
template <class T>
DEVICE lanes<T> load_masked(const T *table, uint32_t e, uint32_t keep, uint32_t put) {
  constexpr uint32_t low = lanes<T>::width - 1;
  const lane_numbers from = (numbered_lanes() & (int32_t)keep) | (int32_t)(put & low);
  return {__builtin_shuffle(load(table + (((e & keep) | put) & ~low)).v, from)};
}
template <class T>
DEVICE lanes<T> load_flipped(const T *table, uint32_t e, uint32_t flip) {
  constexpr uint32_t low = lanes<T>::width - 1;
  return {__builtin_shuffle(load(table + ((e ^ flip) & ~low)).v, numbered_lanes() ^ (int32_t)(flip & low))};
}
#endif
