// Lightest Steiner trees by dynamic programming over sets of terminals (R. E. Erickson, C. L. Monma, A. F. Veinott,
// Mathematics of Operations Research 12, 1987), with few of its states (Y. Iwata, T. Shigemura, AAAI 2019).
//
// A state (set, vertex) has the weight of the lightest tree that joins the set's terminals and the vertex. Two trees of
// disjoint sets that meet at a vertex make one of the united set there (merge); a shortest-path search carries the
// states of a set to other vertices (grow). Every tree has a vertex, a centroid, whose removal leaves components of at
// most k/2 terminals, and these fall into three sets of at most k/2 terminals. So sets up to that size are enough, and
// at last three (or two) sets meet. The sets of one size depend on smaller ones alone.
//
// A state is kept only if it may belong to a tree lighter than `limit`, the best one known:
// - Bound rule. The rest of the tree costs at least, for each ascent whose root r is outside of the set, its bound,
//   less the dual values of cuts whose terminals are all in the set, plus the distance from r to the vertex in
//   what the ascent left of the weights. The greatest of these counts.
// - Separator rule. Let a be the largest distance such that all other terminals are connected in the graph without the
//   vertices nearer than a. Beyond a, no state is needed: the rest of the tree can be joined nearer to the set. So a
//   search ends when it settles another terminal, and does not go on through it.
// Values are always weights of real trees, so both rules together are safe. No state says where it comes from; the host
// finds that again (hpcsolve/algorithms/steiner_kmb/exact/recover.py).
//
// pair: lists the pairs of families whose union has a given size and which meet below the limit. Unions are dealt to
// ranks by their hash, and to passes if there is no room for all pairs. grow: merges the pairs of each set, searches,
// and keeps states. meet: finds the lightest tree of three sets (the third may be empty).
//
// Only some thousands of a graph's 2^k sets have states. Their lists are short and irregular, so this runs on the CPU
// whatever the device: a block has one thread that works, and takes one family or set after the other.
// The order does not matter: each value is a minimum, and the host sorts what comes back. `grow` needs for each block
// 36 bytes for each vertex. Memory traffic: for each set the states of its pairs, 12 bytes each, and the rows of its
// vertices and, for the separator rule, of those around them.
#include "steiner/growth.cuh"

