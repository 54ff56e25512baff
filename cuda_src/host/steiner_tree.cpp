// Steiner trees from a single search: Mehlhorn's regions (Information Processing Letters 27, 1988), the shortest-path
// heuristic of Takahashi and Matsuyama (Mathematica Japonica 24, 1980), and the spanning tree that is the last step of
// every heuristic. Each is a few passes over the graph, with a heap: 10 to 100 ms for 10^5 vertices.
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
// heap takes 8 bytes for each vertex.
#include "host/network.hpp"

FUNCTION steiner_tree_regions(network net, uint32_t count, const uint32_t *bases, uint64_t *distance, uint32_t *before,
                              uint32_t *base) {
  find_regions(net, count, bases, {distance, before, base});
}
EXPORT_FUNCTION(steiner_tree_regions)

// `inside`: 1 for the vertices of the tree, whose edges lead to their `before`; the root, terminals[root], has none.
FUNCTION steiner_tree_grow(network net, uint32_t root, uint32_t *before, uint32_t *inside) {
  vector<uint64_t> distance(net.n, no_path);
  waiting_vertices<uint64_t> waiting(net.n, distance.data());
  for (uint32_t v = 0; v < net.n; v++) before[v] = none, inside[v] = 0;
  const auto join_path = [&](uint32_t u) {  // its vertices wait to be searched from again
    for (uint32_t v = u; v != none && !inside[v]; v = before[v]) inside[v] = 1, distance[v] = 0, offer(waiting, v);
  };
  join_path(net.terminals[root]);
  for (uint32_t left = net.count - 1; left && waiting.size;) {
    const uint32_t u = take(waiting);
    if (net.is_terminal[u] && !inside[u]) {
      join_path(u);
      left--;
      continue;
    }
    for (uint32_t a : arcs_of(net, u)) {
      const uint32_t v = net.heads[a];
      if (distance[u] + net.weights[a] >= distance[v]) continue;
      distance[v] = distance[u] + net.weights[a], before[v] = u;
      offer(waiting, v);
    }
  }
}
EXPORT_FUNCTION(steiner_tree_grow)

FUNCTION steiner_tree_span(uint32_t n, uint32_t edges, const uint32_t *tails, const uint32_t *heads,
                           const uint32_t *is_terminal, uint32_t *kept) {
  struct member {
    uint32_t degree, links;  // `links`: the exclusive or of the kept edges, which is the only edge of a leaf
  };
  united_sets components(n);
  vector<member> at(n);
  for (uint32_t e = 0; e < edges; e++) {
    const uint32_t a = components.top(tails[e]), b = components.top(heads[e]);
    kept[e] = a != b;
    if (a == b) continue;
    components.unite(b, a);
    for (uint32_t end : {tails[e], heads[e]}) at[end].degree++, at[end].links ^= e;
  }
  for (uint32_t leaf = 0; leaf < n; leaf++)
    for (uint32_t v = leaf; at[v].degree == 1 && !is_terminal[v];) {  // and so on up the branch
      const uint32_t edge = at[v].links, other = tails[edge] ^ heads[edge] ^ v;
      kept[edge] = 0, at[v].degree = 0;
      at[other].degree--, at[other].links ^= edge;
      v = other;
    }
}
EXPORT_FUNCTION(steiner_tree_span)
