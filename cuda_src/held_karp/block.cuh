// What one block of Held-Karp computes: the values of all sets that differ in their low cities alone, register by
// register. held_karp.cu describes the method and the layout.
#pragma once
#include "held_karp/lane_cities.cuh"
#include "held_karp/subsets.cuh"

constexpr int stride = 64;  // of the cost matrix; row 63 is the depot's, and 62 is no city: all its costs are no_path
constexpr int depot_row = stride - 1, no_city = stride - 2;
constexpr int most_low = 10;  // low cities
constexpr int most_outside = 38;  // mid and top cities
constexpr int lines_ahead = 4;  // registers of a plane that a CPU fetches before it reads or writes them: cache lines

// What the registers of a block share. The mid and top cities in the block's sets are sources, the others targets. In
// `cost`, row and column c are low city c; row most_low + s is source s, and column first_target + t is target t.
template <class T>
struct block_problem : lane_steps<T> {
  T inner[most_low - lane_bits<T>()][1 << most_low];  // the planes of the inner cities
  int sources, targets, low, low_rows;  // low_rows is low, or the number of lane cities if that is larger
  const T *source[most_outside];  // entry 0 of each plane
  T *target[most_outside];
  int source_city[most_outside], target_city[most_outside];
  cost_row<T> cost[most_low + most_outside];  // from row to column
};

template <int N>
struct constant {
  static constexpr int value = N;
};
// Calls f with 0 <= n <= most as a compile-time constant, so that a tile of n results stays in registers. (f comes by
// reference, here and below: g++ copies a closure 16 bytes at a time, just after it was written by 8, and waits for that.)
template <int most, class F>
DEVICE void with_constant(int n, const F &f) {
  if (n == most) return f(constant<most>());
  if constexpr (most > 0) with_constant<most - 1>(n, f);
}
constexpr int widest_tile = 12;

