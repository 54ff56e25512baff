// Held-Karp's states layer by layer, without those that a bound proves useless. A state is a set of visited cities with
// the last of them; its value is the least reduced cost of a path from the depot. Layer k has the states of k cities.
//
//   layers_expand   extends every state of a layer by a city. What may still lead to a tour within the limit is a
//                   candidate of the next layer, and goes to the bucket that the hash of its visited set says.
//   layers_fill     puts the states that other ranks have sent into buckets
//   layers_merge    finds the candidates of a bucket that are the same state, and gives one of them the least value, or
//                   drops dominated labels
//   layers_gather   copies the states of all buckets to consecutive places
//   layers_bound    computes the bound of every state
//
// Values. A state has one value: a reduced cost or, where the earliest end with time windows is asked for, a time.
// Kernels of labels are for sums with windows: there a value is a label, a time and, in its lower half, a cost. A state
// may have several labels, of which none is dominated: no other one has neither a greater time nor a greater cost. A
// label is a candidate of its own. With windows a state is dropped too if a city that is not visited can no longer be
// reached in time.
//
// A state's value plus the relaxation's bound of its completion (bounds.cu) is a lower bound of the tours through it.
// The set of states and their values depend neither on the order in which threads come nor on the number of buckets,
// since only minima are taken. The order of the states within a bucket may differ; nothing depends on it.
//
// A bucket is small enough for a cache. It is owned by a rank, so that equal states meet on one. If a bucket has too
// little room, its size says how much it needs, and the host tries again.
//
// Memory: a candidate takes 8, 16 or 32 bytes for its key, 4 for its value (12 for a label), and 8 to 16 for the
// hash table.
// Work: an extension that is tried reads a cost; one that passes the cheap tests gathers the bits that the next city
// remembers, and reads a bound.
#include "held_karp/states.cuh"

template <class V>
constexpr V merged = ~(V)0;  // the value of a candidate that another one stands for
constexpr uint32_t never = ~0u;  // the time of an arrival that is too late for 32 bits

// What states of one place need to know of the next one.
struct place_tables {
  int cities, slots;
  uint32_t limit;  // values that exceed it with their bounds are of no use
  const uint32_t *cost;  // (cities, cities), from row to column
  const uint32_t *earliest;  // (cities): the least value of a state there, 0 without time windows
  const uint32_t *bounds;  // of the next place: (cities, 2^slots)
  const uint8_t *memory;  // (cities, slots)
  const uint64_t *open, *before;  // (cities, words): where a city may lead, and what must come before it
  // By when service at row's city must begin so that each other one is reached in time, ascending, and the sets of the
  // first 0 to all of these other ones, (cities, cities + 1, words). Null without time windows.
  NULLABLE const uint32_t *due;
  NULLABLE const uint64_t *due_first;
  // Travel times by departure, as `TravelTimes` in hpcsolve/problems/travel_times.py has them: tables (hours, cities,
  // cities) for ascending departures, and how long after a value row's city is left. Null where legs take their costs.
  int hours;
  NULLABLE const int64_t *departures;
  NULLABLE const uint32_t *travel;
  NULLABLE const uint32_t *leave;
  // What each city adds to a vehicle's load, and between what the sum of the visited ones must be. Null without loads.
  NULLABLE const int64_t *load;
  int64_t least_load, most_load;
};
// What labels of one place need to know of the next one. Bounds are those of timed_bounds.cu.
struct time_tables {
  int cities, slots;
  uint32_t limit, step;
  const uint32_t *cost, *time;  // (cities, cities), from row to column
  NULLABLE const uint32_t *rate;  // (cities): what a unit of the time costs at which service begins there, or null
  const uint32_t *earliest, *latest;
  const int32_t *row;  // of each city, that of step 0
  const uint32_t *bounds;
  const uint8_t *memory;
  const uint64_t *open, *before;
  const uint32_t *due;
  const uint64_t *due_first;
  // As in place_tables, with the windows as they are: `earliest` and `latest` are those of tours that matter. `slope`:
  // what a unit of travel time costs.
  int hours;
  uint32_t slope;
  NULLABLE const int64_t *departures;
  NULLABLE const uint32_t *travel, *leave, *opens;
  NULLABLE const int64_t *load;
  int64_t least_load, most_load;
};
template <class V>
struct state_list {
  int64_t count;
  const uint64_t *keys;
  const V *values;
};
// 2^bits buckets of `capacity` candidates each. `sizes` counts those that have no room too. `slots` is the hash table,
// (2^bits, 2^slot_bits). `links` has a number for each candidate of labels.
template <class V>
struct state_buckets {
  int bits, slot_bits;
  uint32_t capacity;
  uint64_t *keys;
  V *values;
  uint32_t *sizes, *slots;
  NULLABLE uint32_t *links;
  uint32_t slope;  // what a label may lose to another one for each unit of time by which it is earlier
};

