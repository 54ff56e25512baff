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
// Values are at most no_path, 0x7fff or 0x7fffffff, so the sum of two never wraps. A forbidden arc costs no_path. The
// cost matrix has 32-bit patterns, each of which holds a 16-bit cost twice.
//
// On a GPU a register of 16-bit values has 64 lanes: each thread of the warp holds the values of two neighbouring sets
// in a word, and one instruction (DPX) is two min-adds. A warp solves two registers at a time, of sets with the same
// number of inner cities, and reads four costs at once from shared memory. So a source takes 24 such instructions for
// 12 targets, 3 reads of costs, 2 of values, and 10 others (sm_90).
//
// Work. m cities beside the depot take m (m - 1) 2^(m - 2) min-adds. A register with b lane cities, f sources and t
// targets outside them executes f t + b (f + t) + b (b - 1)^2 of them, of which f t + b (f + t) / 2 + b (b - 1) / 4 are
// useful: 69 % for b = 4 (16-bit values, AVX2), f = t = 11. With AVX-512 (b = 5) it is 83 %, because b f + b (b - 1)^2
// are 3 f + 10 there (`lane_pairs`). On a GPU (b = 6) it is 46 % for 32 cities, with the sets that are solved twice
// because a size has an odd number of them. A stored value moves twice: 2 mid 2^(m - 1) values in all, at m = 27 and 16
// bits 2.4 GB for 2.4e10 min-adds, so arithmetic is the limit and not memory.
// jobs/benchmarks/held_karp/RESULTS.md compares this with the machine's peak of min-adds (min_add.cu).
// jobs/benchmarks/gpu.md has estimates for a GPU.
#include "held_karp/block.cuh"

// The numbers of low, mid and top cities.
struct city_split {
  int low, mid, top;
};
// What is the same in all steps.
struct wave_sizes {
  int lag;  // steps that a plane has to travel from slice to slice
  int chunks;  // number of chunks
  int chunk_size;  // mid sets of the largest chunk
  int blocks;  // the most blocks that the planes of one step have in the stream
  int columns;  // of `starts`
};
struct layer_tables {
  const int *binomial;  // see `choose`
  const int *chunks;  // for each: mid cities in a set, rank of the first mid set, number of mid sets
  const int *slices;  // for each slice its top set, then for each top city its part of the stream, and the place there
  const int *starts;  // for each step and part of the stream its first block
  const uint32_t *cost;  // (stride, stride)
};
// The states of a half run. A layer with an even number of mid cities is stored in `even`, where each slice has
// `even_size` values, the next one in `odd`. `depot` is a block's plane with the empty path alone: 0, then no_path.
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
  const int *row = tables.slices + slice * (2 * top + 1);
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
  auto streamed = [&](int city, int sent) {
    const int *at = row + 1 + 2 * (city - mid);
    const int block = tables.starts[sent * wave.columns + at[0]] + at[1] * sets + nth;
    return states.stream + (((size_t)(sent % (wave.lag + 1)) * wave.blocks + block) << low);
  };
  for (int c = threadIdx.x; c < mid + top; c += blockDim.x) {
    const int before = count(outside & ((1ull << c) - 1));
    if (outside >> c & 1) {
      p.source[before] = c < mid ? stored(c, layer - 1) : streamed(c, step - wave.lag);
      p.source_city[before] = low + c;
      UNROLL for (int k = 0; k < lines_ahead; k++) prefetch(p.source[before] + k * lanes<T>::width);
    } else {
      p.target[c - before] = c < mid ? stored(c, layer) : streamed(c, step);
      p.target_city[c - before] = low + c;
      UNROLL for (int k = 0; k < lines_ahead; k++) prefetch_write(p.target[c - before] + k * lanes<T>::width);
    }
  }
  if (threadIdx.x == 0) {
    p.low = low;
    p.low_rows = low < lane_bits<T>() ? lane_bits<T>() : low;
    p.sources = outside ? count(outside) : 1;
    p.targets = mid + top - count(outside);
    if (!outside) p.source[0] = states.depot, p.source_city[0] = depot_row;
  }
  __syncthreads();
  copy_costs(p, tables.cost);
  __syncthreads();
  const int lane_cities = lane_bits<T>(), inner_cities = low > lane_cities ? low - lane_cities : 0;
  const int own = lane() * lanes<T>::width % (1 << low);  // this thread's entry in a plane of lane cities alone
  for_each_subset<registers_together>(inner_cities, tables.binomial, [&](const auto &inner_sets) {
    constexpr int K = sizeof(inner_sets) / sizeof inner_sets[0];
    register_sets<K> sets;
    UNROLL for (int k = 0; k < K; k++) {
      sets.subset[k] = (uint32_t)inner_sets[k] << lane_cities;
      sets.to[k] = (~inner_sets[k] & ((1ull << inner_cities) - 1)) << lane_cities;
      sets.position[k] = (int)sets.subset[k] + own;
    }
    solve_registers(p, sets);
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
    uint32_t best = layer ? no_path<uint32_t>() : cost[depot_row * stride + j];
    for (uint64_t from = set; from; from &= from - 1) {
      const int i = lowest(from);
      const uint32_t path = table[i * plane + squeeze(set & ~(1ull << i), i)] + cost[i * stride + j];
      if (path < best) best = path;
    }
    table[j * plane + squeezed] = best;
  }
}
EXPORT_KERNEL(held_karp_compact)
