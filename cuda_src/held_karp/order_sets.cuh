// One set of Held-Karp's recurrence for any objective and constraints, with costs by place: its values for all cities
//
//   g(S, j) = min over i in S of join(g(S - i, i), cost(|S|, i, j)),   j not in S,
//
// where `join` adds, adds a multiple that depends on S, or takes the dearer one. A warp (on a CPU a thread) computes
// the values of a set: its lanes are the cities j, all with the same i, so that a row of costs is read in order. A
// value before the window of its city then becomes the window's beginning. It becomes infinite if it is after the
// window, or if a city that must precede j is not in S.
#pragma once
#include <type_traits>

#include "held_karp/subsets.cuh"

constexpr int cost_stride = 32, depot_costs = 31;  // row and column i are city i; row 31 is the depot's
constexpr int most_order_cities = 31;

template <int N>
struct columns {
  static constexpr int width = N;
};
template <class V>
constexpr DEVICE V no_path() {
  return sizeof(V) == 4 ? (V)0x7fffffff : (V)((uint64_t)1 << 62);
}
struct add_costs {
  template <class V>
  DEVICE V join(V path, V cost, V) {
    return sizeof(V) == 8 && cost == no_path<V>() ? cost : path + cost;  // of 8 bytes, a path may be negative
  }
  template <class V>
  DEVICE V meet(V path, V rest) {
    return path + rest;
  }
};
struct add_multiples : add_costs {
  template <class V>
  DEVICE V join(V path, V cost, V factor) {
    return cost == no_path<V>() ? cost : path + cost * factor;
  }
};
struct dearest_cost {
  template <class V>
  DEVICE V join(V path, V cost, V) {
    return path < cost ? cost : path;
  }
  template <class V>
  DEVICE V meet(V path, V rest) {
    return path < rest ? rest : path;
  }
};
// What a set's row needs beside the paths: the costs of its place, for each city its window and the set of those that
// must precede it, and what the weights of S add to `factor`.
template <class V>
struct order_rules {
  const V *cost;  // (32, 32)
  const V *earliest, *latest;  // (32)
  const uint32_t *before;  // (32)
  const V *weight;  // (32)
  V factor;
};
template <class V>
DEVICE V factor_of(const order_rules<V> &rules, uint32_t set) {
  V factor = rules.factor;
  for (uint32_t rest = set; rest; rest &= rest - 1) factor += rules.weight[lowest(rest)];
  return factor;
}
// Computes g(S, j) for `width` cities j, of which the first `cities` are kept: `path(i)` is g(S - i, i), and g(S, j) is
// stored at row[j * plane]. The places of the cities in S are left alone: they belong to the complement of S.
template <class Join, int width, class V, class Path>
DEVICE void solve_row(const order_rules<V> &rules, int cities, uint32_t set, V *row, size_t plane, Path path) {
  constexpr int own = (width + warp_size - 1) / warp_size;  // columns of a thread
  V best[own];
  const V factor = std::is_same<Join, add_multiples>::value ? factor_of(rules, set) : V(1);
  for (int c = 0; c < own; c++) best[c] = no_path<V>();
  if (!set)
    for (int c = 0; c < own; c++) {
      const V cost = rules.cost[depot_costs * cost_stride + lane() + c * warp_size];
      best[c] = Join().join(V(0), cost, factor);
    }
  for (uint32_t from = set; from; from &= from - 1) {
    const int i = lowest(from);
    const V here = path(i);
    if (here >= no_path<V>()) continue;
    const V *cost = rules.cost + i * cost_stride + lane();
    for (int c = 0; c < own; c++) {
      const V joined = Join().join(here, cost[c * warp_size], factor);
      best[c] = joined < best[c] ? joined : best[c];
    }
  }
  for (int c = 0; c < own; c++) {
    const int j = lane() + c * warp_size;
    V value = best[c] < rules.earliest[j] ? rules.earliest[j] : best[c];
    if (value > rules.latest[j] || (rules.before[j] & ~set)) value = no_path<V>();
    if (j < cities && !(set >> j & 1)) row[j * plane] = value;
  }
}
// Lowers through[i][j], for all i in S and j outside, to the value of the best order that begins with the cities of S,
// i the last of them, and goes on to j. `path(i)` is g(S - i, i), and `rest(j)` the value of the best path from j
// through all other cities to the depot.
template <class Join, int width, class V, class Path, class Rest>
DEVICE void join_halves(const order_rules<V> &rules, int cities, uint32_t set, V *through, Path path, Rest rest) {
  constexpr int own = (width + warp_size - 1) / warp_size;  // columns of a thread
  V behind[own];
  const V factor = std::is_same<Join, add_multiples>::value ? factor_of(rules, set) : V(1);
  for (int c = 0; c < own; c++) {
    const int j = lane() + c * warp_size;
    behind[c] = j < cities && !(set >> j & 1) ? rest(j) : no_path<V>();
  }
  for (uint32_t from = set; from; from &= from - 1) {
    const int i = lowest(from);
    const V here = path(i);
    if (here >= no_path<V>()) continue;
    const V *cost = rules.cost + i * cost_stride + lane();
    for (int c = 0; c < own; c++) {
      const V joined = Join().join(here, cost[c * warp_size], factor);
      const bool both = joined < no_path<V>() && behind[c] < no_path<V>();
      const V whole = both ? Join().meet(joined, behind[c]) : no_path<V>();
      atomicMin_block(through + i * cost_stride + lane() + c * warp_size, whole);
    }
  }
}
// Calls f with a number of columns, as few as a row of so many cities takes: a CPU has a few columns in each register.
template <class F>
DEVICE void with_width(int cities, F f) {
  if (one_thread_blocks && cities <= 8) return f(columns<8>());
  if (one_thread_blocks && cities <= 16) return f(columns<16>());
  if (one_thread_blocks && cities <= 24) return f(columns<24>());
  f(columns<32>());
}
