// The weights of a contraction hierarchy, for graphs with small separators such as road networks. Made on the CPU, by one
// thread, without a single search (Dibbelt, Strasser and Wagner, Customizable Contraction Hierarchies, 2014).
// contraction.cu has ordered the vertices by rank, and joined the higher neighbours of each vertex to a clique.
//
// 1. customise: every arc gets the length of the shortest path whose inner vertices all lie below both its ends. In
//    ascending order of the vertices v, each pair of arcs from v to x and y offers its sum to the arc between x and y.
// 2. prune: drops an arc (v, x) if a path by way of some other vertex y above v is at least as short. In descending
//    order of v, arcs that were longer become true distances. What stays is the least set of arcs for this order. Proof:
//    let t be the highest vertex on any shortest path between s and t, and z the next to highest on them. If z is above
//    s, the pairs (s, z) and (z, t) are of this kind again, and have fewer vertices between them; if not, the arc (s, t)
//    is as long as the distance, and nothing drops it. With weights of 0 two paths could drop each other, so there only
//    what is strictly longer goes.
// 3. arrange: numbers the vertices from the top down, so that a vertex comes after the heads of its arcs.
//
// Every shortest path is then as long as one that first ascends and then descends (phast.cu). An arc has two weights,
// `up` from its lower end to its higher one, and `down`; in an undirected graph they are the same array. A weight of
// infinite() is no arc, and sums of two never wrap.
#include "paths/distances.cuh"

// The arcs of a hierarchy by rank, and their weights.
template <class T>
struct arcs_up {
  uint32_t n;
  const uint32_t *first, *head;
  T *up, *down;
};

