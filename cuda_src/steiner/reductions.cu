// Tests by which edges of a Steiner problem are removed. The first thread of one block works, on the CPU whatever the
// device: each kernel makes a few searches with a heap, one after the other. Weights are above 0.
//
// nearest: the terminals nearest to each vertex, as many as there are slots, by a search for each slot. The terminal in
// slot j of a vertex reaches it by a neighbour that has the terminal in one of its slots up to j, so a search begins
// with what the slots before say of the neighbours.
//
// compare: the test by the special distance (C. Duin, A. Volgenant, Networks 19, 1989). A path by terminals from one end
// of an edge to the other has legs from terminal to terminal. If each leg is shorter than the edge, no lightest tree has
// the edge: the tree without it falls into two parts, and one of the legs joins them. The longest leg between two
// terminals is least along a minimum spanning tree of the terminal distance graph (its bottleneck). The legs to the
// first and from the last terminal are those to the terminals that `nearest` found. All edges may be removed together,
// because none of them is in any lightest tree.
//
// The bottleneck of two terminals is found in a tree of the mergers in Kruskal's algorithm: the smaller component hangs
// below the larger one, at the length of the edge that merged them. Its depth is at most log2 k, and lengths grow upward.
//
// search: distances in what a dual ascent left of the weights (`rest`; dual_ascent.cu has its layout): from the root to
// each vertex, and from each vertex to the nearest terminal but the root. With the bound of the ascent they add up to a
// lower bound on trees with a certain arc, by which the host removes edges (T. Polzin, S. Vahdati Daneshmand, Discrete
// Applied Mathematics 112, 2001).
#include "steiner/network.cuh"

// The tables of the slots before the present one, (slots, n), and that of the present one.
struct slots {
  uint32_t n, slot;
  uint64_t *distance;
  uint32_t *base;
};
// Offers vertex v a terminal, unless a slot before has it.
DEVICE void offer_terminal(heap<uint64_t> &waiting, const slots &s, uint32_t v, uint64_t distance, uint32_t terminal) {
  const size_t at = (size_t)s.slot * s.n + v;
  if (distance >= s.distance[at]) return;
  for (uint32_t i = 0; i < s.slot; i++)
    if (s.base[(size_t)i * s.n + v] == terminal) return;
  s.distance[at] = distance, s.base[at] = terminal;
  offer(waiting, v);
}
// Offers the terminal in a slot of u to its neighbours.
DEVICE void offer_to_neighbours(heap<uint64_t> &waiting, const slots &s, const network &net, uint32_t slot,
                                uint32_t u) {
  const size_t from = (size_t)slot * s.n + u;
  if (s.base[from] == none) return;
  for (uint32_t a = net.offsets[u]; a < net.offsets[u + 1]; a++)
    offer_terminal(waiting, s, net.heads[a], s.distance[from] + net.weights[a], s.base[from]);
}
// `scratch` is (2, n); `distance` and `base` are (count, n), with ~0 in slots without a terminal.
KERNEL reductions_nearest(network net, uint32_t count, uint32_t *scratch, uint64_t *distance, uint32_t *base) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  for (uint32_t slot = 0; slot < count; slot++) {
    const slots s = {net.n, slot, distance, base};
    heap<uint64_t> waiting = empty_heap(net.n, scratch, distance + (size_t)slot * net.n);
    for (uint32_t v = 0; v < net.n; v++) base[(size_t)slot * net.n + v] = none;
    for (uint32_t i = 0; slot == 0 && i < net.count; i++)
      offer_terminal(waiting, s, net.terminals[i], 0, net.terminals[i]);
    for (uint32_t before = 0; before < slot; before++)
      for (uint32_t u = 0; u < net.n; u++) offer_to_neighbours(waiting, s, net, before, u);
    while (waiting.size) offer_to_neighbours(waiting, s, net, slot, take(waiting));
  }
}
EXPORT_KERNEL(reductions_nearest)

