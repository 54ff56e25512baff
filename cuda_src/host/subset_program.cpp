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
// Values are always weights of real trees, so both rules together are safe. No state says where it comes from; the caller
// finds that again (hpcsolve/algorithms/steiner_kmb/subset_program.py).
//
// pair: lists the pairs of families whose union has a given size and which meet below the limit. Unions are dealt to
// ranks by their hash, and to passes if there is no room for all pairs. grow: merges the pairs of each set, searches,
// and keeps states. meet: finds the lightest tree of three sets (the third may be empty).
//
// Only some thousands of a graph's 2^k sets have states. Their lists are short and irregular: a thread takes one family
// or set after the other. The order does not matter: each value is a minimum, and the caller sorts what comes back.
// `grow` needs for each thread 45 bytes for each vertex. Memory traffic: for each set the states of its pairs, 12 bytes
// each, and the rows of its vertices and, for the separator rule, of those around them.
#include "host/growth.hpp"
#include "host/share.hpp"

// The share of the sets that a call takes: those whose hash modulo `modulus` is `residue`.
struct portion {
  uint32_t modulus, residue;
};
// Numbers of the families that this call takes: begin <= number < end.
struct span {
  uint64_t begin, end;
};
// Lists of pairs with their united sets.
struct pair_lists {
  vector<uint64_t> &sets;
  vector<uint32_t> &first, &second;
};
template <class T>
void append(vector<T> &all, const vector<T> &more) {
  all.insert(all.end(), more.begin(), more.end());
}
// Pairs the families of the span with those behind them. Returns the number of pairs, and lists them as long as there is
// room.
template <int W>
uint64_t pair_all(uint32_t n, uint32_t threads, const families &all, uint32_t size, uint64_t limit, portion own,
                  span taken, uint64_t room, pair_lists out) {
  struct lister {
    spread_family mine;
    vector<uint64_t> sets;
    vector<uint32_t> first, second;
  };
  uint64_t used = 0;
  const auto pair_one = [&](lister &here, uint64_t i) {
    const uint64_t x = taken.begin + i;
    const terminal_set<W> mine = set_at<W>(all.sets, x);
    const uint32_t rest = size - size_of(mine);
    const uint64_t begin = x + 1 > all.layers[rest] ? x + 1 : all.layers[rest];
    here.mine.spread(all, x);
    each_partner<W>(all, x, begin, all.layers[rest + 1], [&](uint64_t y, const terminal_set<W> &other) {
      const terminal_set<W> both = united(mine, other);
      if (hash_of(both) % own.modulus != own.residue || !here.mine.meets_below(all, y, limit)) return;
      if (__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED) >= room) return;
      here.first.push_back(x), here.second.push_back(y);
      for (int w = 0; w < W; w++) here.sets.push_back(both.word[w]);
    });
    here.mine.take_away(all, x);
  };
  const auto listers =
      share(taken.end - taken.begin, threads, [n] { return lister{spread_family(n), {}, {}, {}}; }, pair_one);
  for (const lister &one : listers)
    append(out.sets, one.sets), append(out.first, one.first), append(out.second, one.second);
  return used;
}
// Grows sets until they have as many states as there is room for. The sets that are left have no states and no count.
template <int W>
kept_states grow_all(const network &net, uint32_t threads, const uint32_t *number, const families &all,
                     const wanted &targets, const ascents &dual, uint64_t limit, uint32_t rules, uint64_t room) {
  uint64_t used = 0;
  const auto grow_one = [&](growth<W> &here, uint64_t i) {
    if (__atomic_load_n(&used, __ATOMIC_RELAXED) < room)
      __atomic_fetch_add(&used, here.grow(all, targets, i), __ATOMIC_RELAXED);
  };
  const auto workers =
      share(targets.count, threads, [&] { return growth<W>(net, number, dual, limit, rules); }, grow_one);
  kept_states found;
  for (const growth<W> &one : workers) {
    append(found.sets, one.kept.sets), append(found.counts, one.kept.counts), append(found.least, one.kept.least);
    append(found.vertices, one.kept.vertices), append(found.weights, one.kept.weights);
  }
  return found;
}
constexpr uint64_t no_family = ~0ull;
// Returns the number of the family with this set, of `size` terminals, or `no_family`.
template <int W>
uint64_t family_of(const families &all, const terminal_set<W> &set, uint32_t size) {
  uint64_t low = all.layers[size], high = all.layers[size + 1];
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    const int order = compared(set_at<W>(all.sets, middle), set);
    if (order == 0) return middle;
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  return no_family;
}
// The lightest meeting so far: its weight; and the numbers of the three families (~0 for no third one) and of the
// vertex.
struct meeting {
  uint64_t weight, ids[4];

