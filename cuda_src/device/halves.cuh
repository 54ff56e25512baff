// Halves of a register, where cheap_halves says that they pay (device/device.cuh).
#pragma once
#include "device/device.cuh"

#if defined(VECTOR_BYTES) && VECTOR_BYTES == 64
#include <immintrin.h>  // only here: it takes a fifth of the time in which g++ compiles a kernel file

template <class T>
DEVICE lanes<T, 32> half_of(lanes<T> x, int upper) {
  const auto v = (__m512i)x.v;
  return {(typename lanes<T, 32>::vector)(upper ? _mm512_extracti64x4_epi64(v, 1) : _mm512_castsi512_si256(v))};
}
template <class T>
DEVICE lanes<T> joined(lanes<T, 32> low, lanes<T, 32> high) {
  return {(typename lanes<T>::vector)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)low.v), (__m256i)high.v, 1)};
}
#endif
