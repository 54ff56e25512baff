// A graph as searches read it: for each vertex the arcs that leave it and those that enter it, as (other end, weight)
// pairs. Vertices are numbered so that neighbours lie together in memory; `order` has their positions in the input.
#pragma once
#include <cstdint>

template <class T>
struct graph {
  uint32_t n;
  const uint32_t *offsets;
  const T *arcs;
  const uint32_t *in_offsets;
  const T *in_arcs;
  const uint32_t *order;
};
