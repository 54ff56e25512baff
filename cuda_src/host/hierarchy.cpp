// The weights of a contraction hierarchy, for graphs with small separators such as road networks, made without a single search
// (Dibbelt, Strasser and Wagner, Customizable Contraction Hierarchies, 2014).
// contraction.cpp has ordered the vertices by rank, and joined the higher neighbours of each vertex to a clique.
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
// `infinite` is no arc, and sums of two never wrap.
#include "host/function.hpp"

template <class T>
constexpr T infinite = ~(T)0 >> 1;

// The arcs of a contraction by rank: those from k to higher ranks are first[k] to first[k + 1] - 1, heads ascending.
struct arcs_up {
  uint32_t n;
  const uint32_t *first, *head;
};
// The graph: (end, weight) pairs, by vertex; `rank` of each vertex.
template <class T>
struct ranked_graph {
  const uint32_t *offsets;
  const T *arcs;
  const uint32_t *rank;
};
template <class T>
void lower(T &value, T offer) {
  value = offer < value ? offer : value;
}
// Calls use(a, b, e) for all pairs of arcs a < b of the k-th vertex, and the arc e between their heads.
template <class Use>
inline void triangles(const arcs_up &h, uint32_t k, const Use &use) {
  for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++) {
    uint32_t e = h.first[h.head[a]];
    for (uint32_t b = a + 1; b < h.first[k + 1]; b++, e++) {
      while (h.head[e] != h.head[b]) e++;
      use(a, b, e);
    }
  }
}
// Returns the number of the arc from `low` to `high`.
inline uint32_t arc_between(const arcs_up &h, uint32_t low, uint32_t high) {
  uint32_t begin = h.first[low], end = h.first[low + 1];
  while (end - begin > 1) {
    const uint32_t middle = begin + (end - begin) / 2;
    (h.head[middle] <= high ? begin : end) = middle;
  }
  return begin;
}
// Gives every arc its weights: those of the graph, and of paths by way of lower vertices.
template <class T>
void customise(const arcs_up &h, const ranked_graph<T> &graph, T *up, T *down) {
  const bool directed = up != down;
  for (uint32_t a = 0; a < h.first[h.n]; a++) up[a] = down[a] = infinite<T>;
  for (uint32_t v = 0; v < h.n; v++)
    for (uint32_t a = graph.offsets[v]; a < graph.offsets[v + 1]; a++) {
      const uint32_t from = graph.rank[v], to = graph.rank[graph.arcs[2 * (size_t)a]];
      const T weight = graph.arcs[2 * (size_t)a + 1];
      if (from < to)
        lower(up[arc_between(h, from, to)], weight);
      else
        lower(down[arc_between(h, to, from)], weight);
    }
  for (uint32_t k = 0; k < h.n; k++)
    triangles(h, k, [&](uint32_t a, uint32_t b, uint32_t e) {
      lower<T>(up[e], down[a] + up[b]);
      if (directed) lower<T>(down[e], down[b] + up[a]);
    });
}
// Marks the arcs that stay: bit 0 of `kept` is set for up, bit 1 for down. `ties`: whether what is as long as another
// path goes too.
template <class T>
void prune(const arcs_up &h, bool ties, T *up, T *down, uint8_t *kept) {
  const bool directed = up != down;
  vector<T> up_by_way, down_by_way;  // the shortest by way of another vertex above, of the k-th vertex' arcs
  for (uint32_t k = h.n; k-- > 0;) {
    const uint32_t begin = h.first[k], end = h.first[k + 1];
    up_by_way.assign(end - begin, infinite<T>), down_by_way.assign(end - begin, infinite<T>);
    triangles(h, k, [&](uint32_t a, uint32_t b, uint32_t e) {
      lower<T>(up_by_way[b - begin], up[a] + up[e]), lower<T>(up_by_way[a - begin], up[b] + down[e]);
      if (!directed) return;
      lower<T>(down_by_way[b - begin], down[e] + down[a]), lower<T>(down_by_way[a - begin], up[e] + down[b]);
    });
    for (uint32_t a = begin; a < end; a++) {
      const T above = up_by_way[a - begin], back = directed ? down_by_way[a - begin] : above;
      kept[a] = (up[a] < infinite<T> && above + !ties > up[a]) | (down[a] < infinite<T> && back + !ties > down[a]) << 1;
      lower(up[a], above);
      if (directed) lower(down[a], back);
    }
  }
}
// Fills `up` and `down` (None in an undirected graph) with the weights of all arcs, and marks those that stay in `kept`.
#define WEIGHTS(T, code)                                                                                    \
  FUNCTION hierarchy_weigh_##code(arcs_up h, ranked_graph<T> graph, uint32_t ties, T *up, NULLABLE T *down, \
                                  uint8_t *kept) {                                                          \
    customise(h, graph, up, down ? down : up);                                                              \
    prune(h, ties, up, down ? down : up, kept);                                                             \
  }                                                                                                         \
  EXPORT_FUNCTION(hierarchy_weigh_##code)
WEIGHTS(uint32_t, u4)
WEIGHTS(uint64_t, u8)

// Numbers the vertices depth first: a vertex comes soon after the last of its heads, which is then in the caches.
void number_depth_first(const arcs_up &h, const uint8_t *kept, uint32_t *place) {
  vector<uint32_t> heads(h.n), behind(h.n + 1), below, ready;  // `heads`: how many heads have no number yet
  for (uint32_t k = 0; k < h.n; k++)
    for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++)
      if (kept[a]) heads[k]++, behind[h.head[a]]++;
  for (uint32_t k = 0; k < h.n; k++) behind[k + 1] += behind[k];
  below.resize(behind[h.n]);
  for (uint32_t k = h.n; k-- > 0;)  // the last first: behind[u] becomes the first of those below u
    for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++)
      if (kept[a]) below[--behind[h.head[a]]] = k;
  uint32_t placed = 0;
  for (uint32_t k = 0; k < h.n; k++)
    if (!heads[k]) ready.push_back(k);
  while (!ready.empty()) {
    const uint32_t u = ready.back();
    ready.pop_back();
    place[u] = placed++;
    for (uint32_t i = behind[u]; i < behind[u + 1]; i++)
      if (!--heads[below[i]]) ready.push_back(below[i]);
  }
}
// Numbers the vertices from the top down: `place` of the k-th vertex. With `in_levels` that is by level, and by rank
// within it, else depth first. A vertex is a level below the lowest of its heads. `level`: the number of vertices above
// each level, and of all.
FUNCTION hierarchy_arrange(arcs_up h, const uint8_t *kept, uint32_t in_levels, uint32_t *place,
                           result<uint32_t> &level) {
  vector<uint32_t> tier(h.n);
  for (uint32_t k = h.n; k-- > 0;) {
    for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++)
      if (kept[a] && tier[k] <= tier[h.head[a]]) tier[k] = tier[h.head[a]] + 1;
    if (level.size() <= tier[k]) level.resize(tier[k] + 1);
    level[tier[k]]++;
  }
  uint32_t above = 0;
  for (uint32_t &number : level) above += number, number = above - number;
  level.push_back(h.n);
  if (!in_levels) return number_depth_first(h, kept, place);
  vector<uint32_t> next(level.begin(), level.end());
  for (uint32_t k = h.n; k-- > 0;) place[k] = next[tier[k]]++;
}
EXPORT_FUNCTION(hierarchy_arrange)
