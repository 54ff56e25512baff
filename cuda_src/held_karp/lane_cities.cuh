// The lane cities of registers: g(S, a) for their sets S and each lane city a outside S. These values are not stored,
// since the only reader of g(S, a) is S + a, another lane of the same register.
//
//   cost_row<T>                            the costs from a city to all others of a block, and what lane_paths makes of them
//   lane_steps<T>                          what a block has for paths from lane city to lane city
//   lane_paths<K, T>                       the least costs so far of paths to the lane cities of K registers
//   clear(x)                               no paths
//   extend_lanes<count>(x, k, path, row)   lowers those of `count` registers from number k on to path + costs
//   settle(x, costs, steps, after)         extends paths from lane cities to lane cities; then after[b][k] = g(S - b, b)
//   set_lane_costs(row)                    is called when a row has its costs
//   set_lane_steps(costs, steps)           is called when the rows of all lane cities have theirs
#pragma once
#include <type_traits>

#include "device/permuted.cuh"

constexpr int first_target = 12, target_columns = 40;  // multiples of 4, so that four costs are read at once

template <class T>
constexpr DEVICE uint32_t no_path() {
  return sizeof(T) == 2 ? 0x7fff7fffu : 0x7fffffffu;
}
// Lowers best[k][t] to path[k] + cost[t], for N targets of K registers. The costs stand at a multiple of 16 bytes.
template <int N, int K, int M, class T>
DEVICE void extend(lanes<T> (*best)[M], const lanes<T> *path, const uint32_t *costs) {
  const uint32_t *cost = (const uint32_t *)__builtin_assume_aligned(costs, 16);
  UNROLL for (int t = 0; t < N; t++) UNROLL for (int k = 0; k < K; k++) best[k][t] =
      min_add(best[k][t], path[k], splat<T>(cost[t]));
}

// The plain form: a register for each lane city, whose lanes are the sets.
template <int K, class T>
struct city_paths {
  lanes<T> best[K][lane_bits<T>()];
};
struct nothing {};

template <int K, class T>
DEVICE void clear(city_paths<K, T> &x) {
  constexpr int n = lane_bits<T>();
  UNROLL for (int at = 0; at < K * n; at++) x.best[at / n][at % n] = splat<T>(no_path<T>());
}
template <int count, int K, class T, class Row>
DEVICE void extend_lanes(city_paths<K, T> &x, int first, const lanes<T> *path, const Row &row) {
  extend<lane_bits<T>(), count>(x.best + first, path, row.to);
}
// Sweep s makes the values of sets with s lane cities final.
template <int K, class T, class Row>
DEVICE void settle(city_paths<K, T> &x, const Row *cost, const nothing &, lanes<T> (*after)[K]) {
  constexpr int n = lane_bits<T>();
  UNROLL for (int sweep = 1; sweep <= n; sweep++) {
    UNROLL for (int k = 0; k < K; k++) UNROLL for (int b = 0; b < n; b++) after[b][k] = without(x.best[k][b], b);
    if (sweep < n)
      UNROLL for (int a = 0; a < n; a++) UNROLL for (int b = 0; b < n; b++)
          UNROLL for (int k = 0; k < K; k++) if (a != b)
              x.best[k][a] = min_add(x.best[k][a], after[b][k], splat<T>(cost[b].to[a]));
  }
}

// The form where lanes can be permuted: of the lanes of the plain form half are of no use, so the pairs (S, a) are
// packed. There are n 2^(n - 1) of them, which fill 3 registers for n = 5 and 2 for n = 4. All pairs whose sets have the
// same size are in one register, so those of size k follow from those of size k - 1 in k steps.
template <class T>
struct lane_pairs {
  static constexpr int n = lane_bits<T>(), width = lanes<T>::width, registers = n == 5 ? 3 : 2;
  static constexpr int steps = n * (n - 1) / 2;
  static constexpr T none = (T)no_path<T>();
  struct lane_mask {  // `none` at lanes that hold nothing, else 0
    alignas(64) T at[width];
  };
  // Of each pair the lane of S, and that of a in a row of costs.
  lane_order<T> set[registers], city[registers];
  lane_mask no_pair[registers];
  // In each step another city b of S is the last one. Of each pair the lane of (S - b, b), and the arc from b to a.
  lane_order<T> before[steps], arc[steps];
  lane_mask no_step[steps];
  // Of each set S with b the lane of (S - b, b): of registers 0 and 1, and of what was found there and register 2.
  alignas(64) T last[n][registers - 1][width];
  lane_mask no_last[n];

