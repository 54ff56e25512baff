// Tests by which edges of a Steiner problem are removed. Each makes a few searches with a heap, one after the other.
//
// special: the test by the special distance (C. Duin, A. Volgenant, Networks 19, 1989). A path by terminals from one end
// of an edge to the other has legs from terminal to terminal. If each leg is shorter than the edge, no lightest tree has
// the edge: the tree without it falls into two parts, and one of the legs joins them. The longest leg between two
// terminals is least along a minimum spanning tree of the terminal distance graph (its bottleneck). The legs to the
// first and from the last terminal are those to the nearest terminals of the two ends. All edges may be removed
// together, because none of them is in any lightest tree.
//
// The terminals nearest to each vertex, as many as there are slots, come from a search for each slot. The terminal in
// slot j of a vertex reaches it by a neighbour that has the terminal in one of its slots up to j, so a search begins
// with what the slots before say of the neighbours.
//
// The bottleneck of two terminals is found in a tree of the mergers in Kruskal's algorithm: the smaller component hangs
// below the larger one, at the length of the edge that merged them. Its depth is at most log2 k, and lengths grow upward.
//
// search: distances in what a dual ascent left of the weights (`rest`; dual_ascent.cpp has its layout): from the root to
// each vertex, and from each vertex to the nearest terminal but the root. With the bound of the ascent they add up to a
// lower bound on trees with a certain arc, by which the caller removes edges (T. Polzin, S. Vahdati Daneshmand, Discrete
// Applied Mathematics 112, 2001).
#include "host/network.hpp"

// The nearest terminals of each vertex, and the distances to them, slot by slot; `no_path` and `none` without one.
struct nearest_terminals {
  const network net;
  const uint32_t slots;
  vector<uint64_t> distance;
  vector<uint32_t> terminal;

  nearest_terminals(const network &net, uint32_t slots)
      : net(net), slots(slots), distance((size_t)slots * net.n, no_path), terminal(distance.size(), none) {
    for (uint32_t slot = 0; slot < slots; slot++) fill(slot);
  }
  // Returns whether a path from u to v by terminals has no leg as long as `weight`, given the bottlenecks.
  template <class Mergers>
  bool has_shorter_legs(const Mergers &mergers, uint32_t u, uint32_t v, uint64_t weight) const {
    for (size_t i = u; i < distance.size() && distance[i] < weight; i += net.n)
      for (size_t j = v; j < distance.size() && distance[j] < weight; j += net.n)
        if (mergers.bottleneck(terminal[i], terminal[j], weight) < weight) return true;
    return false;
  }

 private:
  void fill(uint32_t slot) {
    const size_t first = (size_t)slot * net.n;
    waiting_vertices<uint64_t> waiting(net.n, &distance[first]);
    const auto offer_terminal = [&](uint32_t v, uint64_t there, uint32_t offered) {
      if (there >= distance[first + v]) return;
      for (size_t i = v; i < first; i += net.n)
        if (terminal[i] == offered) return;  // a slot before has it
      distance[first + v] = there, terminal[first + v] = offered;
      offer(waiting, v);
    };
    const auto offer_to_neighbours = [&](size_t from, uint32_t u) {
      if (terminal[from] == none) return;
      for (uint32_t a : arcs_of(net, u)) offer_terminal(net.heads[a], distance[from] + net.weights[a], terminal[from]);
    };
    for (uint32_t i = 0; slot == 0 && i < net.count; i++) offer_terminal(net.terminals[i], 0, net.terminals[i]);
    for (uint32_t before = 0; before < slot; before++)
      for (uint32_t u = 0; u < net.n; u++) offer_to_neighbours((size_t)before * net.n + u, u);
    while (waiting.size) {
      const uint32_t u = take(waiting);
      offer_to_neighbours(first + u, u);
    }
  }
};
// The tree of mergers of terminals, with the length at which each merged with the one above.
struct merger_tree {
  vector<uint32_t> above, size;
  vector<uint64_t> length;

  explicit merger_tree(uint32_t n) : above(n), size(n, 1), length(n, no_path) {
    for (uint32_t v = 0; v < n; v++) above[v] = v;
  }
  void merge(uint32_t a, uint32_t b, uint64_t its_length) {
    a = top(a), b = top(b);
    const uint32_t lower = size[a] < size[b] ? a : b, upper = a ^ b ^ lower;
    above[lower] = upper, length[lower] = its_length, size[upper] += size[lower];
  }
  // Returns the length at which two terminals merged, or any value of at least `limit` if that is not less.
  uint64_t bottleneck(uint32_t a, uint32_t b, uint64_t limit) const {
    uint64_t longest = 0;
    while (a != b && longest < limit) {
      uint32_t &lower = length[a] < length[b] ? a : b;
      longest = length[lower], lower = above[lower];
    }
    return longest;
  }

 private:
  uint32_t top(uint32_t t) const {
    while (above[t] != t) t = above[t];
    return t;
  }
};
// A minimum spanning tree of the terminal distance graph, the shortest edge first; ends are positions.
struct closure_edges {
  uint32_t count;
  const uint32_t *first, *second;
  const uint64_t *length;
};
// `removed`: 1 for each edge that the test removes, else 0.
FUNCTION reductions_special(network net, uint32_t slots, closure_edges closure, uint32_t edges, const uint32_t *tails,
                            const uint32_t *heads, const uint64_t *weights, uint32_t *removed) {
  const nearest_terminals near(net, slots);
  merger_tree mergers(net.n);
  for (uint32_t e = 0; e < closure.count; e++) mergers.merge(closure.first[e], closure.second[e], closure.length[e]);
  for (uint32_t e = 0; e < edges; e++) removed[e] = near.has_shorter_legs(mergers, tails[e], heads[e], weights[e]);
}
EXPORT_FUNCTION(reductions_special)

// `back` is the number of each arc's opposite. `from_root`: the distance of each vertex from the root (a position);
// `to_terminal`: its distance to the nearest terminal but the root.
FUNCTION reductions_search(network net, uint32_t root, const uint64_t *rest, const uint32_t *back, uint64_t *from_root,
                           uint64_t *to_terminal) {
  const auto search = [&](uint64_t *distance, bool forward) {
    for (uint32_t v = 0; v < net.n; v++) distance[v] = no_path;
    waiting_vertices<uint64_t> waiting(net.n, distance);
    for (uint32_t i = 0; i < net.count; i++)
      if ((net.terminals[i] == root) == forward) distance[net.terminals[i]] = 0, offer(waiting, net.terminals[i]);
    const auto nothing = [](uint32_t, uint32_t, uint32_t) {};
    settle(net, waiting, distance, [&](uint32_t a) { return rest[forward ? back[a] : a]; }, nothing);
  };
  search(from_root, true);
  search(to_terminal, false);
}
EXPORT_FUNCTION(reductions_search)
