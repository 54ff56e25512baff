// A graph as searches read it: for each vertex the arcs that leave it and those that enter it, as (other end, weight)
// pairs. Vertices are numbered so that neighbours lie together in memory; `order` has their positions in the input.
#pragma once
#include "device/device.cuh"

// An arc as it stands in memory, seen from one end: the other end, and the weight. It is read as one word.
template <class T>
struct alignas(2 * sizeof(T)) arc {
  T end, weight;
};
template <class T>
DEVICE arc<T> arc_at(const T *arcs, uint32_t a) {
  return ((const arc<T> *)arcs)[a];
}

template <class T>
struct graph {
  uint32_t n;
  const uint32_t *offsets;
  const T *arcs;
  const uint32_t *in_offsets;
  const T *in_arcs;
  const uint32_t *order;
};
