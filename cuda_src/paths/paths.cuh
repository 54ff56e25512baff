// What follows from distances: predecessors, and the proof that both are right. Every vertex looks at the arcs that
// come in and decides for itself.
//
// Arcs come in the order of their tails' ids, whatever numbers the vertices have here: the first that fits is the
// smallest. The predecessor of v is the smallest u with an arc u -> v of weight d(v) - d(u) and d(u) < d(v). Arcs of
// weight 0 (or lost in rounding) make plateaus of equal distance; a vertex with no such u takes the smallest u of its
// plateau that is one hop nearer to where the plateau is entered. So predecessors are a tree, and the same for any
// schedule.
//
// The check counts what is wrong: an arc that offers a shorter way, or a way to what is not reached that is not beyond
// the horizon; a reached vertex without a predecessor; a seed that is not at 0, a root that is no seed. Distances that
// no arc shortens, each with a chain of fitting arcs from a seed, are the shortest.
#pragma once
#include "paths/searches.cuh"

// A source's graph (incoming arcs, (tail, weight) pairs) and distances, complete up to the horizon.
template <class T>
struct solved {
  const uint32_t *in_offsets;
  const T *in_arcs;
  const T *distance;
  T horizon;
  const uint32_t *hops;  // of each vertex from where its plateau is entered; nullptr if there are no plateaus
};
// What a thread found wrong; `cut`: arcs from reached to unreached vertices; `roots`: vertices without predecessor.
struct findings {
  uint32_t wrong = 0, cut = 0, roots = 0;
};

// Whether the a-th incoming arc joins its vertex, at `here`, to another one of its plateau.
template <class Sum, class T = typename Sum::key>
DEVICE bool level(const solved<T> &s, uint32_t a, T here) {
  return s.distance[s.in_arcs[2 * (size_t)a]] == here && exact(Sum(), here, s.in_arcs[2 * (size_t)a + 1], here);
}
// The smallest predecessor of v, in terms of the arcs' order; what the arcs contradict goes to `found`.
template <class Sum, class T = typename Sum::key>
DEVICE uint32_t predecessor(const solved<T> &s, uint32_t v, findings &found) {
  const T here = s.distance[v];
  const uint32_t begin = s.in_offsets[v], end = s.in_offsets[v + 1];
  uint32_t first = nobody;
  for (uint32_t a = begin; a < end; a++) {
    const T there = s.distance[s.in_arcs[2 * (size_t)a]], weight = s.in_arcs[2 * (size_t)a + 1];
    const uint32_t fits = there < here && exact(Sum(), there, weight, here) ? a : nobody;
    first = fits < first ? fits : first;
    if (there >= here || (here != unreached<T>() && !below(Sum(), there, weight, here))) continue;
    found.cut += here == unreached<T>();
    found.wrong += here != unreached<T>() || !beyond(Sum(), there, weight, s.horizon);
  }
  if (here == unreached<T>() || first != nobody) return here == unreached<T>() ? nobody : s.in_arcs[2 * (size_t)first];
  for (uint32_t a = begin; a < end && s.hops && s.hops[v]; a++)
    if (level<Sum>(s, a, here) && s.hops[s.in_arcs[2 * (size_t)a]] + 1 == s.hops[v]) return s.in_arcs[2 * (size_t)a];
  found.roots++, found.wrong += here != 0;
  return nobody;
}
// Fills in s.hops, of the vertices that a search may have reached: arcs from where a plateau is entered, 0 where it is
// entered or seeded, `nobody` if there is no way to it. As many rounds as the longest way inside of a plateau.
template <class Sum, class T = typename Sum::key>
DEVICE void count_hops(const solved<T> &s, const answer<T> &found, uint32_t n, uint32_t seeds, const uint32_t *seed,
                       uint32_t *hops, uint32_t *changed) {
  const uint32_t count = extent(found, n);
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    const uint32_t v = member(found, i);
    const T here = s.distance[v];
    uint32_t entered = nobody;
    for (uint32_t a = s.in_offsets[v]; a < s.in_offsets[v + 1]; a++) {
      const T there = s.distance[s.in_arcs[2 * (size_t)a]];
      if (there < here && exact(Sum(), there, s.in_arcs[2 * (size_t)a + 1], here)) entered = 0;
    }
    hops[v] = entered;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < seeds; i += blockDim.x) hops[seed[i]] = 0;
  for (uint32_t round = 1;; round++) {
    __syncthreads();
    if (threadIdx.x == 0) *changed = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
      const uint32_t v = member(found, i);
      if (hops[v] != nobody || s.distance[v] == unreached<T>()) continue;
      bool next = false;
      for (uint32_t a = s.in_offsets[v]; a < s.in_offsets[v + 1]; a++)
        next |= level<Sum>(s, a, s.distance[v]) && peek(&hops[s.in_arcs[2 * (size_t)a]]) == round - 1;
      if (next) atomicMin_block(&hops[v], round), atomicOr_block(changed, 1u);
    }
    __syncthreads();
    if (!*changed) break;
  }
  __syncthreads();
}