// The bounds of city j from a value on, by what it remembers.
DEVICE const uint32_t *bounds_from(const place_tables &tables, int j, uint32_t) {
  return tables.bounds + ((size_t)j << tables.slots);
}
DEVICE const uint32_t *bounds_from(const time_tables &tables, int j, uint64_t label) {
  return tables.bounds + ((size_t)(tables.row[j] + (int32_t)((uint32_t)(label >> 32) / tables.step)) << tables.slots);
}
DEVICE uint32_t time_of(uint32_t value) { return value; }
DEVICE uint32_t time_of(uint64_t label) { return (uint32_t)(label >> 32); }
// Returns the set of the cities that can no longer be reached in time from city j.
template <int W, class T>
DEVICE const uint64_t *too_late_from(const T &tables, int j, uint32_t time) {
  const uint32_t *times = tables.due + j * tables.cities;
  int few = 0, many = tables.cities;  // of the first `few` it is too late, of those from `many` on it is not
  while (few < many) {
    const int middle = (few + many) / 2;
    if (times[middle] < time)
      few = middle + 1;
    else
      many = middle;
  }
  return tables.due_first + ((size_t)j * (tables.cities + 1) + few) * W;
}
DEVICE uint32_t cost_of(uint32_t value) { return value; }
DEVICE uint32_t cost_of(uint64_t label) { return (uint32_t)label; }
// When a city is left, and between which departures that is: `into` after the begin of a time `between` them, in which
// travel times change linearly from those of one row of arcs to those of another. Nothing where legs take their costs.
struct departure {
  int64_t left, into, between;
  const uint32_t *row, *next_row;
};
// Returns the departure of who begins service at city i at this time.
template <class T>
DEVICE departure departure_from(const T &next, int i, uint32_t time) {
  if (!next.travel) return {};
  const int64_t left = (int64_t)time + next.leave[i];
  int few = 0, many = next.hours;  // the departures before number `few` are not later, those from `many` on are
  while (few < many) {
    const int middle = (few + many) / 2;
    if (next.departures[middle] <= left)
      few = middle + 1;
    else
      many = middle;
  }
  const size_t table = (size_t)next.cities * next.cities;
  const uint32_t *row = next.travel + (few ? few - 1 : 0) * table + (size_t)i * next.cities;
  if (few == 0 || few == next.hours) return {left, 0, 1, row, row};
  const int64_t begin = next.departures[few - 1];
  return {left, left - begin, next.departures[few] - begin, row, row + table};
}
// Returns when one arrives at city j, after a travel time that is rounded down.
DEVICE uint32_t arrival(const departure &from, int j) {
  const int64_t takes = from.row[j], longer = ((int64_t)from.next_row[j] - takes) * from.into;
  const int64_t down = longer < 0 ? longer - (from.between - 1) : longer;
  const int64_t there = from.left + takes + (longer ? down / from.between : 0);
  return there > never ? never : (uint32_t)there;
}
// Sets `value` to what it is after the arc from i to j. Returns whether the arc can be taken. With travel times by
// departure the costs are the least ones, by which most arcs that are of no use are found.
DEVICE bool advanced(const place_tables &next, const departure &from, int i, int j, uint32_t &value) {
  const uint32_t soonest = value + next.cost[i * next.cities + j], open = next.earliest[j];
  value = soonest < open ? open : soonest;
  if (!next.travel || value > next.limit) return value <= next.limit;
  if (value + bounds_from(next, j, value)[0] > next.limit) return false;
  const uint32_t there = arrival(from, j);
  value = there < open ? open : there;
  return value <= next.limit;
}
DEVICE bool advanced(const time_tables &next, const departure &from, int i, int j, uint64_t &label) {
  const int arc = i * next.cities + j;
  const uint32_t soonest = (uint32_t)(label >> 32) + next.time[arc], open = next.earliest[j];
  const uint32_t least = (uint32_t)label + next.cost[arc];  // costs are reduced, and may be negative
  if (soonest > next.latest[j]) return false;
  if (!next.travel) {
    const uint32_t begin = soonest < open ? open : soonest;
    label = (uint64_t)begin << 32 | (least + (next.rate ? next.rate[j] * begin : 0));
    return true;
  }
  const uint32_t there = arrival(from, j), opens = next.opens[j], begin = there < opens ? opens : there;
  const uint64_t cost =
      (uint32_t)(least + (next.rate ? next.rate[j] * begin : 0)) + (uint64_t)next.slope * (there - soonest);
  label = (uint64_t)begin << 32 | (uint32_t)cost;
  return begin >= open && begin <= next.latest[j] && cost <= next.limit;
}
// Returns what the cities of a set load together, 0 without loads.
template <int W>
DEVICE int64_t load_of(const int64_t *load, const state_key<W> &set) {
  int64_t sum = 0;
  UNROLL for (int w = 0; w < W && load; w++) for (uint64_t left = set.word[w]; left; left &= left - 1) sum +=
      load[64 * w + lowest(left)];
  return sum;
}
template <int W>
DEVICE bool has_all(const state_key<W> &set, const uint64_t *cities) {
  uint64_t missing = 0;
  UNROLL for (int w = 0; w < W; w++) missing |= cities[w] & ~set.word[w];
  return !missing;
}
// Calls f(j, value) for every city j that a path to i through `set` may go to, with the value there.
template <int W, class T, class V, class F>
DEVICE void for_each_extension(const T &next, const state_key<W> &set, int i, V value, F f) {
  const int64_t load = load_of(next.load, set);
  const departure from = departure_from(next, i, time_of(value));
  UNROLL for (int w = 0; w < W; w++) {
    for (uint64_t left = ~set.word[w] & next.open[i * W + w]; left; left &= left - 1) {
      const int j = 64 * w + lowest(left);
      V there = value;
      if (!advanced(next, from, i, j, there)) continue;
      if (next.load && (load + next.load[j] < next.least_load || load + next.load[j] > next.most_load)) continue;
      if (!has_all<W>(set, next.before + j * W)) continue;
      const uint32_t *bounds = bounds_from(next, j, there);
      if (cost_of(there) + bounds[0] > next.limit) continue;  // the least one of j
      const auto exceeds = [&] {
        return cost_of(there) + bounds[remembered(set, next.memory + j * next.slots, next.slots)] > next.limit;
      };
      const auto is_late = [&] { return next.due && !has_all<W>(set, too_late_from<W>(next, j, time_of(there))); };
      // What excludes more comes first: for sums the bounds, for ends a city that would be too late.
      if (sizeof(V) == 8 ? exceeds() || is_late() : is_late() || exceeds()) continue;
      f(j, there);
    }
  }
}
template <int W, class V>
struct candidate {
  uint64_t bucket;
  state_key<W> key;
  V value;
};
// Candidates that a thread adds to buckets at once. An atomic of a CPU waits until the stores before it have left, most
// of which miss the caches: so all places are taken first.
constexpr int at_once = one_thread_blocks ? 64 : 1;
// Adds `count` states to their buckets, and leaves out those whose bucket is full.
template <int W, class V>
DEVICE void put(const state_buckets<V> &out, const candidate<W, V> *found, int count) {
  uint32_t at[at_once];
  for (int c = 0; c < count; c++) at[c] = atomicAdd(out.sizes + found[c].bucket, 1u);
  for (int c = 0; c < count; c++) {
    if (at[c] >= out.capacity) continue;
    const size_t place = found[c].bucket * out.capacity + at[c];
    store_key(out.keys, place, found[c].key);
    out.values[place] = found[c].value;
  }
}
template <int W, class T, class V>
DEVICE void expand(const T &next, const state_list<V> &states, const state_buckets<V> &out) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> key = load_key<W>(states.keys, s), set = visited(key);
    candidate<W, V> found[at_once];
    int count = 0;
    for_each_extension(next, set, last_city(key), states.values[s], [&](int j, V value) {
      state_key<W> to = changed(set, j);
      const uint64_t bucket = hash(to) >> (64 - out.bits);
      to.word[W - 1] |= (uint64_t)j << last_shift<W>();
      found[count++] = {bucket, to, value};
      if (count < at_once) return;
      put(out, found, count);
      count = 0;
    });
    put(out, found, count);
  }
}
// Puts states into the buckets from number `first` on.
template <int W, class V>
DEVICE void fill(uint32_t first, const state_list<V> &states, const state_buckets<V> &out) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> key = load_key<W>(states.keys, s);
    const candidate<W, V> found{(hash(visited(key)) >> (64 - out.bits)) - first, key, states.values[s]};
    put(out, &found, 1);
  }
}
// Has candidate `there` of a bucket stand for candidate c too, which is the same state.
DEVICE void unite(const state_buckets<uint32_t> &buckets, size_t begin, uint32_t *, uint32_t there, uint32_t c) {
  atomicMin(buckets.values + begin + there - 1, buckets.values[begin + c]);
  buckets.values[begin + c] = merged<uint32_t>;
}
// Puts the label c before the label `there` in the chain of their state, which begins in the slot.
DEVICE void unite(const state_buckets<uint64_t> &buckets, size_t begin, uint32_t *slot, uint32_t there, uint32_t c) {
  for (;;) {
    buckets.links[begin + c] = there;
    const uint32_t was = atomicCAS(slot, there, c + 1);
    if (was == there) return;
    there = was;
  }
}
// Where legs cost what they take, the sooner one may lose what it is ahead: if it leaves earlier, it does not arrive
// later, and takes no more than the difference longer.
DEVICE bool dominates(uint64_t a, uint64_t b, uint32_t slope) {
  return a >> 32 <= b >> 32 && (uint32_t)a + slope * ((b >> 32) - (a >> 32)) <= (uint32_t)b;
}
// Drops the dominated labels of a chain, and returns how many are left. Of equal ones it leaves one.
DEVICE uint32_t undominated(const state_buckets<uint64_t> &buckets, size_t begin, uint32_t first) {
  uint64_t *labels = buckets.values + begin;
  const uint32_t *links = buckets.links + begin;
  uint32_t kept = 0;
  for (uint32_t a = first; a; a = links[a - 1]) {
    bool stays = labels[a - 1] != merged<uint64_t>;
    for (uint32_t b = links[a - 1]; stays && b; b = links[b - 1]) {
      if (dominates(labels[b - 1], labels[a - 1], buckets.slope))
        stays = false;
      else if (dominates(labels[a - 1], labels[b - 1], buckets.slope))
        labels[b - 1] = merged<uint64_t>;
    }
    if (!stays) labels[a - 1] = merged<uint64_t>;
    kept += stays;
  }
  return kept;
}
// A block a bucket. A slot of the hash table has the number of a candidate plus 1. All threads of a block see a slot
// filled by the same state once and for all, so equal candidates find the same one. `different`: the number of
// candidates of the bucket that are left.
template <int W, class V>
DEVICE void merge(const state_buckets<V> &buckets, uint32_t *different) {
  constexpr bool has_chains = sizeof(V) == 8;
  const size_t begin = (size_t)blockIdx.x * buckets.capacity;
  const uint32_t count = buckets.sizes[blockIdx.x], mask = (1u << buckets.slot_bits) - 1;
  uint32_t *slots = buckets.slots + ((size_t)blockIdx.x << buckets.slot_bits);
  for (uint32_t s = threadIdx.x; s <= mask; s += blockDim.x) slots[s] = 0;
  if (threadIdx.x == 0) different[blockIdx.x] = 0;
  __syncthreads();
  uint32_t own = 0;
  for (uint32_t c = threadIdx.x; c < count; c += blockDim.x) {
    if constexpr (has_chains) buckets.links[begin + c] = 0;
    const state_key<W> key = load_key<W>(buckets.keys, begin + c);
    for (uint32_t s = (uint32_t)hash(key) & mask;; s = (s + 1) & mask) {
      const uint32_t there = atomicCAS(slots + s, 0u, c + 1);
      if (there == 0) {
        own++;
        break;
      }
      if (!equal(key, load_key<W>(buckets.keys, begin + there - 1))) continue;
      unite(buckets, begin, slots + s, there, c);
      break;
    }
  }
  if constexpr (has_chains) {
    __syncthreads();
    own = 0;
    for (uint32_t s = threadIdx.x; s <= mask; s += blockDim.x) own += undominated(buckets, begin, slots[s]);
  }
  atomicAdd_block(different + blockIdx.x, own);
}
// A block a bucket: the states of bucket b go to the places from begin[b] on.
template <int W, class V>
DEVICE void gather(const state_buckets<V> &buckets, const int64_t *begin, uint64_t *keys, V *values) {
  __shared__ uint32_t written;
  if (threadIdx.x == 0) written = 0;
  __syncthreads();
  const size_t from = (size_t)blockIdx.x * buckets.capacity;
  for (uint32_t c = threadIdx.x; c < buckets.sizes[blockIdx.x]; c += blockDim.x) {
    if (buckets.values[from + c] == merged<V>) continue;
    const size_t to = begin[blockIdx.x] + atomicAdd_block(&written, 1u);
    store_key(keys, to, load_key<W>(buckets.keys, from + c));
    values[to] = buckets.values[from + c];
  }
}
// The bound of each state: its value and that of its completion. `here` has the bounds of the states' own place.
template <int W, class T, class V>
DEVICE void bound_states(const T &here, const state_list<V> &states, uint32_t *bounds) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> key = load_key<W>(states.keys, s);
    const int i = last_city(key);
    const uint32_t e = remembered(changed(visited(key), i), here.memory + i * here.slots, here.slots);
    bounds[s] = cost_of(states.values[s]) + bounds_from(here, i, states.values[s])[e];
  }
}

