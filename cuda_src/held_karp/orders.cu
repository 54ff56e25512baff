// Held-Karp for the objectives and constraints that held_karp.cu does not have: one table of all states, filled layer
// by layer, where a layer is all sets of one size. Costs may so depend on the place in the order (Picard and Queyranne
// 1978), and a set that precedence rules out is infinite without more work. order_sets.cuh has the recurrence.
//
// Layout. A plane of city j is a table of g(S, j) by sets. The value of set S stands where j is outside of S, and the
// complement of S has the same place in the planes of the cities in S, so no place is left empty: m 2^(m - 1) values in
// all. The upper cities are top cities: a slice is all sets with one set of top cities. A rank has pairs of
// complementary slices, and a pair has 2^low places in each plane. (Neighbouring sets have neighbouring values in a
// plane. With all values of a set side by side instead, a CPU took twice as long for 21 and 23 cities.) The value
// g(S - i, i) of a top city i stands in another slice, maybe on another rank; then it has arrived before the layer, for
// all sets of the slice in colexicographic order.
//
// A set and its complement write to different planes, and no place is written twice, so no order of the sets shows.
#include "held_karp/order_sets.cuh"

// The numbers of cities and of top cities among them; and of the rank, where its pair of slices stands among its own
// for each slice (-1 on another rank), with the first arrived value by slice and top city.
struct order_slices {
  int cities, top, pairs;
  const int *pair;  // (2^top)
  const int64_t *arrived_first;  // (2^top, top)
};
template <class V>
struct order_memory {
  V *table;
  const V *arrived;
};
// A chunk of a layer: a slice, the colexicographic rank of the first of its sets without top cities, and their number.
struct order_chunks {
  int layer;
  const int *chunks;  // (blocks, 3)
  const int *binomial;  // see `choose`
};

// Returns the place of a set in the planes.
DEVICE size_t row_of(const order_slices &slices, uint32_t set) {
  const int low = slices.cities - slices.top;
  const uint32_t top_set = set >> low, mask = (1u << low) - 1, last = 1u << (slices.top - 1);
  const uint32_t inner = (top_set & last ? ~set : set) & mask;
  return (size_t)slices.pair[top_set] << low | inner;
}
// Returns the length of a plane.
DEVICE size_t plane_of(const order_slices &slices) { return (size_t)slices.pairs << (slices.cities - slices.top); }
// Returns the next larger set of the same size.
DEVICE uint32_t next_set(uint32_t set) {
  const uint32_t ripple = set + (set & (0u - set));
  return (ripple ^ set) >> 2 >> lowest(set) | ripple;
}
// Calls f(set, nth) for the sets of the block's chunk that are this warp's; nth is the colexicographic rank.
template <class F>
DEVICE void for_each_set(const order_slices &slices, const order_chunks &layer, F f) {
  const int *chunk = layer.chunks + 3 * blockIdx.x;
  const int low = slices.cities - slices.top, each = (chunk[2] + warps() - 1) / warps();
  const int begin = warp() * each, end = begin + each < chunk[2] ? begin + each : chunk[2];
  if (begin >= end) return;
  const int size = layer.layer - count((uint64_t)chunk[0]);
  uint32_t inner = (uint32_t)colex_unrank(chunk[1] + begin, size, layer.binomial);
  for (int nth = begin; nth < end; nth++) {
    f(inner | (uint32_t)chunk[0] << low, chunk[1] + nth);
    if (inner) inner = next_set(inner);
  }
}
// Returns g(S - i, i) for set number nth of its slice and a city i in it.
template <class V>
DEVICE V path_to(const order_slices &slices, const order_memory<V> &memory, uint32_t set, int nth, int i) {
  const int low = slices.cities - slices.top;
  const uint32_t without = set & ~(1u << i);
  if (slices.pair[without >> low] >= 0) return memory.table[i * plane_of(slices) + row_of(slices, without)];
  return memory.arrived[slices.arrived_first[(set >> low) * slices.top + i - low] + nth];
}
template <class Join, class V>
DEVICE void solve_layer(const order_slices &slices, const order_chunks &layer, const order_rules<V> &rules,
                        const order_memory<V> &memory) {
  const size_t plane = plane_of(slices);
  with_width(slices.cities, [&](auto columns) {
    for_each_set(slices, layer, [&](uint32_t set, int nth) {
      solve_row<Join, decltype(columns)::width>(rules, slices.cities, set, memory.table + row_of(slices, set), plane,
                                                [&](int i) { return path_to(slices, memory, set, nth, i); });
    });
  });
}
// Lowers through[i][j] to the value of the best order that begins with a set S of this layer, i its last city, and
// goes on to j. `back` is the table of the orders read backwards: its g(complement of S - j, j) is the best path from j
// to the depot. A set and its complement belong to one MPI rank, and where S is number nth of its slice, the complement
// is number nth from the end of its own.
template <class Join, class V>
DEVICE void join_layer(const order_slices &slices, const order_slices &back_slices, const order_chunks &layer,
                       const order_rules<V> &rules, const order_memory<V> &memory, const order_memory<V> &back,
                       V *through) {
  __shared__ V best[cost_stride * cost_stride];
  for (int at = threadIdx.x; at < cost_stride * cost_stride; at += blockDim.x) best[at] = no_path<V>();
  __syncthreads();
  const int low = slices.cities - slices.top;
  const uint32_t every = 0xffffffffu >> (32 - slices.cities);
  with_width(slices.cities, [&](auto columns) {
    for_each_set(slices, layer, [&](uint32_t set, int nth) {
      const int last = choose(layer.binomial, low, layer.layer - count((uint64_t)(set >> low))) - 1;
      join_halves<Join, decltype(columns)::width>(
          rules, slices.cities, set, best, [&](int i) { return path_to(slices, memory, set, nth, i); },
          [&](int j) { return path_to(back_slices, back, ~set & every, last - nth, j); });
    });
  });
  __syncthreads();
  for (int at = threadIdx.x; at < cost_stride * cost_stride; at += blockDim.x)
    if (best[at] < no_path<V>()) atomicMin(through + at, best[at]);
}
// Writes the sets of a layer's chunks, which have no more than `each` sets, and the least value of the orders through
// these sets alone, back to the depot. `least` has been filled with no path.
template <class V>
DEVICE void end_layer(int each, const order_slices &slices, const order_chunks &layer, const V *back,
                      const order_memory<V> &memory, uint32_t *sets, V *least) {
  const int first = layer.chunks[3 * blockIdx.x + 1];
  for_each_set(slices, layer, [&](uint32_t set, int nth) {
    V best = no_path<V>();
    for (int i = lane(); i < slices.cities; i += warp_size) {
      if (!(set >> i & 1) || back[i] >= no_path<V>()) continue;
      const V path = path_to(slices, memory, set, nth, i);
      if (path < no_path<V>() && path + back[i] < best) best = path + back[i];
    }
    const size_t at = (size_t)blockIdx.x * each + nth - first;
    if (lane() == 0) sets[at] = set;
    if (best < no_path<V>()) atomicMin(least + at, best);
  });
}
// Copies the values g(S, i) of a layer's chunks to `out`, for slices and top cities i whose reader is on another rank.
// `first` has the place of the slice's first value by slice and top city, -1 where nobody waits for it.
template <class V>
DEVICE void pack_layer(const order_slices &slices, const order_chunks &layer, const int64_t *first, const V *table,
                       V *out) {
  const int low = slices.cities - slices.top;
  for_each_set(slices, layer, [&](uint32_t set, int nth) {
    for (int i = lane(); i < slices.top; i += warp_size) {
      const int64_t begin = first[(set >> low) * slices.top + i];
      if (begin >= 0) out[begin + nth] = table[(low + i) * plane_of(slices) + row_of(slices, set)];
    }
  });
}
// Copies g(S, j) of `asked` states to `found`, no path where another rank has it. set[n] has no city[n].
template <class V>
DEVICE void read_states(int asked, const order_slices &slices, const uint32_t *set, const int *city, const V *table,
                        V *found) {
  const int low = slices.cities - slices.top;
  for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < asked; n += gridDim.x * blockDim.x)
    found[n] =
        slices.pair[set[n] >> low] < 0 ? no_path<V>() : table[city[n] * plane_of(slices) + row_of(slices, set[n])];
}