// The tree of mergers, by terminals (positions): the one above, and the length at which they merged.
struct mergers {
  uint32_t *above, *size;
  uint64_t *length;
};
DEVICE uint32_t top_of(const mergers &s, uint32_t t) {
  while (s.above[t] != t) t = s.above[t];
  return t;
}
DEVICE void merge(mergers &s, uint32_t a, uint32_t b, uint64_t length) {
  a = top_of(s, a), b = top_of(s, b);
  const uint32_t lower = s.size[a] < s.size[b] ? a : b, upper = a ^ b ^ lower;
  s.above[lower] = upper, s.length[lower] = length, s.size[upper] += s.size[lower];
}
// Returns the length at which two terminals merged, or any value of at least `limit` if that is not less.
DEVICE uint64_t bottleneck(const mergers &s, uint32_t a, uint32_t b, uint64_t limit) {
  uint64_t longest = 0;
  while (a != b && longest < limit) {
    uint32_t &lower = s.length[a] < s.length[b] ? a : b;
    longest = s.length[lower], lower = s.above[lower];
  }
  return longest;
}
// What `nearest` found.
struct nearby {
  uint32_t n, count;
  const uint64_t *distance;
  const uint32_t *base;
};
// Returns whether a path from u to v by terminals has no leg as long as `weight`.
DEVICE bool has_shorter_legs(const nearby &s, const mergers &all, uint32_t u, uint32_t v, uint64_t weight) {
  for (size_t i = u; i < (size_t)s.count * s.n && s.distance[i] < weight; i += s.n)
    for (size_t j = v; j < (size_t)s.count * s.n && s.distance[j] < weight; j += s.n)
      if (bottleneck(all, s.base[i], s.base[j], weight) < weight) return true;
  return false;
}
// A minimum spanning tree of the terminal distance graph, the shortest edge first; ends are positions.
struct closure_edges {
  uint32_t count;
  const uint32_t *first, *second;
  const uint64_t *length;
};
// `removed`: 1 for each edge that the test removes, else 0. `words` is (2, n), `lengths` is (n).
KERNEL reductions_compare(nearby near, closure_edges closure, uint32_t edges, const uint32_t *tails,
                          const uint32_t *heads, const uint64_t *weights, uint32_t *words, uint64_t *lengths,
                          uint32_t *removed) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  mergers all = {words, words + near.n, lengths};
  for (uint32_t v = 0; v < near.n; v++) all.above[v] = v, all.size[v] = 1, lengths[v] = unreached;
  for (uint32_t e = 0; e < closure.count; e++) merge(all, closure.first[e], closure.second[e], closure.length[e]);
  for (uint32_t e = 0; e < edges; e++) removed[e] = has_shorter_legs(near, all, tails[e], heads[e], weights[e]);
}
EXPORT_KERNEL(reductions_compare)

// `back` is the number of each arc's opposite. `from_root`: the distance of each vertex from the root (a position);
// `to_terminal`: its distance to the nearest terminal but the root. `scratch` is (2, n).
KERNEL reductions_search(network net, uint32_t root, const uint64_t *rest, const uint32_t *back, uint32_t *scratch,
                         uint64_t *from_root, uint64_t *to_terminal) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  for (uint32_t forward = 0; forward < 2; forward++) {
    uint64_t *distance = forward ? from_root : to_terminal;
    heap<uint64_t> waiting = empty_heap(net.n, scratch, distance);
    for (uint32_t i = 0; i < net.count; i++)
      if ((net.terminals[i] == root) == forward) distance[net.terminals[i]] = 0, offer(waiting, net.terminals[i]);
    while (waiting.size) {
      const uint32_t u = take(waiting);
      for (uint32_t a = net.offsets[u]; a < net.offsets[u + 1]; a++) {
        const uint64_t there = distance[u] + rest[forward ? back[a] : a];
        if (there >= distance[net.heads[a]]) continue;
        distance[net.heads[a]] = there;
        offer(waiting, net.heads[a]);
      }
    }
  }
}
EXPORT_KERNEL(reductions_search)
