// Edge assembly crossover (EAX; Y. Nagata and S. Kobayashi, INFORMS Journal on Computing 25, 2013): the functions that
// Python calls. They are defined in edge_assembly.cpp and areas.cpp.
//
// A tour is the order of its nodes, uint32. An edge is a key, smaller node << 32 | larger node.
//
//   // Changes each of `count` tours (count, n) and its length (count,) in place: tour i by its partner, which is row
//   // partner_of[i] of `partners` (any number, n). They must not share memory with `tours`. `taken` (count,): how many
//   // children each has taken. Edges that left and came: keys, several times if several tours have lost or won them.
//   // All depends on streams[i], the pair's two tours, and the counts and entropy of the generation's start.
//   // entropy (population + 1,): entropy[k] of an edge that k tours have, times 2^20. `edges` is only read.
//   edge_assembly_generation(cities where, near_lists near, assembly_rules rules, edge_counts edges,
//       const int64_t *entropy, uint32_t count, uint32_t *tours, const uint32_t *partners, const uint32_t *partner_of,
//       const uint64_t *streams, int64_t *lengths, uint32_t *taken,
//       result<uint64_t> &removed, result<uint64_t> &added)
//
//   // Adds `by` to the counts of these edges. used (1,): the number of keys in the table, before and after. Leaves the
//   // counts as they were, and sets refused (1,) to 1, if it would get more than half full; the caller then makes one of
//   // twice the size from the keys whose count is above 0. An empty table: keys all ~0, counts 0, capacity 2^k.
//   edge_assembly_count(edge_counts edges, uint64_t count, const uint64_t *changed, int32_t by, uint64_t *used,
//       uint32_t *refused)
//
//   // The edges of whole tours (count, n), as keys.
//   edge_assembly_keys(uint32_t n, uint32_t count, const uint32_t *tours, result<uint64_t> &found)
//
//   // The AB-cycles of tours a and b (n,): nodes of all cycles, of cycle i at starts[i] to starts[i + 1]; the edge from
//   // its first node to its second is a's, the next b's.
//   edge_assembly_cycles(uint32_t n, const uint32_t *a, const uint32_t *b, uint64_t stream,
//       result<uint32_t> &cycles, result<uint64_t> &starts)
//
//   // Deals nodes to areas of at most `most` of them: with coordinates boxes that are split at a random place along
//   // their longest side, else paths of the tour. members (n,): the areas' nodes, one area after
//   // the other; starts (areas + 1,). Another stream gives other borders.
//   edge_assembly_areas(cities where, const uint32_t *tour, uint32_t most, uint64_t stream, uint32_t *members,
//       result<uint64_t> &starts)
//
//   // Improves a population in each of `areas` areas (members, starts as above; any part of them), whose first member is
//   // the tour inside the area, with the tour outside held. If that is the only member, it is improved by k-exchanges.
//   // streams, gains (areas,). The edges that leave and come, disjoint over areas; all areas together may leave several
//   // tours.
//   edge_assembly_improve_areas(cities where, near_lists near, area_rules rules, const int64_t *entropy,
//       const uint32_t *tour, uint32_t areas, const uint64_t *starts, const uint32_t *members, const uint64_t *streams,
//       int64_t *gains, result<uint64_t> &removed, result<uint64_t> &added)
//
//   // Replaces edges of `tour` (n,), and joins the tours that this leaves, the smallest first, by the cheapest
//   // 2-exchange. change (1,): what the whole adds to the length. parts (1,): the number of tours before joining.
//   edge_assembly_join(cities where, near_lists near, uint32_t *tour, uint64_t count, const uint64_t *removed,
//       const uint64_t *added, int64_t *change, uint32_t *parts)
#pragma once
#include <algorithm>
#include <cmath>

#include "host/function.hpp"
#include "host/random.hpp"
#include "tours/costs.cuh"

// How pairs are assembled.
struct assembly_rules {
  uint32_t population;  // tours in all
  uint32_t stage;  // 0: children of single AB-cycles, 1: of sets of them (blocks)
  uint32_t children;  // at most so many children of a pair are tried
  uint32_t taken;  // at most so many of a pair are taken
  uint32_t least_percent;  // of the best child's worth that the others must have
  uint32_t threads;
};
// How many tours have an edge: open addressing, a key's first place is its hash.
struct edge_counts {
  uint64_t capacity;  // a power of 2
  uint64_t *keys;  // ~0: empty
  int32_t *counts;
};
// How the population of an area is made and improved.
struct area_rules {
  uint32_t population, children, taken, least_percent, idle, threads;
  uint32_t depth, breadth;  // as in k_opt_rules (tours/k_opt.cuh)
};

// ---- edges ----

inline uint64_t edge_key(uint32_t a, uint32_t b) { return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a; }
// Returns the place of a key in the table, or the empty one where it belongs.
inline uint64_t place_of(const edge_counts &edges, uint64_t key) {
  const uint64_t mask = edges.capacity - 1;
  uint64_t i = key * 0x9E3779B97F4A7C15u >> 20 & mask;
  while (edges.keys[i] != key && edges.keys[i] != ~0ull) i = (i + 1) & mask;
  return i;
}
inline int32_t count_of(const edge_counts &edges, uint64_t key) { return edges.counts[place_of(edges, key)]; }
