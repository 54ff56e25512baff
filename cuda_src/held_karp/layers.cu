// Held-Karp's states layer by layer, without those that a bound proves useless. A state is a set of visited cities with
// the last of them; its value is the least reduced cost of a path from the depot. Layer k has the states of k cities.
//
//   layers_expand   extends every state of a layer by a city. What may still lead to a tour within the limit is a
//                   candidate of the next layer, and goes to the bucket that the hash of its visited set says.
//   layers_fill     puts the states that other ranks have sent into buckets
//   layers_merge    finds the candidates of a bucket that are the same state, and gives one of them the least value
//   layers_gather   copies the states of all buckets to consecutive places
//   layers_bound    computes the bound of every state
//
// A state's value plus the relaxation's bound of its completion (bounds.cu) is a lower bound of the tours through it. The
// set of states and their values depend neither on the order in which threads come nor on the number of buckets, since
// only minima are taken. The order of the states within a bucket may differ; nothing depends on it.
//
// A bucket is small enough for a cache. It is owned by a rank, so that equal states meet on one. If a bucket has too
// little room, its size says how much it needs, and the host tries again.
//
// Memory: a candidate takes 8, 16 or 32 bytes for its key, 4 for its value, and 8 of the hash table. Work: an extension that
// is tried reads a cost; one that passes the cheap tests gathers the bits that the next city remembers, and reads a bound.
#include "held_karp/states.cuh"

constexpr uint32_t merged = 0xffffffffu;  // the value of a candidate that another one stands for

// What states of one place need to know of the next one.
struct place_tables {
  int cities, slots;
  uint32_t limit;  // reduced costs above it are of no use
  const uint32_t *cost;  // (cities, cities), from row to column
  const uint32_t *earliest;  // (cities): the least value of a state there, 0 without time windows
  const uint32_t *bounds;  // of the next place: (cities, 2^slots)
  const uint8_t *memory;  // (cities, slots)
  const uint64_t *open, *before;  // (cities, words): where a city may lead, and what must come before it
};
struct state_list {
  int64_t count;
  const uint64_t *keys;
  const uint32_t *values;
};
// 2^bits buckets of `capacity` candidates each. `sizes` counts those that have no room too. `slots` is the hash table,
// (2^bits, 2^slot_bits).
struct state_buckets {
  int bits, slot_bits;
  uint32_t capacity;
  uint64_t *keys;
  uint32_t *values, *sizes, *slots;
};