// The sets of K registers that are solved together, so that a cost is read once for all. They have equally many inner
// cities: those of register k are subset[k]. `to` has the other inner cities, and `position` is the entry of this
// thread's lane in a plane.
template <int K>
struct register_sets {
  uint32_t subset[K], to[K];
  int position[K];
};
// For every city i of S outside the lane cities, calls f(count, k, paths, costs) with the costs from i and g(S - i, i)
// of `count` registers from number k on: of all for a city outside the low cities, and of one for an inner city.
template <int K, class T, class F>
DEVICE void for_each_path(const block_problem<T> &p, const register_sets<K> &sets, const F &f) {
  lanes<T> path[K];
  for (int s = 0; s < p.sources; s++) {
    UNROLL for (int k = 0; k < K; k++) path[k] = load(p.source[s] + sets.position[k]);
    prefetch(p.source[s] + sets.position[0] + lines_ahead * lanes<T>::width);
    f(constant<K>(), 0, path, p.cost[most_low + s]);
  }
  UNROLL for (int k = 0; k < K; k++) for (uint32_t from = sets.subset[k]; from; from &= from - 1) {
    const int i = lowest(from);
    path[0] = load(&p.inner[i - lane_bits<T>()][sets.position[k] - (1 << i)]);
    f(constant<1>(), k, path, p.cost[i]);
  }
}
// Solves K registers for the lane cities and their N inner cities.
template <int N, int K, class T>
DEVICE void solve_low(block_problem<T> &p, const register_sets<K> &sets, lanes<T> (*after)[K]) {
  constexpr int n = lane_bits<T>();
  lane_paths<K, T> among;
  clear(among);
  lanes<T> best[K][N + 1];
  int city[K][N + 1];
  UNROLL for (int k = 0; k < K; k++) {
    uint32_t to = sets.to[k];
    UNROLL for (int t = 0; t < N; t++, to &= to - 1) best[k][t] = splat<T>(no_path<T>()), city[k][t] = lowest(to);
  }
  for_each_path(p, sets, [&](auto count, int first, const lanes<T> *path, const cost_row<T> &cost) {
    constexpr int registers = decltype(count)::value;
    extend_lanes<registers>(among, first, path, cost);
    UNROLL for (int t = 0; t < N; t++) UNROLL for (int k = 0; k < registers; k++) best[first + k][t] =
        min_add(best[first + k][t], path[k], splat<T>(cost.to[city[first + k][t]]));
  });
  settle(among, p.cost, p, after);
  UNROLL for (int k = 0; k < K; k++) UNROLL for (int t = 0; t < N; t++) {
    UNROLL for (int b = 0; b < n; b++) best[k][t] =
        min_add(best[k][t], after[b][k], splat<T>(p.cost[b].to[city[k][t]]));
    store(p.inner[city[k][t] - n] + sets.position[k], best[k][t]);
  }
}
// Solves K registers for the N targets outside the low cities from number `first` on, which is a multiple of 4. A
// plane that is shorter than a register is solved twice, and stored by the threads of its first copy.
template <int N, int K, class T>
DEVICE void solve_outside(const block_problem<T> &p, const register_sets<K> &sets, int first,
                          const lanes<T> (*after)[K]) {
  constexpr int n = lane_bits<T>();
  lanes<T> best[K][N + 1];
  const int column = first_target + (first & ~3);  // tells the compiler that it is a multiple of 4
  UNROLL for (int k = 0; k < K; k++) UNROLL for (int t = 0; t < N; t++) best[k][t] = splat<T>(no_path<T>());
  for_each_path(p, sets, [&](auto count, int from, const lanes<T> *path, const cost_row<T> &cost) {
    extend<N, decltype(count)::value>(best + from, path, cost.to + column);
  });
  UNROLL_ON_GPU for (int b = 0; b < n; b++) extend<N, K>(best, after[b], p.cost[b].to + column);
  if (lane() * lanes<T>::width >> p.low) return;
  UNROLL for (int k = 0; k < K; k++) UNROLL for (int t = 0; t < N; t++) {
    T *to = p.target[first + t] + sets.position[k];
    store(to, best[k][t]);
    prefetch_write(to + lines_ahead * lanes<T>::width);
  }
}
template <int K, class T>
DEVICE void solve_registers(block_problem<T> &p, const register_sets<K> &sets) {
  lanes<T> after[lane_bits<T>()][K];
  with_constant<most_low - lane_bits<T>()>(count(sets.to[0]),
                                           [&](auto N) { solve_low<decltype(N)::value>(p, sets, after); });
  for (int first = 0, left = p.targets; left > 0;) {
    const int tiles = (left + widest_tile - 1) / widest_tile;  // of about the same width, all but the last of 4, 8, 12
    const int n = tiles == 1 ? left : (left + 4 * tiles - 1) / (4 * tiles) * 4;
    with_constant<widest_tile>(n, [&](auto N) { solve_outside<decltype(N)::value>(p, sets, first, after); });
    first += n;
    left -= n;
  }
}
// Copies the costs between the cities of a block to p.cost, so that the costs to consecutive targets are consecutive. A
// register that has more lane cities than there are low cities gets `no_city` in their place. The first loop copies
// more than the low cities, because g++ makes three loads and stores of its constant number of steps.
template <class T>
DEVICE void copy_costs(block_problem<T> &p, const uint32_t *cost) {
  for (int r = warp(); r < p.low_rows + p.sources; r += warps()) {
    const int s = r - p.low_rows, city = s >= 0 ? p.source_city[s] : r < p.low ? r : no_city;
    const uint32_t *from = cost + stride * city;
    cost_row<T> &row = p.cost[s < 0 ? r : most_low + s];
    for (int k = lane(); k < first_target; k += warp_size) row.to[k] = from[k];
    if (p.low < p.low_rows)
      for (int k = lane(); k < p.low_rows; k += warp_size) row.to[k] = from[k < p.low ? k : no_city];
    for (int k = lane(); k < p.targets; k += warp_size) row.to[first_target + k] = from[p.target_city[k]];
    set_lane_costs(row);
  }
  set_lane_steps(p.cost, p);
}
