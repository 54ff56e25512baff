// A 4-ary heap of vertices, the one with the least key on top, for one thread. Ties are broken by the vertices'
// scrambled numbers: the order follows from the graph alone, but not from patterns in its numbering. (Grids, cubes and
// wheels are full of ties; with the smaller number first, Steiner trees there are half as heavy again.) `place` of a
// vertex is its index in the heap, or `nowhere`. Kernels and functions of the host include this file behind the header
// that defines DEVICE. `vertices` and `place` are pointers in a kernel, and vectors on the host.
#pragma once
#include <cstdint>

constexpr uint32_t nowhere = ~0u;

template <class T, class Words = uint32_t *>
struct heap {
  uint32_t size;
  Words vertices, place;
  const T *keys;
};
// An odd factor, so that different numbers stay different.
DEVICE uint32_t scrambled(uint32_t v) { return v * 0x9E3779B1u; }
template <class T, class Words>
DEVICE bool precedes(const heap<T, Words> &h, uint32_t v, uint32_t w) {
  return h.keys[v] < h.keys[w] || (h.keys[v] == h.keys[w] && scrambled(v) < scrambled(w));
}
template <class T, class Words>
DEVICE void put(heap<T, Words> &h, uint32_t at, uint32_t v) {
  h.vertices[at] = v;
  h.place[v] = at;
}
// Moves v, which belongs at `at` or above it, up to its place.
template <class T, class Words>
DEVICE void rise(heap<T, Words> &h, uint32_t at, uint32_t v) {
  for (; at > 0; at = (at - 1) / 4) {
    const uint32_t parent = h.vertices[(at - 1) / 4];
    if (precedes(h, parent, v)) break;
    put(h, at, parent);
  }
  put(h, at, v);
}
// Adds a vertex, or moves it up if it waits already and its key has become smaller.
template <class T, class Words>
DEVICE void offer(heap<T, Words> &h, uint32_t v) {
  rise(h, h.place[v] == nowhere ? h.size++ : h.place[v], v);
}
// Removes and returns the top; the last vertex sinks from there to its place.
template <class T, class Words>
DEVICE uint32_t take(heap<T, Words> &h) {
  const uint32_t top = h.vertices[0], v = h.vertices[--h.size];
  h.place[top] = nowhere;
  uint32_t at = 0;
  for (uint32_t child; h.size && (child = 4 * at + 1) < h.size;) {
    uint32_t least = child;
    for (uint32_t c = child + 1; c < child + 4 && c < h.size; c++)
      if (precedes(h, h.vertices[c], h.vertices[least])) least = c;
    if (precedes(h, v, h.vertices[least])) break;
    put(h, at, h.vertices[least]);
    at = least;
  }
  if (h.size) put(h, at, v);
  return top;
}