// The share of the sets that a launch takes: those whose hash modulo `modulus` is `residue`.
struct share {
  uint32_t modulus, residue;
};
// Numbers of the families that this launch takes: begin <= number < end.
struct span {
  uint64_t begin, end;
};
// Writes the weights of a family by vertex: the family is then spread. All other vertices are `unreached`.
DEVICE void spread(const families &all, uint64_t x, uint64_t *by_vertex) {
  for (uint64_t i = all.begin[x]; i < all.begin[x + 1]; i++) by_vertex[all.vertices[i]] = all.weights[i];
}
// Makes the family's vertices `unreached` again.
DEVICE void take_away(const families &all, uint64_t x, uint64_t *by_vertex) {
  for (uint64_t i = all.begin[x]; i < all.begin[x + 1]; i++) by_vertex[all.vertices[i]] = unreached;
}
// Whether a family and the one that is spread have a vertex where their weights add up to less than `limit`. Each
// weight alone is below it.
DEVICE bool meets_below(const families &all, const uint64_t *by_vertex, uint64_t y, uint64_t limit) {
  for (uint64_t j = all.begin[y]; j < all.begin[y + 1]; j++)
    if (by_vertex[all.vertices[j]] < limit - all.weights[j]) return true;
  return false;
}
// A list of pairs with their united sets; `used` counts those too for which there was no room.
struct pair_list {
  uint64_t room;
  uint64_t *used, *sets;
  uint32_t *first, *second;
};
// The families of the span are paired with those behind them. `next` counts the families that blocks have taken;
// `weights` is (blocks, n).
template <int W>
DEVICE void pair_all(uint32_t n, const families &all, uint32_t size, uint64_t limit, share own, span taken,
                     uint64_t *next, uint64_t *weights, const pair_list &out) {
  if (threadIdx.x > 0) return;
  uint64_t *by_vertex = weights + (size_t)blockIdx.x * n;
  for (uint32_t v = 0; v < n; v++) by_vertex[v] = unreached;
  for (uint64_t x; (x = taken.begin + atomicAdd(next, (uint64_t)1)) < taken.end;) {
    const terminal_set<W> mine = set_at<W>(all.sets, x);
    const uint32_t rest = size - size_of(mine);
    const uint64_t first = x + 1 > all.layers[rest] ? x + 1 : all.layers[rest];
    spread(all, x, by_vertex);
    each_partner<W>(all, x, first, all.layers[rest + 1], [&](uint64_t y, const terminal_set<W> &other) {
      const terminal_set<W> both = united(mine, other);
      if (hash_of(both) % own.modulus != own.residue || !meets_below(all, by_vertex, y, limit)) return;
      const uint64_t at = atomicAdd(out.used, (uint64_t)1);
      if (at >= out.room) return;
      out.first[at] = x, out.second[at] = y;
      for (int w = 0; w < W; w++) out.sets[at * W + w] = both.word[w];
    });
    take_away(all, x, by_vertex);
  }
}
// `words` is (blocks, 5, n), `weights` is (blocks, n) and `rest` is (blocks, k). `next` counts the sets that blocks
// have taken.
template <int W>
DEVICE void grow_all(const network &net, const uint32_t *number, const families &all, const wanted &targets,
                     const ascents &dual, uint64_t limit, uint32_t rules, uint64_t *next, uint32_t *words,
                     uint64_t *weights, int64_t *rest, const kept_states &out) {
  if (threadIdx.x > 0) return;
  const size_t n = net.n;
  words += blockIdx.x * 5 * n, weights += blockIdx.x * n, rest += (size_t)blockIdx.x * net.count;
  growth<W> s = {net, number, {}, limit, 0, rules, 0, 0, 0, dual.count, dual.reach, rest, weights};
  s.order = words, s.above = words + n, s.state = words + 2 * n;
  s.waiting = {0, words + 3 * n, words + 4 * n, weights};
  for (uint32_t v = 0; v < net.n; v++) s.waiting.place[v] = nowhere, s.state[v] = unseen, weights[v] = unreached;
  for (uint64_t i; (i = atomicAdd(next, (uint64_t)1)) < targets.count;) {
    grow_set(s, all, targets, i, dual);
    write(s, i, out);
    forget(s);
  }
}
// Returns the number of the family with this set, of `size` terminals, or ~0 if there is none.
template <int W>
DEVICE uint64_t family_of(const families &all, const terminal_set<W> &set, uint32_t size) {
  uint64_t low = all.layers[size], high = all.layers[size + 1];
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    const int order = compared(set_at<W>(all.sets, middle), set);
    if (order == 0) return middle;
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  return unreached;
}
// The lightest meeting that a block has found: its weight; and the numbers of the three families (~0 for no third one)
// and of the vertex.
struct meeting {
  uint64_t *weight, *ids;
};
// Notes where two or three families meet, the first of which is spread, if that is lighter than what is noted, or as
// light with smaller numbers.
DEVICE void meet(const families &all, const uint64_t *by_vertex, uint64_t x, uint64_t y, uint64_t z, uint64_t *weight,
                 uint64_t *ids) {
  uint64_t l = z == unreached ? 0 : all.begin[z];
  for (uint64_t j = all.begin[y]; j < all.begin[y + 1]; j++) {
    const uint32_t v = all.vertices[j];
    if (by_vertex[v] == unreached) continue;
    while (z != unreached && l < all.begin[z + 1] && all.vertices[l] < v) l++;
    if (z != unreached && l == all.begin[z + 1]) return;
    const bool all_three = z == unreached || all.vertices[l] == v;
    const uint64_t sum = by_vertex[v] + all.weights[j] + (z == unreached || !all_three ? 0 : all.weights[l]);
    const bool sooner = x < ids[0] || (x == ids[0] && y < ids[1]);
    if (all_three && (sum < *weight || (sum == *weight && sooner)))
      *weight = sum, ids[0] = x, ids[1] = y, ids[2] = z, ids[3] = v;
  }
}
// Lets family x, which is spread, meet all that come after it. The sizes of the three sets ascend, and each is at most
// half of the number of terminals.
template <int W>
DEVICE void meet_others(const families &all, uint32_t terminals, const uint64_t *by_vertex, uint64_t x,
                        uint64_t *weight, uint64_t *ids) {
  const terminal_set<W> mine = set_at<W>(all.sets, x);
  const uint32_t a = size_of(mine), half = terminals / 2;
  for (uint32_t b = a; b <= half && a + b <= terminals; b++) {
    const uint32_t c = terminals - a - b;
    if (c && (c < b || c > half)) continue;
    const uint64_t first = x + 1 > all.layers[b] ? x + 1 : all.layers[b];
    each_partner<W>(all, x, first, all.layers[b + 1], [&](uint64_t y, const terminal_set<W> &other) {
      terminal_set<W> left = united(mine, other);
      for (uint32_t w = 0; w < W; w++) {
        const uint32_t bits = terminals < 64 * w ? 0 : terminals - 64 * w;
        left.word[w] = (bits < 64 ? (1ull << bits) - 1 : ~0ull) & ~left.word[w];
      }
      const uint64_t z = c ? family_of(all, left, c) : unreached;
      // Numbers ascend with sizes. If z < y, the two are of one size, and have met x the other way round.
      if (!c || (z > y && z != unreached)) meet(all, by_vertex, x, y, z, weight, ids);
    });
  }
}
// The families of the span are dealt to the ranks by their numbers. At first, `best` has the limit and zeros. `ids` is
// (blocks, 4), `weights` is (blocks, n).
template <int W>
DEVICE void meet_all(uint32_t n, const families &all, uint32_t terminals, share own, span taken, uint64_t *next,
                     uint64_t *weights, const meeting &best) {
  if (threadIdx.x > 0) return;
  uint64_t *by_vertex = weights + (size_t)blockIdx.x * n;
  for (uint32_t v = 0; v < n; v++) by_vertex[v] = unreached;
  uint64_t *weight = best.weight + blockIdx.x, *ids = best.ids + 4 * blockIdx.x;
  for (uint64_t i; (i = taken.begin + atomicAdd(next, (uint64_t)1) * own.modulus + own.residue) < taken.end;) {
    spread(all, i, by_vertex);
    meet_others<W>(all, terminals, by_vertex, i, weight, ids);
    take_away(all, i, by_vertex);
  }
}
// The kernels for sets of W words: subset_program_pair1, _grow1 and _meet1, and the same with 2.
#define SUBSET_PROGRAM(W)                                                                                            \
  KERNEL subset_program_pair##W(uint32_t n, families all, uint32_t size, uint64_t limit, share own, span taken,      \
                                uint64_t *next, uint64_t *weights, pair_list out) {                                  \
    pair_all<W>(n, all, size, limit, own, taken, next, weights, out);                                                \
  }                                                                                                                  \
  EXPORT_KERNEL(subset_program_pair##W)                                                                              \
  KERNEL subset_program_grow##W(network net, const uint32_t *number, families all, wanted targets, ascents dual,     \
                                uint64_t limit, uint32_t rules, uint64_t *next, uint32_t *words, uint64_t *weights,  \
                                int64_t *rest, kept_states out) {                                                    \
    grow_all<W>(net, number, all, targets, dual, limit, rules, next, words, weights, rest, out);                     \
  }                                                                                                                  \
  EXPORT_KERNEL(subset_program_grow##W)                                                                              \
  KERNEL subset_program_meet##W(uint32_t n, families all, uint32_t terminals, share own, span taken, uint64_t *next, \
                                uint64_t *weights, meeting best) {                                                   \
    meet_all<W>(n, all, terminals, own, taken, next, weights, best);                                                 \
  }                                                                                                                  \
  EXPORT_KERNEL(subset_program_meet##W)
SUBSET_PROGRAM(1)
SUBSET_PROGRAM(2)
