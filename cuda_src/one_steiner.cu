// Iterated 1-Steiner on a table of distances (A. Kahng, G. Robins, IEEE Transactions on CAD 11, 1992; M. Alexander,
// G. Robins, IEEE Transactions on CAD 15, 1996): which vertices, as nodes more, make the nodes' spanning tree lighter.
//
// A node more joins a spanning tree in one pass from its leaves up. A leaf i has two edges, e[i] to its parent and t[i]
// to the new node; the lighter one is in the new tree, the heavier one is then the parent's way to the new node, if it is
// lighter than the parent's own. So with t = the distances to the nodes
//   weight += min(t[i], e[i]),  t[parent] = min(t[parent], max(t[i], e[i])),  and at last weight += t[root].
//
// measure does so for all vertices: a block takes a tile of them, a thread one at a time, so that the table's rows are
// read as they lie; on a CPU the tile is a few vectors. accept takes candidates, the most promising first, and makes
// nodes at once of those that still save nine tenths of what was measured; distances between nodes that come in one
// round are not known yet and count as infinite. span makes the tree of all nodes anew when their rows are there (R. C.
// Prim, Bell System Technical Journal 36, 1957). These two are marked for the CPU: one block, its first thread works.
//
// A tree: nodes in an order in which parents come first, `parent` and `edge` (the way to it) of each; the first node is
// the root. The table is (nodes, n). Bytes: the table once a round, some GB; three operations an entry.
#include "device.cuh"

constexpr uint32_t tile = 32;

// `ways` is (blocks, nodes, tile) scratch. `weight` of a vertex: of the tree with it as a node more.
template <class T>
DEVICE void measure_all(uint32_t n, uint32_t nodes, const uint32_t *order, const uint32_t *parent, const T *edge,
                        const T *table, T *ways, uint64_t *weight) {
  T *mine = ways + (size_t)blockIdx.x * nodes * tile;
  for (uint32_t first = blockIdx.x * tile; first < n; first += gridDim.x * tile) {
    const uint32_t count = n - first < tile ? n - first : tile;
    for (uint32_t b = threadIdx.x; b < count; b += blockDim.x) weight[first + b] = 0;
    for (uint32_t i = 0; i < nodes; i++)
      for (uint32_t b = threadIdx.x; b < count; b += blockDim.x)
        mine[(size_t)i * tile + b] = table[(size_t)i * n + first + b];
    for (uint32_t place = nodes - 1; place > 0; place--) {
      const uint32_t i = order[place];
      const T own = edge[i], *here = mine + (size_t)i * tile;
      T *above = mine + (size_t)parent[i] * tile;
      for (uint32_t b = threadIdx.x; b < count; b += blockDim.x) {
        const T way = here[b], less = way < own ? way : own, more = way < own ? own : way;
        weight[first + b] += less;
        above[b] = more < above[b] ? more : above[b];
      }
    }
    for (uint32_t b = threadIdx.x; b < count; b += blockDim.x) weight[first + b] += mine[order[0] * (size_t)tile + b];
  }
}