#define ORDER_KERNEL(name, Join, V)                                                                                  \
  KERNEL orders_##name(order_slices slices, order_chunks layer, order_rules<V> rules, order_memory<V> memory) {      \
    solve_layer<Join>(slices, layer, rules, memory);                                                                 \
  }                                                                                                                  \
  EXPORT_KERNEL(orders_##name)                                                                                       \
  KERNEL orders_join_##name(order_slices slices, order_slices back_slices, order_chunks layer, order_rules<V> rules, \
                            order_memory<V> memory, order_memory<V> back, V *through) {                              \
    join_layer<Join>(slices, back_slices, layer, rules, memory, back, through);                                      \
  }                                                                                                                  \
  EXPORT_KERNEL(orders_join_##name)
ORDER_KERNEL(add_u4, add_costs, uint32_t)
ORDER_KERNEL(add_i8, add_costs, int64_t)
ORDER_KERNEL(multiply_i8, add_multiples, int64_t)
ORDER_KERNEL(dearest_u4, dearest_cost, uint32_t)

#define STATE_KERNELS(width, V)                                                                                        \
  KERNEL orders_pack_##width(order_slices slices, order_chunks layer, const int64_t *first, const V *table, V *out) {  \
    pack_layer(slices, layer, first, table, out);                                                                      \
  }                                                                                                                    \
  EXPORT_KERNEL(orders_pack_##width)                                                                                   \
  KERNEL orders_ends_##width(int each, order_slices slices, order_chunks layer, const V *back, order_memory<V> memory, \
                             uint32_t *sets, V *least) {                                                               \
    end_layer(each, slices, layer, back, memory, sets, least);                                                         \
  }                                                                                                                    \
  EXPORT_KERNEL(orders_ends_##width)                                                                                   \
  KERNEL orders_read_##width(int asked, order_slices slices, const uint32_t *set, const int *city, const V *table,     \
                             V *found) {                                                                               \
    read_states(asked, slices, set, city, table, found);                                                               \
  }                                                                                                                    \
  EXPORT_KERNEL(orders_read_##width)
STATE_KERNELS(u4, uint32_t)
STATE_KERNELS(i8, int64_t)