  bool operator<(const meeting &other) const {
    if (weight != other.weight) return weight < other.weight;
    for (int i = 0; i < 4; i++)
      if (ids[i] != other.ids[i]) return ids[i] < other.ids[i];
    return false;
  }
  // Notes where two or three families meet, the first of which is spread, if that is lighter than what is noted, or as
  // light with smaller numbers.
  void note(const families &all, const spread_family &first, uint64_t x, uint64_t y, uint64_t z) {
    uint64_t l = z == no_family ? 0 : all.begin[z];
    for (uint64_t j = all.begin[y]; j < all.begin[y + 1]; j++) {
      const uint32_t v = all.vertices[j];
      if (first.weight[v] == no_path) continue;
      while (z != no_family && l < all.begin[z + 1] && all.vertices[l] < v) l++;
      if (z != no_family && l == all.begin[z + 1]) return;
      if (z != no_family && all.vertices[l] != v) continue;
      const uint64_t sum = first.weight[v] + all.weights[j] + (z == no_family ? 0 : all.weights[l]);
      if (sum < weight || (sum == weight && (x < ids[0] || (x == ids[0] && y < ids[1])))) *this = {sum, {x, y, z, v}};
    }
  }
};
// Lets family x, which is spread, meet all that come after it. The sizes of the three sets ascend, and each is at most
// half of the number of terminals.
template <int W>
void meet_others(const families &all, uint32_t terminals, const spread_family &first, uint64_t x, meeting &best) {
  const terminal_set<W> mine = set_at<W>(all.sets, x);
  const uint32_t a = size_of(mine), half = terminals / 2;
  for (uint32_t b = a; b <= half && a + b <= terminals; b++) {
    const uint32_t c = terminals - a - b;
    if (c && (c < b || c > half)) continue;
    const uint64_t begin = x + 1 > all.layers[b] ? x + 1 : all.layers[b];
    each_partner<W>(all, x, begin, all.layers[b + 1], [&](uint64_t y, const terminal_set<W> &other) {
      terminal_set<W> left = united(mine, other);
      for (uint32_t w = 0; w < W; w++) {
        const uint32_t bits = terminals < 64 * w ? 0 : terminals - 64 * w;
        left.word[w] = (bits < 64 ? (1ull << bits) - 1 : ~0ull) & ~left.word[w];
      }
      const uint64_t z = c ? family_of(all, left, c) : no_family;
      // Numbers ascend with sizes. If z < y, the two are of one size, and have met x the other way round.
      if (!c || (z > y && z != no_family)) best.note(all, first, x, y, z);
    });
  }
}
// Lets this rank's families of the span meet the others, and returns the lightest meeting, which is `best` if none is
// lighter.
template <int W>
meeting meet_all(uint32_t n, uint32_t threads, const families &all, uint32_t terminals, portion own, span taken,
                 meeting best) {
  struct host_of_meetings {
    spread_family first;
    meeting best;
  };
  const uint64_t behind = taken.begin + own.residue < taken.end ? taken.end - taken.begin - own.residue : 0;
  const auto meet_one = [&](host_of_meetings &here, uint64_t i) {
    const uint64_t x = taken.begin + i * own.modulus + own.residue;
    here.first.spread(all, x);
    meet_others<W>(all, terminals, here.first, x, here.best);
    here.first.take_away(all, x);
  };
  const auto found = share((behind + own.modulus - 1) / own.modulus, threads,
                           [&] { return host_of_meetings{spread_family(n), best}; }, meet_one);
  for (const host_of_meetings &one : found) best = one.best < best ? one.best : best;
  return best;
}
// The functions for sets of W words: subset_program_pair1, _grow1 and _meet1, and the same with 2. `weight` and `ids`
// are those of the lightest meeting, before and after: at first the limit and zeros.
#define SUBSET_PROGRAM(W)                                                                                              \
  FUNCTION subset_program_pair##W(uint32_t n, uint32_t threads, families all, uint32_t size, uint64_t limit,           \
                                  portion own, span taken, uint64_t room, result<uint64_t> &used,                      \
                                  result<uint64_t> &sets, result<uint32_t> &first, result<uint32_t> &second) {         \
    used.push_back(pair_all<W>(n, threads, all, size, limit, own, taken, room, {sets, first, second}));                \
  }                                                                                                                    \
  EXPORT_FUNCTION(subset_program_pair##W)                                                                              \
  FUNCTION subset_program_grow##W(network net, uint32_t threads, const uint32_t *number, families all, wanted targets, \
                                  ascents dual, uint64_t limit, uint32_t rules, uint64_t room, result<uint32_t> &sets, \
                                  result<uint32_t> &counts, result<uint64_t> &least, result<uint32_t> &vertices,       \
                                  result<uint64_t> &weights) {                                                         \
    kept_states found = grow_all<W>(net, threads, number, all, targets, dual, limit, rules, room);                     \
    sets.swap(found.sets), counts.swap(found.counts), least.swap(found.least);                                         \
    vertices.swap(found.vertices), weights.swap(found.weights);                                                        \
  }                                                                                                                    \
  EXPORT_FUNCTION(subset_program_grow##W)                                                                              \
  FUNCTION subset_program_meet##W(uint32_t n, uint32_t threads, families all, uint32_t terminals, portion own,         \
                                  span taken, uint64_t *weight, uint64_t *ids) {                                       \
    const meeting best = {*weight, {ids[0], ids[1], ids[2], ids[3]}};                                                  \
    const meeting found = meet_all<W>(n, threads, all, terminals, own, taken, best);                                   \
    *weight = found.weight;                                                                                            \
    for (int i = 0; i < 4; i++) ids[i] = found.ids[i];                                                                 \
  }                                                                                                                    \
  EXPORT_FUNCTION(subset_program_meet##W)
SUBSET_PROGRAM(1)
SUBSET_PROGRAM(2)
