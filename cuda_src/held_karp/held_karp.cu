// Held-Karp dynamic programming for the travelling salesman problem. Each launch is one step of a wave that goes
// through the layers of the subset lattice.
//
//   g(S, j) = min over i in S of g(S - i, i) + cost(i, j),   j not in S:
// the cost of a cheapest path from the depot through all of S to j (Bellman 1962; Held and Karp 1962). Only ONE set
// needs the value g(S, j), which is S + j. So the recurrence is a min-plus product of the cost matrix with rows of
// values, and each value is written once and read once.
//
// Layout. Each city but the depot is a bit of a set: from the least bit up the low cities, the mid cities, and the top
// cities. The first low cities are lane cities, the others inner cities. A plane of city j is a table of g(S, j) for
// all sets S of a block, of a layer or of a chunk, as said below.
// - A register holds the sets that agree outside the lane cities: its lane number is the subset of the lane cities. A
//   lane city needs no storage: the only reader of g(S, a) is S + a, another lane of the same register (`settle`). The
//   number of lane cities does not show in the data: entry p of a plane is low set p, whatever the register's width.
// - A block solves the 2^low sets that have its mid set and its slice's top set. An inner city's plane is the block's
//   own memory: the reader of g(S, i) is S + i, so a plane that is written is read again at an entry higher by 1 << i.
// - A mid city's plane is stored in global memory, one for each layer (all sets with the same number of mid cities). It
//   is 2^low entries for each mid set, in colexicographic order of these with j's bit squeezed out. Only two layers are
//   stored at a time. A plane is written once and read once, both in order.
// - A top city's plane is never stored. A slice is a subset of the top cities; slice A sends the plane of top city i to
//   slice A + i, chunk by chunk, through `stream`. A slice with t top cities is in stage t: in step s it works on chunk
//   s - lag * t. So the slices work at the same time, and a plane has `lag` steps to travel, on this rank or to
//   another.
// Where the halves of a tour meet. The complement of entry e of a plane is entry length - 1 - e of the same city's
// plane in the complementary slice. In the middle layer a set has half of the mid cities other than j, and so has its
// complement. So one run from each end up to that layer is enough (`held_karp_meet`), and no other layer is kept.
//
// Values are at most infinity, 0x7fff or 0x7fffffff, so the sum of two never wraps. A forbidden arc costs infinity. The
// cost matrix has 32-bit patterns, each of which holds a 16-bit cost twice.
//
// Work. m cities beside the depot take m (m - 1) 2^(m - 2) min-adds. A register with b lane cities, f sources and t
// targets outside them executes f t + b (f + t) + b (b - 1)^2 of them, of which f t + b (f + t) / 2 + b (b - 1) / 4 are
// useful: 69 % for b = 4 (16-bit values, AVX2), f = t = 11. A stored value moves twice: 2 mid 2^(m - 1) values in all,
// at m = 27 and 16 bits 2.4 GB for 2.4e10 min-adds, so arithmetic is the limit and not memory.
// jobs/benchmarks/held_karp/RESULTS.md compares this with the machine's peak of min-adds (minplus.cu).
// jobs/benchmarks/gpu.md has estimates for a GPU.
#include "held_karp/subsets.cuh"

constexpr int stride = 64;  // of the cost matrix; row 63 is the depot's, and 62 is no city: all its costs are infinity
constexpr int depot_row = stride - 1, no_city = stride - 2;
constexpr int most_low = 10;  // low cities
constexpr int most_outside = 38;  // mid and top cities
constexpr int first_target = 12, target_columns = 40;  // multiples of 4, so that four costs are read at once

// What the registers of a block share. The mid and top cities in the block's sets are sources, the others targets. In
// `cost`, row and column c are low city c; row most_low + s is source s, and column first_target + t is target t.
template <class T>
struct block_problem {
  T inner[most_low - lane_bits<T>()][1 << most_low];  // the planes of the inner cities
  int sources, targets, low;
  const T *source[most_outside];  // entry 0 of each plane
  T *target[most_outside];
  int source_city[most_outside], target_city[most_outside];
  alignas(16) uint32_t cost[most_low + most_outside][first_target + target_columns];  // from row to column
};

template <int N>
struct constant {
  static constexpr int value = N;
};
// Calls f with 0 <= n <= most as a compile-time constant, so that a tile of n results stays in registers.
template <int most, class F>
DEVICE void with_constant(int n, F f) {
  if (n == most) return f(constant<most>());
  if constexpr (most > 0) with_constant<most - 1>(n, f);
}
constexpr int widest_tile = 12;