// Calls f(set with j, value, bound) for every city j that a path to i through `set` may go to.
template <int W, class F>
DEVICE void for_each_extension(const place_tables &next, const state_key<W> &set, int i, uint32_t value, F f) {
  UNROLL for (int w = 0; w < W; w++) {
    for (uint64_t left = ~set.word[w] & next.open[i * W + w]; left; left &= left - 1) {
      const int j = 64 * w + lowest(left);
      const uint32_t reached = value + next.cost[i * next.cities + j], earliest = next.earliest[j];
      const uint32_t cost = reached < earliest ? earliest : reached;
      if (cost > next.limit) continue;
      uint64_t missing = 0;
      UNROLL for (int v = 0; v < W; v++) missing |= next.before[j * W + v] & ~set.word[v];
      if (missing) continue;
      const uint32_t *bounds = next.bounds + ((size_t)j << next.slots);
      if (cost + bounds[0] > next.limit) continue;  // the least one of j
      const uint32_t e = remembered(set, next.memory + j * next.slots, next.slots);
      if (cost + bounds[e] <= next.limit) f(j, cost);
    }
  }
}
// Adds a state to a bucket, unless that is full.
template <int W>
DEVICE void put(const state_buckets &out, uint64_t bucket, const state_key<W> &key, uint32_t value) {
  const uint32_t at = atomicAdd(out.sizes + bucket, 1u);
  if (at >= out.capacity) return;
  store_key(out.keys, bucket * out.capacity + at, key);
  out.values[bucket * out.capacity + at] = value;
}
template <int W>
DEVICE void expand(const place_tables &next, const state_list &states, const state_buckets &out) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> key = load_key<W>(states.keys, s), set = visited(key);
    for_each_extension(next, set, last_city(key), states.values[s], [&](int j, uint32_t cost) {
      state_key<W> to = changed(set, j);
      const uint64_t bucket = hash(to) >> (64 - out.bits);
      to.word[W - 1] |= (uint64_t)j << last_shift<W>();
      put(out, bucket, to, cost);
    });
  }
}
// Puts states into the buckets from number `first` on.
template <int W>
DEVICE void fill(uint32_t first, const state_list &states, const state_buckets &out) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> key = load_key<W>(states.keys, s);
    put(out, (hash(visited(key)) >> (64 - out.bits)) - first, key, states.values[s]);
  }
}
// A block a bucket. A slot of the hash table has the number of a candidate plus 1. All threads of a block see a slot
// filled once and for all, so equal candidates find the same one. `different`: the bucket's number of states.
template <int W>
DEVICE void merge(const state_buckets &buckets, uint32_t *different) {
  const size_t begin = (size_t)blockIdx.x * buckets.capacity;
  const uint32_t count = buckets.sizes[blockIdx.x], mask = (1u << buckets.slot_bits) - 1;
  uint32_t *slots = buckets.slots + ((size_t)blockIdx.x << buckets.slot_bits);
  for (uint32_t s = threadIdx.x; s <= mask; s += blockDim.x) slots[s] = 0;
  if (threadIdx.x == 0) different[blockIdx.x] = 0;
  __syncthreads();
  uint32_t own = 0;
  for (uint32_t c = threadIdx.x; c < count; c += blockDim.x) {
    const state_key<W> key = load_key<W>(buckets.keys, begin + c);
    for (uint32_t s = (uint32_t)hash(key) & mask;; s = (s + 1) & mask) {
      const uint32_t there = atomicCAS(slots + s, 0u, c + 1);
      if (there == 0) {
        own++;
        break;
      }
      if (!equal(key, load_key<W>(buckets.keys, begin + there - 1))) continue;
      atomicMin(buckets.values + begin + there - 1, buckets.values[begin + c]);
      buckets.values[begin + c] = merged;
      break;
    }
  }
  atomicAdd_block(different + blockIdx.x, own);
}
// A block a bucket: the states of bucket b go to the places from begin[b] on.
template <int W>
DEVICE void gather(const state_buckets &buckets, const int64_t *begin, uint64_t *keys, uint32_t *values) {
  __shared__ uint32_t written;
  if (threadIdx.x == 0) written = 0;
  __syncthreads();
  const size_t from = (size_t)blockIdx.x * buckets.capacity;
  for (uint32_t c = threadIdx.x; c < buckets.sizes[blockIdx.x]; c += blockDim.x) {
    if (buckets.values[from + c] == merged) continue;
    const size_t to = begin[blockIdx.x] + atomicAdd_block(&written, 1u);
    store_key(keys, to, load_key<W>(buckets.keys, from + c));
    values[to] = buckets.values[from + c];
  }
}
// The bound of each state: its value and that of its completion. `here` has the bounds of the states' own place.
template <int W>
DEVICE void bound_states(const place_tables &here, const state_list &states, uint32_t *bounds) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> key = load_key<W>(states.keys, s);
    const int i = last_city(key);
    const uint32_t e = remembered(changed(visited(key), i), here.memory + i * here.slots, here.slots);
    bounds[s] = states.values[s] + here.bounds[((size_t)i << here.slots) + e];
  }
}

#define LAYER_KERNELS(name, W)                                                                                     \
  KERNEL layers_expand_##name(place_tables next, state_list states, state_buckets out) {                           \
    expand<W>(next, states, out);                                                                                  \
  }                                                                                                                \
  EXPORT_KERNEL(layers_expand_##name)                                                                              \
  KERNEL layers_fill_##name(uint32_t first, state_list states, state_buckets out) { fill<W>(first, states, out); } \
  EXPORT_KERNEL(layers_fill_##name)                                                                                \
  KERNEL layers_merge_##name(state_buckets buckets, uint32_t *different) { merge<W>(buckets, different); }         \
  EXPORT_KERNEL(layers_merge_##name)                                                                               \
  KERNEL layers_gather_##name(state_buckets buckets, const int64_t *begin, uint64_t *keys, uint32_t *values) {     \
    gather<W>(buckets, begin, keys, values);                                                                       \
  }                                                                                                                \
  EXPORT_KERNEL(layers_gather_##name)                                                                              \
  KERNEL layers_bound_##name(place_tables here, state_list states, uint32_t *bounds) {                             \
    bound_states<W>(here, states, bounds);                                                                         \
  }                                                                                                                \
  EXPORT_KERNEL(layers_bound_##name)
LAYER_KERNELS(w1, 1)
LAYER_KERNELS(w2, 2)
LAYER_KERNELS(w4, 4)
