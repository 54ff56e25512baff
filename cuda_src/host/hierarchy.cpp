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
// 3. arrange: numbers the vertices from the top down, so that a vertex comes after the heads of its arcs; for a GPU in
//    parts, each of which a block sweeps without waiting for others.
//
// Every shortest path is then as long as one that first ascends and then descends (phast.cu). An arc has two weights,
// `up` from its lower end to its higher one, and `down`; in an undirected graph they are the same array. A weight of
// `infinite` is no arc, and sums of two never wrap.
#include <algorithm>

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

constexpr uint32_t none = ~0u;

// The arcs that stay, by their higher ends: those that end at u come from tail[first[u]] to tail[first[u + 1] - 1].
struct arcs_down {
  vector<uint32_t> first, tail;
};
arcs_down turned(const arcs_up &h, const uint8_t *kept) {
  arcs_down d{vector<uint32_t>(h.n + 1), {}};
  for (uint32_t a = 0; a < h.first[h.n]; a++)
    if (kept[a]) d.first[h.head[a]]++;
  for (uint32_t k = 0; k < h.n; k++) d.first[k + 1] += d.first[k];
  d.tail.resize(d.first[h.n]);
  for (uint32_t k = h.n; k-- > 0;)  // the last first: first[u] becomes the first of those below u
    for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++)
      if (kept[a]) d.tail[--d.first[h.head[a]]] = k;
  return d;
}
// Fills `parent` with the elimination tree of the arcs that stay (Liu, The Role of Elimination Trees in Sparse
// Factorization, SIAM Journal on Matrix Analysis and Applications, 1990), `none` for roots: whatever arcs lead to from a
// vertex, by way of others too, is an ancestor of it.
void grow_tree(const arcs_down &d, uint32_t n, uint32_t *parent) {
  vector<uint32_t> above(n, none);  // an ancestor of each vertex, by which later walks are short
  for (uint32_t v = 0; v < n; v++) {
    parent[v] = none;
    for (uint32_t i = d.first[v]; i < d.first[v + 1]; i++)
      for (uint32_t u = d.tail[i], next; u != v; u = next) {
        next = above[u], above[u] = v;
        if (next == none) parent[u] = next = v;
      }
  }
}
// Numbers the vertices depth first: a vertex comes soon after the last of its heads, which is then in the caches.
void number_depth_first(const arcs_up &h, const uint8_t *kept, const arcs_down &d, uint32_t *place) {
  vector<uint32_t> heads(h.n), ready;  // `heads`: how many heads have no number yet
  for (uint32_t k = 0; k < h.n; k++)
    for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++) heads[k] += kept[a] != 0;
  uint32_t placed = 0;
  for (uint32_t k = 0; k < h.n; k++)
    if (!heads[k]) ready.push_back(k);
  while (!ready.empty()) {
    const uint32_t u = ready.back();
    ready.pop_back();
    place[u] = placed++;
    for (uint32_t i = d.first[u]; i < d.first[u + 1]; i++)
      if (!--heads[d.tail[i]]) ready.push_back(d.tail[i]);
  }
}
// Levels of a part that are swept in one launch: `first` to `end` - 1, by the numbers of levels of all parts.
struct run {
  uint64_t launch;  // ascending in the order of launches
  uint32_t first, end;
  bool wide;
};
// Numbers the vertices by part. All vertices with at most `most` descendants, themselves included, are the lowest stage,
// those with at most 8 `most` the next, and so on, while an eighth of the vertices is above. What is left of the tree in
// a stage are subtrees, with no arcs between them. Each is a part; of the lowest stage several together are, up to `most`
// vertices. A vertex is a level below the lowest of its heads in its part. A level of `most` vertices is wide: several
// blocks should share it. So a part ends before and behind it, and it becomes parts of `most` / 8 vertices.
void number_in_parts(const arcs_up &h, const uint8_t *kept, const uint32_t *parent, uint32_t most, uint32_t *place,
                     vector<uint32_t> &level, vector<uint32_t> &part, vector<uint32_t> &launch) {
  vector<uint32_t> stage(h.n), own(h.n), tier(h.n);  // `own`: part of each vertex
  {
    vector<uint32_t> size(h.n, 1);
    for (uint32_t k = 0; k < h.n; k++) {
      if (parent[k] != none) size[parent[k]] += size[k];
      for (uint64_t bound = most; size[k] > bound && 8 * bound <= h.n; bound *= 8) stage[k]++;
    }
    uint32_t parts = 0, filling = none, filled = 0;
    for (uint32_t k = h.n; k-- > 0;) {
      if (parent[k] != none && stage[parent[k]] == stage[k]) {
        own[k] = own[parent[k]];
      } else if (stage[k]) {
        own[k] = parts++;
      } else {
        if (filling == none || filled + size[k] > most) filling = parts++, filled = 0;
        own[k] = filling, filled += size[k];
      }
    }
    launch.resize(parts);  // the stage of each part, for now
  }
  for (uint32_t k = h.n; k-- > 0;) {
    launch[own[k]] = stage[k];
    for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++)
      if (kept[a] && own[h.head[a]] == own[k] && tier[k] <= tier[h.head[a]]) tier[k] = tier[h.head[a]] + 1;
  }
  vector<uint32_t> begin(launch.size() + 1), width;  // the first level of each part, the vertices of each level
  for (uint32_t k = 0; k < h.n; k++)
    if (begin[own[k] + 1] <= tier[k]) begin[own[k] + 1] = tier[k] + 1;
  for (uint32_t p = 0; p < launch.size(); p++) begin[p + 1] += begin[p];
  width.resize(begin[launch.size()]);
  for (uint32_t k = 0; k < h.n; k++) width[begin[own[k]] + tier[k]]++;
  vector<run> runs;
  for (uint32_t p = 0; p < launch.size(); p++)
    for (uint32_t i = begin[p], before = 0; i < begin[p + 1]; i++) {
      const bool wide = width[i] >= most;
      if (i > begin[p] && !wide && !runs.back().wide)
        runs.back().end++;
      else
        runs.push_back({(uint64_t)(none - launch[p]) << 32 | before++, i, i + 1, wide});
    }
  std::sort(runs.begin(), runs.end(),
            [](const run &x, const run &y) { return x.launch != y.launch ? x.launch < y.launch : x.first < y.first; });
  launch.clear();
  uint32_t placed = 0;
  for (size_t r = 0; r < runs.size(); r++) {
    if (!r || runs[r].launch != runs[r - 1].launch) launch.push_back(part.size());
    const uint32_t share = !runs[r].wide ? none : most > 8 ? most / 8 : 1;
    for (uint32_t i = runs[r].first; i < runs[r].end; i++) {
      for (uint32_t c = 0; c < width[i]; c += share < width[i] - c ? share : width[i] - c) {
        if (i == runs[r].first) part.push_back(level.size());
        level.push_back(placed + c);
      }
      const uint32_t vertices = width[i];
      width[i] = placed;  // where the level begins
      placed += vertices;
    }
  }
  launch.push_back(part.size()), part.push_back(level.size()), level.push_back(h.n);
  for (uint32_t k = h.n; k-- > 0;) place[k] = width[begin[own[k]] + tier[k]]++;
}
// Numbers the vertices from the top down: `place` of the k-th vertex, depth first if `most` is 0, else by part.
// `parent`: the elimination tree, by rank. `levels`: the most vertices on a path of arcs that lead up. Launches of a
// sweep, one after the other, are of parts launch[i] to launch[i + 1] - 1, parts of levels part[p] to part[p + 1] - 1,
// and levels of vertices level[j] to level[j + 1] - 1.
FUNCTION hierarchy_arrange(arcs_up h, const uint8_t *kept, uint32_t most, uint32_t *place, uint32_t *parent,
                           uint32_t *levels, result<uint32_t> &level, result<uint32_t> &part,
                           result<uint32_t> &launch) {
  {
    vector<uint32_t> tier(h.n, 1);
    for (uint32_t k = h.n; k-- > 0;) {
      for (uint32_t a = h.first[k]; a < h.first[k + 1]; a++)
        if (kept[a] && tier[k] <= tier[h.head[a]]) tier[k] = tier[h.head[a]] + 1;
      if (*levels < tier[k]) *levels = tier[k];
    }
  }
  {
    const arcs_down d = turned(h, kept);
    grow_tree(d, h.n, parent);
    if (!most) {
      level.assign({0, h.n}), part.assign({0, 1}), launch.assign({0, 1});
      return number_depth_first(h, kept, d, place);
    }
  }
  number_in_parts(h, kept, parent, most, place, level, part, launch);
}
EXPORT_FUNCTION(hierarchy_arrange)