// Calls use(a, b, e) for all pairs of arcs a < b of the k-th vertex, and the arc e between their heads.
template <class T, class Use>
DEVICE void triangles(const arcs_up<T> &h, uint32_t k, const Use &use) {
  for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++) {
    uint32_t e = h.first[h.head[a]];
    for (uint32_t b = a + 1; b < h.first[k + 1]; b++, e++) {
      while (h.head[e] != h.head[b]) e++;
      use(a, b, e);
    }
  }
}
template <class T>
DEVICE void lower(T &value, T offer) {
  value = offer < value ? offer : value;
}
// Returns the number of the arc from `low` to `high`.
template <class T>
DEVICE uint32_t arc_between(const arcs_up<T> &h, uint32_t low, uint32_t high) {
  uint32_t begin = h.first[low], end = h.first[low + 1];
  while (end - begin > 1) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (h.head[middle] <= high)
      begin = middle;
    else
      end = middle;
  }
  return begin;
}
// Gives every arc its weights: those of the graph, and of paths by way of lower vertices.
template <class T>
DEVICE void customise(const arcs_up<T> &h, const uint32_t *offsets, const T *arcs, const uint32_t *rank) {
  const bool directed = h.up != h.down;
  for (uint32_t a = 0; a < h.first[h.n]; a++) h.up[a] = h.down[a] = infinite<T>();
  for (uint32_t v = 0; v < h.n; v++)
    for (uint32_t a = offsets[v]; a < offsets[v + 1]; a++) {
      const uint32_t from = rank[v], to = rank[arcs[2 * (size_t)a]];
      const T weight = arcs[2 * (size_t)a + 1];
      if (from < to)
        lower(h.up[arc_between(h, from, to)], weight);
      else
        lower(h.down[arc_between(h, to, from)], weight);
    }
  for (uint32_t k = 0; k < h.n; k++)
    triangles(h, k, [&](uint32_t a, uint32_t b, uint32_t e) {
      lower(h.up[e], h.down[a] + h.up[b]);
      if (directed) lower(h.down[e], h.down[b] + h.up[a]);
    });
}
// Marks the arcs that stay: bit 0 of `kept` is set for up, bit 1 for down. `ties`: whether what is as long as another
// path goes too. `other` has room for twice the largest number of arcs of a vertex.
template <class T>
DEVICE void prune(const arcs_up<T> &h, bool ties, T *other, uint32_t widest, uint8_t *kept) {
  const bool directed = h.up != h.down;
  for (uint32_t k = h.n; k-- > 0;) {
    const uint32_t begin = h.first[k], end = h.first[k + 1];
    T *up = other, *down = other + widest;  // the shortest by way of another vertex above
    for (uint32_t i = 0; i < end - begin; i++) up[i] = down[i] = infinite<T>();
    triangles(h, k, [&](uint32_t a, uint32_t b, uint32_t e) {
      lower(up[b - begin], h.up[a] + h.up[e]), lower(up[a - begin], h.up[b] + h.down[e]);
      if (!directed) return;
      lower(down[b - begin], h.down[e] + h.down[a]), lower(down[a - begin], h.up[e] + h.down[b]);
    });
    for (uint32_t a = begin; a < end; a++) {
      const T above = up[a - begin], back = directed ? down[a - begin] : above;
      kept[a] = (h.up[a] < infinite<T>() && above + !ties > h.up[a]) |
                (h.down[a] < infinite<T>() && back + !ties > h.down[a]) << 1;
      lower(h.up[a], above);
      if (directed) lower(h.down[a], back);
    }
  }
}
// Numbers the vertices by level; `next` is room to work in.
DEVICE void number_by_level(uint32_t n, const uint32_t *tier, const uint32_t *level, uint32_t *next, uint32_t *place) {
  for (uint32_t t = 0; t < n; t++) next[t] = level[t];
  for (uint32_t k = n; k-- > 0;) place[k] = next[tier[k]]++;
}
// Numbers the vertices depth first. `next` counts the arcs that end at each vertex, `heads` those that begin there.
DEVICE void number_depth_first(uint32_t n, const uint32_t *first, const uint32_t *head, const uint8_t *kept,
                               uint32_t *heads, uint32_t *next, uint32_t *below, uint32_t *ready, uint32_t *place) {
  for (uint32_t k = 0; k < n; k++) next[k + 1] += next[k];
  for (uint32_t k = n; k-- > 0;)  // the last first: next[u] becomes the first of those below u
    for (uint32_t a = first[k]; a < first[k + 1]; a++)
      if (kept[a]) below[--next[head[a]]] = k;
  uint32_t waiting = 0, placed = 0;
  for (uint32_t k = 0; k < n; k++)
    if (!heads[k]) ready[waiting++] = k;
  while (waiting) {
    const uint32_t u = ready[--waiting];
    place[u] = placed++;
    for (uint32_t i = next[u]; i < next[u + 1]; i++)
      if (!--heads[below[i]]) ready[waiting++] = below[i];
  }
}
// Numbers the vertices from the top down: `place` of the k-th vertex. With `in_levels` that is by level, and by rank
// within it, and `level` has the first place of each; a vertex is a level below the lowest of its heads. Else it is
// depth first: a vertex comes soon after the last of its heads, which is then in the caches. `tier`, `heads`, `next` (n + 1)
// and `below` are room to work in; `counts` becomes the numbers of levels and of arcs that stay, up and down.
KERNEL hierarchy_arrange(uint32_t n, uint32_t in_levels, const uint32_t *first, const uint32_t *head,
                         const uint8_t *kept, uint32_t *tier, uint32_t *heads, uint32_t *next, uint32_t *below,
                         uint32_t *place, uint32_t *level, uint32_t *counts) {
  if (threadIdx.x || blockIdx.x) return;
  for (uint32_t k = 0; k <= n; k++) next[k] = level[k] = 0;
  counts[0] = counts[1] = counts[2] = 0;
  for (uint32_t k = n; k-- > 0;) {
    tier[k] = heads[k] = 0;
    for (uint32_t a = first[k]; a < first[k + 1]; a++) {
      if (!kept[a]) continue;
      counts[1] += kept[a] & 1, counts[2] += kept[a] >> 1, heads[k]++, next[head[a]]++;
      if (tier[k] <= tier[head[a]]) tier[k] = tier[head[a]] + 1;
    }
    if (counts[0] <= tier[k]) counts[0] = tier[k] + 1;
    level[tier[k] + 1]++;
  }
  for (uint32_t t = 0; t < n; t++) level[t + 1] += level[t];
  if (in_levels)
    number_by_level(n, tier, level, next, place);
  else
    number_depth_first(n, first, head, kept, heads, next, below, tier, place);
}
EXPORT_KERNEL(hierarchy_arrange)
#define WEIGHT_KERNELS(T, code)                                                                                   \
  KERNEL hierarchy_customise_##code(arcs_up<T> h, const uint32_t *offsets, const T *arcs, const uint32_t *rank) { \
    if (!threadIdx.x && !blockIdx.x) customise(h, offsets, arcs, rank);                                           \
  }                                                                                                               \
  EXPORT_KERNEL(hierarchy_customise_##code)                                                                       \
  KERNEL hierarchy_prune_##code(arcs_up<T> h, uint32_t ties, uint32_t widest, T *other, uint8_t *kept) {          \
    if (!threadIdx.x && !blockIdx.x) prune(h, ties, other, widest, kept);                                         \
  }                                                                                                               \
  EXPORT_KERNEL(hierarchy_prune_##code)
WEIGHT_KERNELS(uint32_t, u4)
WEIGHT_KERNELS(uint64_t, u8)
