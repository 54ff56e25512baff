// Steiner trees from a single search: Mehlhorn's regions (Information Processing Letters 27, 1988), the shortest-path
// heuristic of Takahashi and Matsuyama (Mathematica Japonica 24, 1980), and the spanning tree that is the last step of
// every heuristic. Each is a few passes over the graph, with a heap: 10 to 100 ms for 10^5 vertices. So the first
// thread of one block works, and the kernels run on the CPU whatever the device. Weights are above 0.
//
// regions: a search from several vertices, the bases, at once. `base` of a vertex is the nearest one, `before` the
// neighbour on the path there. With the terminals as bases, the edges that join two regions, each with the length of
// the path through it from base to base, contain a minimum spanning tree of the terminal distance graph. So one search
// replaces k.
//
// grow: the tree begins as its root, and the search goes on from the whole tree. Whenever it settles a terminal, the
// path there joins the tree; the vertices of the path are at distance 0 from then on and are searched from again. A
// vertex that was settled before waits again if it has come nearer. The weight is at most that of the minimum spanning
// tree of the terminal distance graph, and so at most 2 (1 - 1/k) times the optimum.
//
// span: a minimum spanning forest of edges that are sorted by weight (Kruskal), from which leaves that are not
// terminals are then pruned until there are none (`kept` is 1 or 0 for each edge).
//
// Memory traffic: for a settled vertex its row (12 bytes for each arc) and the keys and places of its neighbours. The
// caller owns all tables; the heap takes 8 bytes for each vertex.
#include "steiner/network.cuh"

// Finds the regions of `count` bases. `scratch` is (2, n).
KERNEL steiner_tree_regions(network net, uint32_t count, const uint32_t *bases, uint32_t *scratch, uint64_t *distance,
                            uint32_t *before, uint32_t *base) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  heap<uint64_t> waiting = empty_heap(net.n, scratch, distance);
  for (uint32_t v = 0; v < net.n; v++) before[v] = base[v] = none;
  for (uint32_t i = 0; i < count; i++) distance[bases[i]] = 0, base[bases[i]] = bases[i], offer(waiting, bases[i]);
  while (waiting.size) {
    const uint32_t u = take(waiting);
    for (uint32_t a = net.offsets[u]; a < net.offsets[u + 1]; a++) {
      const uint32_t v = net.heads[a];
      if (distance[u] + net.weights[a] >= distance[v]) continue;
      distance[v] = distance[u] + net.weights[a], before[v] = u, base[v] = base[u];
      offer(waiting, v);
    }
  }
}
EXPORT_KERNEL(steiner_tree_regions)

// Joins the path that leads to u to the tree; its vertices wait to be searched from again.
DEVICE void join_path(heap<uint64_t> &waiting, uint32_t u, uint64_t *distance, const uint32_t *before,
                      uint32_t *inside) {
  for (uint32_t v = u; v != none && !inside[v]; v = before[v]) inside[v] = 1, distance[v] = 0, offer(waiting, v);
}
// `inside`: 1 for the vertices of the tree, whose edges lead to their `before`; the root, terminals[root], has none.
// `scratch` is (2, n).
KERNEL steiner_tree_grow(network net, uint32_t root, uint32_t *scratch, uint64_t *distance, uint32_t *before,
                         uint32_t *inside) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  heap<uint64_t> waiting = empty_heap(net.n, scratch, distance);
  for (uint32_t v = 0; v < net.n; v++) before[v] = none, inside[v] = 0;
  join_path(waiting, net.terminals[root], distance, before, inside);
  for (uint32_t left = net.count - 1; left && waiting.size;) {
    const uint32_t u = take(waiting);
    if (net.is_terminal[u] && !inside[u]) {
      join_path(waiting, u, distance, before, inside);
      left--;
      continue;
    }
    for (uint32_t a = net.offsets[u]; a < net.offsets[u + 1]; a++) {
      const uint32_t v = net.heads[a];
      if (distance[u] + net.weights[a] >= distance[v]) continue;
      distance[v] = distance[u] + net.weights[a], before[v] = u;
      offer(waiting, v);
    }
  }
}
EXPORT_KERNEL(steiner_tree_grow)

// Returns the representative of v's connected component (union-find).
DEVICE uint32_t component_of(uint32_t *above, uint32_t v) {
  while (above[v] != v) v = above[v] = above[above[v]];
  return v;
}
// Prunes v if it is a leaf and no terminal, and so on up the branch. `links` of a vertex is the exclusive or of its
// kept edges: the only edge of a leaf.
DEVICE void prune(uint32_t v, const uint32_t *tails, const uint32_t *heads, const uint32_t *is_terminal,
                  uint32_t *degree, uint32_t *links, uint32_t *kept) {
  while (degree[v] == 1 && !is_terminal[v]) {
    const uint32_t edge = links[v], other = tails[edge] ^ heads[edge] ^ v;
    kept[edge] = 0, degree[v] = 0;
    degree[other]--, links[other] ^= edge;
    v = other;
  }
}
// `scratch` is (3, n): union-find, degrees, links.
KERNEL steiner_tree_span(uint32_t n, uint32_t edges, const uint32_t *tails, const uint32_t *heads,
                         const uint32_t *is_terminal, uint32_t *scratch, uint32_t *kept) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  uint32_t *above = scratch, *degree = above + n, *links = degree + n;
  for (uint32_t v = 0; v < n; v++) above[v] = v, degree[v] = links[v] = 0;
  for (uint32_t e = 0; e < edges; e++) {
    const uint32_t a = component_of(above, tails[e]), b = component_of(above, heads[e]);
    kept[e] = a != b;
    if (a == b) continue;
    above[a] = b;
    degree[tails[e]]++, degree[heads[e]]++, links[tails[e]] ^= e, links[heads[e]] ^= e;
  }
  for (uint32_t v = 0; v < n; v++) prune(v, tails, heads, is_terminal, degree, links, kept);
}
EXPORT_KERNEL(steiner_tree_span)