template <class T>
constexpr DEVICE uint32_t infinity() {
  return sizeof(T) == 2 ? 0x7fff7fffu : 0x7fffffffu;
}
// Lowers best[k] to path + cost[k], for N targets. The costs stand at a multiple of 16 bytes.
template <int N, class T>
DEVICE void extend(lanes<T> *best, lanes<T> path, const uint32_t *costs) {
  const uint32_t *cost = (const uint32_t *)__builtin_assume_aligned(costs, 16);
  UNROLL for (int k = 0; k < N; k++) best[k] = min_add(best[k], path, splat<T>(cost[k]));
}
// Calls f(path, costs) for every city i of S outside the lane cities, with g(S - i, i) and the costs from i.
template <class T, class F>
DEVICE void for_each_path(const block_problem<T> &p, uint64_t subset, int position, F f) {
  for (int s = 0; s < p.sources; s++) f(load(p.source[s] + position), p.cost[most_low + s]);
  for (uint64_t from = subset; from; from &= from - 1) {
    int i = lowest(from);
    f(load(p.inner[i - lane_bits<T>()] + position - (1 << i)), p.cost[i]);
  }
}
// Extends paths from lane cities to lane cities: sweep s makes the values of sets with s lane cities final. Afterwards
// after[b] = g(S - b, b).
template <class T>
DEVICE void settle(lanes<T> *best, lanes<T> *after, const block_problem<T> &p) {
  constexpr int n = lane_bits<T>();
  UNROLL for (int sweep = 1; sweep <= n; sweep++) {
    UNROLL for (int b = 0; b < n; b++) after[b] = without(best[b], b);
    if (sweep < n)
      UNROLL for (int a = 0; a < n; a++) UNROLL for (int b = 0; b < n; b++) if (a != b) best[a] =
          min_add(best[a], after[b], splat<T>(p.cost[b][a]));
  }
}
// Solves one register for the lane cities and the inner cities. `subset` has the inner cities that its sets have in
// common, `to` the N others; `position` is the entry of this thread's lane in a plane.
template <int N, class T>
DEVICE void solve_low(block_problem<T> &p, uint64_t subset, uint64_t to, int position, lanes<T> *after) {
  constexpr int n = lane_bits<T>();
  lanes<T> best[n + N];
  int city[n + N];
  UNROLL for (int k = 0; k < n + N; k++) best[k] = splat<T>(infinity<T>());
  UNROLL for (int k = n; k < n + N; k++, to &= to - 1) city[k] = lowest(to);
  for_each_path(p, subset, position, [&](lanes<T> path, const uint32_t *cost) {
    extend<n>(best, path, cost);
    UNROLL for (int k = n; k < n + N; k++) best[k] = min_add(best[k], path, splat<T>(cost[city[k]]));
  });
  settle(best, after, p);
  UNROLL for (int k = n; k < n + N; k++) {
    UNROLL for (int b = 0; b < n; b++) best[k] = min_add(best[k], after[b], splat<T>(p.cost[b][city[k]]));
    store(p.inner[city[k] - n] + position, best[k]);
  }
}
// Solves one register for the N targets outside the low cities from number `first` on, which is a multiple of 4. A
// plane that is shorter than a register is solved twice, and stored by the threads of its first copy.
template <int N, class T>
DEVICE void solve_outside(const block_problem<T> &p, uint64_t subset, int first, int position, const lanes<T> *after) {
  lanes<T> best[N + 1];
  const int column = first_target + (first & ~3);  // tells the compiler that it is a multiple of 4
  UNROLL for (int k = 0; k < N; k++) best[k] = splat<T>(infinity<T>());
  for_each_path(p, subset, position,
                [&](lanes<T> path, const uint32_t *cost) { extend<N>(best, path, cost + column); });
  UNROLL for (int b = 0; b < lane_bits<T>(); b++) extend<N>(best, after[b], p.cost[b] + column);
  if (lane() * lanes<T>::width >> p.low) return;
  UNROLL for (int k = 0; k < N; k++) store(p.target[first + k] + position, best[k]);
}
template <class T>
DEVICE void solve_register(block_problem<T> &p, uint64_t subset, uint64_t to, int position) {
  lanes<T> after[lane_bits<T>()];
  with_constant<most_low - lane_bits<T>()>(
      count(to), [&](auto N) { solve_low<decltype(N)::value>(p, subset, to, position, after); });
  for (int first = 0, left = p.targets; left > 0;) {
    const int tiles = (left + widest_tile - 1) / widest_tile;  // of about the same width, all but the last of 4, 8, 12
    const int n = tiles == 1 ? left : (left + 4 * tiles - 1) / (4 * tiles) * 4;
    with_constant<widest_tile>(
        n, [&](auto N) { solve_outside<decltype(N)::value>(p, subset, first, position, after); });
    first += n;
    left -= n;
  }
}
// Copies the costs between the cities of a block to p.cost, so that the costs to consecutive targets are consecutive. A
// register that has more lane cities than there are low cities gets `no_city` in their place.
template <class T>
DEVICE void copy_costs(block_problem<T> &p, const uint32_t *cost) {
  const int low = p.low < lane_bits<T>() ? lane_bits<T>() : p.low;
  auto low_city = [&](int k) { return k < p.low ? k : no_city; };
  for (int r = warp(); r < low + p.sources; r += warps()) {
    const uint32_t *from = cost + stride * (r < low ? low_city(r) : p.source_city[r - low]);
    uint32_t *row = p.cost[r < low ? r : most_low + r - low];
    for (int k = lane(); k < low; k += warp_size) row[k] = from[low_city(k)];
    for (int k = lane(); k < p.targets; k += warp_size) row[first_target + k] = from[p.target_city[k]];
  }
}