#define LAYER_KERNELS(name, W, V, T)                                                                                \
  KERNEL layers_expand_##name(T next, state_list<V> states, state_buckets<V> out) { expand<W>(next, states, out); } \
  EXPORT_KERNEL(layers_expand_##name)                                                                               \
  KERNEL layers_fill_##name(uint32_t first, state_list<V> states, state_buckets<V> out) {                           \
    fill<W>(first, states, out);                                                                                    \
  }                                                                                                                 \
  EXPORT_KERNEL(layers_fill_##name)                                                                                 \
  KERNEL layers_merge_##name(state_buckets<V> buckets, uint32_t *different) { merge<W>(buckets, different); }       \
  EXPORT_KERNEL(layers_merge_##name)                                                                                \
  KERNEL layers_gather_##name(state_buckets<V> buckets, const int64_t *begin, uint64_t *keys, V *values) {          \
    gather<W>(buckets, begin, keys, values);                                                                        \
  }                                                                                                                 \
  EXPORT_KERNEL(layers_gather_##name)                                                                               \
  KERNEL layers_bound_##name(T here, state_list<V> states, uint32_t *bounds) {                                      \
    bound_states<W>(here, states, bounds);                                                                          \
  }                                                                                                                 \
  EXPORT_KERNEL(layers_bound_##name)
LAYER_KERNELS(w1, 1, uint32_t, place_tables)
LAYER_KERNELS(w2, 2, uint32_t, place_tables)
LAYER_KERNELS(w4, 4, uint32_t, place_tables)
LAYER_KERNELS(labels_w1, 1, uint64_t, time_tables)
LAYER_KERNELS(labels_w2, 2, uint64_t, time_tables)
LAYER_KERNELS(labels_w4, 4, uint64_t, time_tables)
