// Lanes in any order, where permutes_lanes says that this is quick: with AVX-512.
//
//   lane_order<T>        an order; `number(lane)` is what its entries `from` hold, at first that of lane 0
//   permuted(x, order)   at lane s the lane of x that the order's entry s holds
//   chosen(x, y, from)   at lane s lane from[s] of x, or lane from[s] - width of y
#pragma once
#include "device/device.cuh"

template <class T>
struct lane_order {
  static constexpr int width = lanes<T>::width;
  alignas(64) T from[width];

  constexpr lane_order() : from() {
    for (T &one : from) one = number(0);
  }
  // Some processors permute bytes in less time than values of 16 bits. Then a lane is its two bytes.
  static constexpr bool by_bytes = sizeof(T) == 2 && permutes_bytes;
  static constexpr T number(int lane) { return (T)(by_bytes ? 2 * lane | (2 * lane + 1) << 8 : lane); }
};
#if defined(VECTOR_BYTES)
template <class T>
DEVICE lanes<T> permuted(lanes<T> x, const lane_order<T> &order) {
  typedef uint8_t bytes __attribute__((vector_size(VECTOR_BYTES)));
  const auto from = load(order.from).v;
  if constexpr (lane_order<T>::by_bytes) return {(typename lanes<T>::vector)__builtin_shuffle((bytes)x.v, (bytes)from)};
  return {__builtin_shuffle(x.v, from)};
}
template <class T>
DEVICE lanes<T> chosen(lanes<T> x, lanes<T> y, const T *from) {
  return {__builtin_shuffle(x.v, y.v, load(from).v)};
}
#endif