// The numbers of low, mid and top cities.
struct city_split {
  int low, mid, top;
};
// What is the same in all steps.
struct wave_sizes {
  int lag;  // steps that a plane has to travel from slice to slice
  int chunks;  // number of chunks
  int chunk_size;  // mid sets of the largest chunk
  int slots;  // planes that are sent in one step, each in its slot of the stream
};
struct layer_tables {
  const int *binomial;  // see `choose`
  const int *chunks;  // for each: mid cities in a set, rank of the first mid set, number of mid sets
  const int *slices;  // for each slice its top set, then for each top city its plane's slot within the stage
  const int *stage_start;  // for each stage its first slot
  const uint32_t *cost;  // (stride, stride)
};
// The states of a half run. A layer with an even number of mid cities is stored in `even`, where each slice has
// `even_size` values, the next one in `odd`. `depot` is a block's plane with the empty path alone: 0, then infinity.
template <class T>
struct state_memory {
  int64_t even_size, odd_size;
  const T *depot;
  T *even, *odd, *stream;
};
// One step of all slices of a rank, a block for each mid set of a slice's chunk. A slice reads the planes of the top
// cities that it has, and writes the planes of those that it has not. Sender and receiver agree on a plane's slot.
template <class T>
DEVICE void solve_step(int step, const city_split &split, const wave_sizes &wave, const layer_tables &tables,
                       const state_memory<T> &states) {
  alignas(64) __shared__ block_problem<T> p;
  const int low = split.low, mid = split.mid, top = split.top;
  const int slice = blockIdx.x / wave.chunk_size, nth = blockIdx.x % wave.chunk_size;
  const int *row = tables.slices + slice * (top + 1);
  const int stage = count(row[0]), chunk = step - wave.lag * stage;
  if (chunk < 0 || chunk >= wave.chunks || nth >= tables.chunks[3 * chunk + 2]) return;
  const int layer = tables.chunks[3 * chunk], sets = tables.chunks[3 * chunk + 2];
  const uint64_t mid_set = colex_unrank(tables.chunks[3 * chunk + 1] + nth, layer, tables.binomial);
  const uint64_t outside = mid_set | (uint64_t)row[0] << mid;
  T *even = states.even + slice * states.even_size, *odd = states.odd + slice * states.odd_size;
  auto stored = [&](int city, int its_layer) {
    const int block = colex_rank(squeeze(mid_set & ~(1ull << city), city), tables.binomial);
    const size_t plane = (size_t)city * choose(tables.binomial, mid - 1, its_layer) + block;
    return (its_layer % 2 ? odd : even) + (plane << low);
  };
  auto streamed = [&](int sender, int city, int sent) {
    const size_t slot = (size_t)(sent % (wave.lag + 1)) * wave.slots + tables.stage_start[sender];
    return states.stream + ((slot * wave.chunk_size + (size_t)row[1 + city - mid] * sets + nth) << low);
  };
  for (int c = threadIdx.x; c < mid + top; c += blockDim.x) {
    const int before = count(outside & ((1ull << c) - 1));
    if (outside >> c & 1) {
      p.source[before] = c < mid ? stored(c, layer - 1) : streamed(stage - 1, c, step - wave.lag);
      p.source_city[before] = low + c;
    } else {
      p.target[c - before] = c < mid ? stored(c, layer) : streamed(stage, c, step);
      p.target_city[c - before] = low + c;
    }
  }
  if (threadIdx.x == 0) {
    p.low = low;
    p.sources = outside ? count(outside) : 1;
    p.targets = mid + top - count(outside);
    if (!outside) p.source[0] = states.depot, p.source_city[0] = depot_row;
  }
  __syncthreads();
  copy_costs(p, tables.cost);
  __syncthreads();
  const int lane_cities = lane_bits<T>(), inner_cities = low > lane_cities ? low - lane_cities : 0;
  const int own = lane() * lanes<T>::width % (1 << low);  // this thread's entry in a plane of lane cities alone
  for_each_subset(inner_cities, tables.binomial, [&](uint64_t inner_set) {
    const uint64_t subset = inner_set << lane_cities, all = (1ull << inner_cities) - 1 << lane_cities;
    solve_register(p, subset, all & ~subset, (int)subset + own);
  });
}

