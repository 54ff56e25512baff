// Predecessors from distances, and a check that both are right. Each vertex is treated by itself, from its incoming
// arcs.
//
// The arcs into a vertex are in the order of their tails' positions in the input, whatever the vertices' numbers here.
// So the first arc that fits has the smallest tail. The predecessor of v is the smallest u with an arc u -> v of weight
// d(v) - d(u) and d(u) < d(v). Arcs of weight 0 (or lost in rounding) make plateaus of equal distance; a vertex without
// such a u takes the smallest u of its plateau that is one hop nearer to where the plateau is entered. So predecessors
// form a tree, which does not depend on the schedule.
//
// The check counts errors: an arc that offers a shorter path, or leads to an unreached vertex within the cutoff; a
// reached vertex without a predecessor; a seed that is not at distance 0; a root that is not a seed. Distances that no
// arc shortens, each with a path of fitting arcs from a seed, are the shortest.
#pragma once
#include "paths/searches.cuh"

// Incoming arcs, (tail, weight) pairs, and the distances of one search, complete up to the cutoff.
template <class T>
struct solved {
  const uint32_t *in_offsets;
  const T *in_arcs;
  const T *distance;
  T cutoff;
  const uint32_t *hops;  // of each vertex, from where its plateau is entered; nullptr if there are no plateaus
};
// What a thread has found. `wrong`: errors; `cut`: arcs from reached to unreached vertices; `roots`: vertices without a
// predecessor.
struct findings {
  uint32_t wrong = 0, cut = 0, roots = 0;
};

// Returns whether the tail of incoming arc a is in the same plateau as its head, which is at distance `here`.
template <class Sum, class T = typename Sum::key>
DEVICE bool level(const solved<T> &s, uint32_t a, T here) {
  return s.distance[s.in_arcs[2 * (size_t)a]] == here && exact(Sum(), here, s.in_arcs[2 * (size_t)a + 1], here);
}
// Returns the predecessor of v, by the first arc that fits. Contradictions between arcs and distances are counted in
// `found`.
template <class Sum, class T = typename Sum::key>
DEVICE uint32_t predecessor(const solved<T> &s, uint32_t v, findings &found) {
  const T here = s.distance[v];
  const uint32_t begin = s.in_offsets[v], end = s.in_offsets[v + 1];
  uint32_t first = none;
  for (uint32_t a = begin; a < end; a++) {
    const arc<T> in = arc_at(s.in_arcs, a);
    const T there = s.distance[in.end], weight = in.weight;
    const uint32_t fits = there < here && exact(Sum(), there, weight, here) ? a : none;
    first = fits < first ? fits : first;
    if (there >= here || (here != no_path<T>() && !below(Sum(), there, weight, here))) continue;
    found.cut += here == no_path<T>();
    found.wrong += here != no_path<T>() || !beyond(Sum(), there, weight, s.cutoff);
  }
  if (here == no_path<T>() || first != none) return here == no_path<T>() ? none : s.in_arcs[2 * (size_t)first];
  for (uint32_t a = begin; a < end && s.hops && s.hops[v]; a++)
    if (level<Sum>(s, a, here) && s.hops[s.in_arcs[2 * (size_t)a]] + 1 == s.hops[v]) return s.in_arcs[2 * (size_t)a];
  found.roots++, found.wrong += here != 0;
  return none;
}
// Fills in the hops of all vertices that a search may have reached: the number of arcs from where the vertex's plateau
// is entered, which is 0 for the entrance or a seed, and `none` if no entrance leads there. It takes as many rounds as
// the longest such path has arcs.
template <class Sum, class T = typename Sum::key>
DEVICE void count_hops(const solved<T> &s, const answer<T> &found, uint32_t n, uint32_t seeds, const uint32_t *seed,
                       uint32_t *hops, uint32_t *changed) {
  const uint32_t count = extent(found, n);
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    const uint32_t v = member(found, i);
    const T here = s.distance[v];
    uint32_t entered = none;
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
      if (hops[v] != none || s.distance[v] == no_path<T>()) continue;
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