// A tree that grows, with scratch for one node more: its ways to the others, and which edge each of them is.
template <class T>
struct growing {
  uint32_t nodes, *order, *parent;
  T *edge, *way, *length;
  uint32_t *from, *to;  // the edge that a way stands for
  uint32_t *one, *other, *start, *rows;  // the edges of the new tree, of `length`, and each node's
};
// The weight of the tree with a node of these ways more; with `keep`, its edges.
template <class T>
DEVICE uint64_t weight_with(growing<T> &s, bool keep) {
  uint64_t sum = 0;
  for (uint32_t i = 0; keep && i < s.nodes; i++) s.from[i] = s.nodes, s.to[i] = i;
  for (uint32_t place = s.nodes; place-- > 0;) {
    const uint32_t i = s.order[place], p = s.parent[i];
    const bool joins = place == 0 || s.way[i] < s.edge[i];
    sum += joins ? s.way[i] : s.edge[i];
    if (keep) {
      s.one[place] = joins ? s.from[i] : i, s.other[place] = joins ? s.to[i] : p;
      s.length[place] = joins ? s.way[i] : s.edge[i];
    }
    if (place == 0) break;
    const T more = joins ? s.edge[i] : s.way[i];
    if (more >= s.way[p]) continue;
    s.way[p] = more;
    if (keep) s.from[p] = joins ? i : s.from[i], s.to[p] = joins ? p : s.to[i];
  }
  return sum;
}
// Makes the edges that were kept a tree again, from the same root, with a node more.
template <class T>
DEVICE void regrow(growing<T> &s) {
  const uint32_t edges = s.nodes++, root = s.order[0];
  for (uint32_t i = 0; i <= s.nodes; i++) s.start[i] = 0;
  for (uint32_t e = 0; e < edges; e++) s.start[s.one[e]]++, s.start[s.other[e]]++;
  for (uint32_t i = 0, sum = 0; i <= s.nodes; i++) sum += s.start[i], s.start[i] = sum;
  for (uint32_t e = 0; e < edges; e++) s.rows[--s.start[s.one[e]]] = e, s.rows[--s.start[s.other[e]]] = e;
  s.parent[root] = root;
  uint32_t count = 1;
  for (uint32_t place = 0; place < count; place++) {
    const uint32_t i = s.order[place];
    for (uint32_t k = s.start[i]; k < s.start[i + 1]; k++) {
      const uint32_t e = s.rows[k], j = s.one[e] ^ s.other[e] ^ i;
      if (j == s.parent[i]) continue;
      s.parent[j] = i, s.edge[j] = s.length[e], s.order[count++] = j;
    }
  }
}
// Accepts of `candidates` (with the `weight` that the tree would have) up to `most` as nodes, after those there are.
// Rows of the table: of the `known` nodes at first. `tree` is (2, known + most) and `edge` (known + most), given and
// changed; `words` is 8 times and `lengths` twice that long. `accepted`: their number, and the vertices.
template <class T>
DEVICE void accept_all(uint32_t n, uint32_t known, uint32_t most, uint32_t candidates, uint64_t now,
                       const uint32_t *candidate, const uint64_t *weight, const T *table, uint32_t *tree, T *edge,
                       uint32_t *words, T *lengths, uint32_t *accepted) {
  const size_t room = (size_t)known + most;
  growing<T> s = {known, tree, tree + room, edge, lengths, lengths + room};
  s.from = words, s.to = words + room, s.one = words + 2 * room, s.other = words + 3 * room;
  s.start = words + 4 * room, s.rows = words + 6 * room;
  const uint64_t measured = now;
  uint32_t count = 0;
  for (uint32_t c = 0; c < candidates && count < most; c++) {
    const uint32_t v = candidate[c];
    for (int keep = 0; keep < 2; keep++) {
      for (uint32_t i = 0; i < s.nodes; i++) s.way[i] = i < known ? table[(size_t)i * n + v] : (T) ~(T)0;
      const uint64_t sum = weight_with(s, keep);
      if (sum >= now || 10 * (now - sum) < 9 * (measured - weight[c])) break;
      if (!keep) continue;
      regrow(s);
      now = sum;
      accepted[1 + count++] = v;
    }
  }
  accepted[0] = count;
}
// The minimum spanning tree of the nodes at these vertices, from the first one on; of equal ways to a node that of the
// smaller number comes first.
template <class T>
DEVICE void span_all(uint32_t n, uint32_t nodes, const uint32_t *vertex, const T *table, uint32_t *tree, T *edge) {
  uint32_t *order = tree, *parent = tree + nodes;
  for (uint32_t i = 0; i < nodes; i++) order[i] = i, parent[i] = 0, edge[i] = i ? table[vertex[i]] : 0;
  for (uint32_t place = 1; place < nodes; place++) {
    uint32_t least = place;
    for (uint32_t k = place; k < nodes; k++) {
      const uint32_t i = order[k], j = order[least];
      if (edge[i] < edge[j] || (edge[i] == edge[j] && i < j)) least = k;
    }
    const uint32_t i = order[least];
    order[least] = order[place], order[place] = i;
    const T *row = table + (size_t)i * n;
    for (uint32_t k = place + 1; k < nodes; k++) {
      const uint32_t j = order[k];
      if (row[vertex[j]] < edge[j]) edge[j] = row[vertex[j]], parent[j] = i;
    }
  }
}
KERNEL one_steiner_measure_u4(uint32_t n, uint32_t nodes, const uint32_t *order, const uint32_t *parent,
                              const uint32_t *edge, const uint32_t *table, uint32_t *ways, uint64_t *weight) {
  measure_all(n, nodes, order, parent, edge, table, ways, weight);
}
EXPORT_KERNEL(one_steiner_measure_u4)
KERNEL one_steiner_accept_u4(uint32_t n, uint32_t known, uint32_t most, uint32_t candidates, uint64_t now,
                             const uint32_t *candidate, const uint64_t *weight, const uint32_t *table, uint32_t *tree,
                             uint32_t *edge, uint32_t *words, uint32_t *lengths, uint32_t *accepted) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  accept_all(n, known, most, candidates, now, candidate, weight, table, tree, edge, words, lengths, accepted);
}
EXPORT_KERNEL(one_steiner_accept_u4)
KERNEL one_steiner_span_u4(uint32_t n, uint32_t nodes, const uint32_t *vertex, const uint32_t *table, uint32_t *tree,
                           uint32_t *edge) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  span_all(n, nodes, vertex, table, tree, edge);
}
EXPORT_KERNEL(one_steiner_span_u4)
KERNEL one_steiner_measure_u8(uint32_t n, uint32_t nodes, const uint32_t *order, const uint32_t *parent,
                              const uint64_t *edge, const uint64_t *table, uint64_t *ways, uint64_t *weight) {
  measure_all(n, nodes, order, parent, edge, table, ways, weight);
}
EXPORT_KERNEL(one_steiner_measure_u8)
KERNEL one_steiner_accept_u8(uint32_t n, uint32_t known, uint32_t most, uint32_t candidates, uint64_t now,
                             const uint32_t *candidate, const uint64_t *weight, const uint64_t *table, uint32_t *tree,
                             uint64_t *edge, uint32_t *words, uint64_t *lengths, uint32_t *accepted) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  accept_all(n, known, most, candidates, now, candidate, weight, table, tree, edge, words, lengths, accepted);
}
EXPORT_KERNEL(one_steiner_accept_u8)
KERNEL one_steiner_span_u8(uint32_t n, uint32_t nodes, const uint32_t *vertex, const uint64_t *table, uint32_t *tree,
                           uint64_t *edge) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  span_all(n, nodes, vertex, table, tree, edge);
}
EXPORT_KERNEL(one_steiner_span_u8)
