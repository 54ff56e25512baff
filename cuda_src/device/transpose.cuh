// Lines (device/line.cuh) to rows: entry (k, c) of the rows is value k of the line of vertex[c].
//
//   write_columns<W>(lines, vertex, begin, end, step, values, columns, most, rows)
//     by one thread: writes `values` rows at the columns begin, begin + step, ... below `end`; what is larger than
//     `most` becomes all ones. Lines stand on 16-byte boundaries. Under g++ `step` is 1, and squares of registers are
//     transposed by shuffles.
#pragma once
#include "device/line.cuh"

template <class Out, class T>
DEVICE Out entry_of(T value, T most) {
  return value > most ? ~(Out)0 : (Out)value;
}
#if defined(__CUDACC__) || defined(HOST_THREADS)
// A thread reads a line of its own, so a load of 16 bytes takes half of a sector at once. A warp's stores are of
// neighbouring columns, whole sectors; wider ones would need rows that begin on boundaries of 16 bytes.
template <int W, class T, class Out>
DEVICE void write_columns(const T *lines, const uint32_t *vertex, uint32_t begin, uint32_t end, uint32_t step,
                          uint32_t values, size_t columns, T most, Out *rows) {
  constexpr uint32_t wide = sixteen_bytes<T>::values;
  for (uint32_t c = begin; c < end; c += step) {
    const T *from = lines + W * (size_t)vertex[c];
    Out *to = rows + c;
    for (uint32_t k = 0; k < values; k += wide) {
      const sixteen_bytes<T> x = *(const sixteen_bytes<T> *)(from + k);
      UNROLL for (uint32_t i = 0; i < wide; i++, to += columns) if (k + i < values) *to =
          entry_of<Out>(x.value[i], most);
    }
  }
}
#else
// Exchanges the lanes of `a` with bit D of their index for the lanes of `b` without it.
template <int D, class V, size_t... S>
DEVICE void exchange(V &a, V &b, std::index_sequence<S...>) {
  typedef decltype(a < b) indices;
  constexpr size_t w = sizeof...(S);
  constexpr indices low{(S & D ? w + S - D : S)...}, high{(S & D ? w + S : S + D)...};
  const V x = __builtin_shuffle(a, b, low);
  b = __builtin_shuffle(a, b, high), a = x;
}
// Transposes a square of values, one register a row, with one exchange for each bit of the index.
template <int D, class V, int w>
DEVICE void transpose(V (&x)[w]) {
  if constexpr (D < w) {
    UNROLL for (int i = 0; i < w; i++) if (!(i & D)) exchange<D>(x[i], x[i | D], std::make_index_sequence<w>());
    transpose<2 * D>(x);
  }
}
template <int W, class T, class Out>
DEVICE void write_columns(const T *lines, const uint32_t *vertex, uint32_t begin, uint32_t end, uint32_t,
                          uint32_t values, size_t columns, T most, Out *rows) {
  constexpr uint32_t w = lanes<T>::width;
  typedef typename lanes<T>::vector vector;
  uint32_t c = begin;
  if constexpr (sizeof(T) == sizeof(Out))
    for (; c + w <= end; c += w)
      for (uint32_t r = 0; r < values; r += w) {
        vector square[w];
        UNROLL for (uint32_t i = 0; i < w; i++) {
          if (c + i + 2 * w < end) prefetch(lines + W * (size_t)vertex[c + i + 2 * w] + r);
          const vector x = load(lines + W * (size_t)vertex[c + i] + r).v;
          square[i] = x > most ? ~vector{} : x;
        }
        transpose<1>(square);
        UNROLL for (uint32_t k = 0; k < w; k++) if (r + k < values)
            store(rows + (r + k) * columns + c, lanes<T>{square[k]});
      }
  for (; c < end; c++)
    for (uint32_t k = 0; k < values; k++) rows[k * columns + c] = entry_of<Out>(lines[W * (size_t)vertex[c] + k], most);
}
#endif