  static constexpr int size_of(int set) { return set ? (set & 1) + size_of(set >> 1) : 0; }
  static constexpr int register_of(int size) { return n == 4 ? size / 2 : size == 2 || size == 3 ? size - 1 : 0; }
  // The size of a step's sets: one step for those of one city, two for those of two, and so on.
  static constexpr int size_in(int step) {
    int size = 1;
    for (; step >= size; size++) step -= size;
    return size;
  }
  constexpr lane_pairs() : set(), city(), no_pair(), before(), arc(), no_step(), last(), no_last() {
    int lane[1 << n][n] = {}, used[registers] = {};
    for (auto &mask : no_pair) clear_all(mask);
    for (auto &mask : no_step) clear_all(mask);
    for (int S = 0; S < 1 << n; S++)
      for (int a = 0; a < n; a++) {
        const int size = size_of(S), r = register_of(size);
        if (S >> a & 1) continue;
        const int at = lane[S][a] = used[r]++;
        set[r].from[at] = set[r].number(S), no_pair[r].at[at] = 0;
        city[r].from[at] = city[r].number(sizeof(T) == 2 ? 2 * a : a);  // a row has each 16-bit cost twice
      }
    for (int S = 0; S < 1 << n; S++)
      for (int b = 0, nth = 0; b < n; b++) {
        const int size = size_of(S), from = S & ~(1 << b), there = register_of(size - 1), at = lane[from][b];
        no_last[b].at[S] = S >> b & 1 ? 0 : none;
        if (!(S >> b & 1)) continue;
        last[b][0][S] = (T)(there == 1 ? width + at : at);
        if (registers == 3) last[b][registers - 2][S] = (T)(there == 2 ? width + at : S);
        const int step = size * (size - 1) / 2 + nth++;
        for (int a = 0; a < n; a++) {
          if (S >> a & 1) continue;
          before[step].from[lane[S][a]] = before[step].number(at);
          arc[step].from[lane[S][a]] = arc[step].number(b * n + a);
          no_step[step].at[lane[S][a]] = 0;
        }
      }
  }
  static constexpr void clear_all(lane_mask &mask) {
    for (T &lane : mask.at) lane = none;
  }
};
template <class T>
static constexpr lane_pairs<T> pairs_of;

template <class T>
struct pair_costs {
  alignas(64) T to_pairs[lane_pairs<T>::registers][lanes<T>::width];
};
template <class T>
struct pair_steps {
  alignas(64) T cost[lane_pairs<T>::steps][lanes<T>::width];
};
template <class T>
struct pair_paths {
  lanes<T> best[lane_pairs<T>::registers];
};
// Returns x with no path at the lanes of the mask.
template <class T>
DEVICE lanes<T> unless(lanes<T> x, const T *mask) {
  return {x.v | load(mask).v};
}
template <class T>
DEVICE void clear(pair_paths<T> &x) {
  UNROLL for (int r = 0; r < lane_pairs<T>::registers; r++) x.best[r] = splat<T>(no_path<T>());
}
template <int count, class T, class Row>
DEVICE void extend_lanes(pair_paths<T> &x, int, const lanes<T> *path, const Row &row) {
  UNROLL for (int r = 0; r < lane_pairs<T>::registers; r++) x.best[r] =
      min_add(x.best[r], permuted(*path, pairs_of<T>.set[r]), load(row.to_pairs[r]));
}
template <class T, class Row>
DEVICE void settle(pair_paths<T> &x, const Row *, const pair_steps<T> &steps, lanes<T> (*after)[1]) {
  typedef lane_pairs<T> pairs;
  UNROLL for (int s = 0; s < pairs::steps; s++) {
    const lanes<T> before = x.best[pairs::register_of(pairs::size_in(s) - 1)];
    lanes<T> &best = x.best[pairs::register_of(pairs::size_in(s))];
    best = min_add(best, permuted(before, pairs_of<T>.before[s]), load(steps.cost[s]));
  }
  UNROLL for (int b = 0; b < pairs::n; b++) {
    lanes<T> found = x.best[0];
    UNROLL for (int r = 1; r < pairs::registers; r++) found = chosen(found, x.best[r], pairs_of<T>.last[b][r - 1]);
    after[b][0] = unless(found, pairs_of<T>.no_last[b].at);
  }
}

template <int K, class T>
using lane_paths = std::conditional_t<permutes_lanes, pair_paths<T>, city_paths<K, T>>;
template <class T>
using lane_steps = std::conditional_t<permutes_lanes, pair_steps<T>, nothing>;
template <class T>
struct cost_row : std::conditional_t<permutes_lanes, pair_costs<T>, nothing> {
  alignas(16) uint32_t to[first_target + target_columns];
};
template <class T>
DEVICE void set_lane_costs(cost_row<T> &row) {
  if constexpr (permutes_lanes) {
    const lanes<T> costs = load((const T *)row.to);
    UNROLL for (int r = 0; r < lane_pairs<T>::registers; r++)
        store(row.to_pairs[r], unless(permuted(costs, pairs_of<T>.city[r]), pairs_of<T>.no_pair[r].at));
  }
}
template <class T>
DEVICE void set_lane_steps(const cost_row<T> *cost, lane_steps<T> &steps) {
  if constexpr (permutes_lanes) {
    constexpr int n = lane_bits<T>();
    alignas(64) T square[lanes<T>::width] = {};
    UNROLL for (int b = 0; b < n; b++) for (int a = 0; a < n; a++) square[b * n + a] = (T)cost[b].to[a];
    UNROLL for (int s = 0; s < lane_pairs<T>::steps; s++)
        store(steps.cost[s], unless(permuted(load(square), pairs_of<T>.arc[s]), pairs_of<T>.no_step[s].at));
  }
}