// The layer where the two halves of a tour meet: in each slice the planes of `mid` cities, of `length` values each (a
// multiple of 32). A plane is divided into `stretches` of `stretch` values, and each block takes one stretch.
struct middle_layer {
  int slices, mid, stretches, stretch;
  int64_t length, slice_size;
};
// Lowers best[block], all ones at first, to the least g(S, j) + g'(all - S - j, j) of the block's stretch, where g' is
// g for tours in the opposite direction. The slices of a rank are in ascending order and those of the backward run are
// their complements, so the complement of a slice stands as far from the end as the slice from the start.
template <class T>
DEVICE void meet(const middle_layer &layer, const T *forward, const T *backward, uint32_t *best) {
  const int s = blockIdx.x % layer.stretches, plane = blockIdx.x / layer.stretches;
  const int city = plane % layer.mid, slice = plane / layer.mid;
  const T *here = forward + slice * layer.slice_size + city * layer.length;
  const T *there_last = backward + (layer.slices - 1 - slice) * layer.slice_size + (city + 1) * layer.length - 1;
  const int64_t begin = (int64_t)s * layer.stretch;
  const int64_t end = begin + layer.stretch < layer.length ? begin + layer.stretch : layer.length;
  lanes<T> least = splat<T>(~0u);
  for (int64_t e = begin + threadIdx.x * lanes<T>::width; e < end; e += blockDim.x * lanes<T>::width)
    least = min(least, load(here + e) + load_mirrored(there_last, e));
  lower_to(best + blockIdx.x, least);
}

#define STATE_KERNELS(width, T)                                                                            \
  KERNEL held_karp_step_##width(int step, city_split split, wave_sizes wave, layer_tables tables,          \
                                state_memory<T> states) {                                                  \
    solve_step(step, split, wave, tables, states);                                                         \
  }                                                                                                        \
  EXPORT_KERNEL(held_karp_step_##width)                                                                    \
  KERNEL held_karp_meet_##width(middle_layer layer, const T *forward, const T *backward, uint32_t *best) { \
    meet(layer, forward, backward, best);                                                                  \
  }                                                                                                        \
  EXPORT_KERNEL(held_karp_meet_##width)
STATE_KERNELS(u2, uint16_t)
STATE_KERNELS(u4, uint32_t)

// The compact layout, for study and as an oracle: one table of all states. Plane j begins at j * 2^(cities - 1), and
// set S stands at `squeeze(S, j)` in it. A launch solves one layer, which here is all sets of one size.
KERNEL held_karp_compact(int cities, int layer, int sets, const int *binomial, const uint32_t *cost, uint32_t *table) {
  const size_t plane = (size_t)1 << (cities - 1);
  for (int nth = blockIdx.x * blockDim.x + threadIdx.x; nth < sets * cities; nth += gridDim.x * blockDim.x) {
    const int j = nth / sets;
    const uint64_t squeezed = colex_unrank(nth % sets, layer, binomial), set = spread(squeezed, j);
    uint32_t best = layer ? infinity<uint32_t>() : cost[depot_row * stride + j];
    for (uint64_t from = set; from; from &= from - 1) {
      const int i = lowest(from);
      const uint32_t path = table[i * plane + squeeze(set & ~(1ull << i), i)] + cost[i * stride + j];
      if (path < best) best = path;
    }
    table[j * plane + squeezed] = best;
  }
}
EXPORT_KERNEL(held_karp_compact)
