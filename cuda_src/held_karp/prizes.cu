// What the states of a tour that may leave cities out have collected, and what they may still collect. A state is a set
// of visited cities with the last of them (states.cuh); its value is the time at which service begins there, or the
// cost so far. The layers themselves are those of layers.cu.
//
//   prizes_collected   adds up the prizes of a state's cities
//   prizes_promises    finds a target that a state may still reach
//
// A target is a pair of an end and a prize: it is reached by a tour that ends by then and has collected so much. They
// are sorted by both. A state of value v in city j may still collect what a fractional knapsack holds (Dantzig 1957).
// Twice the length of the way from j through more cities to the depot is the leg that leaves j, for each city between
// the legs to it and from it, and the leg to the depot. So a city between takes of twice the time that is left at least
// the two cheapest of its legs, its detour. Cities that are reached too late are left out. The last city that is taken
// is taken in part, rounded down, since prizes are integers. All is done in integers, so every device drops the same
// states.
//
// Work: a state reads a row of `until`, and looks at each city and each target once.
#include "held_karp/states.cuh"

struct prize_tables {
  int cities, targets;
  const int *order;  // (cities): the largest prize for its detour first
  const uint64_t *prize;  // (cities)
  const uint32_t *detour;  // (cities)
  const uint32_t *ends;  // (cities): the cheapest leg from a city and the cheapest to the depot together
  const uint32_t *until;  // (cities, cities): the least value at row's city from which column's is reached too late
  const uint32_t *target_end;  // (targets)
  const uint64_t *target_prize;  // (targets)
};
struct prize_states {
  int64_t count;
  const uint64_t *keys;
  const uint32_t *values;
};

template <int W>
DEVICE void collect(const prize_tables &tables, const prize_states &states, uint64_t *collected) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> set = visited(load_key<W>(states.keys, s));
    uint64_t sum = 0;
    UNROLL for (int w = 0; w < W; w++) for (uint64_t left = set.word[w]; left; left &= left - 1) sum +=
        tables.prize[64 * w + lowest(left)];
    collected[s] = sum;
  }
}
// Gives each state 1 plus the most that it may have collected at the first target that it may reach, or 0 without one.
template <int W>
DEVICE void promise(const prize_tables &tables, const prize_states &states, const uint64_t *collected,
                    uint64_t *promises) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < states.count; s += step) {
    const state_key<W> key = load_key<W>(states.keys, s), set = visited(key);
    const int j = last_city(key);
    const uint32_t value = states.values[s];
    uint64_t used = 2 * (uint64_t)value + tables.ends[j], sum = collected[s], found = 0;
    int target = 0;
    while (target < tables.targets && 2 * (uint64_t)tables.target_end[target] < used) target++;
    for (int at = 0; at < tables.cities && target < tables.targets && !found; at++) {
      const int city = tables.order[at];
      if (contains(set, city) || value >= tables.until[j * tables.cities + city]) continue;
      const uint64_t detour = tables.detour[city], prize = tables.prize[city];
      for (; target < tables.targets && !found; target++) {
        const uint64_t end = 2 * (uint64_t)tables.target_end[target];
        if (end >= used + detour) break;
        const uint64_t most = sum + prize * (end - used) / detour;
        if (most >= tables.target_prize[target]) found = most + 1;
      }
      used += detour;
      sum += prize;
    }
    for (; target < tables.targets && !found; target++)
      if (sum >= tables.target_prize[target]) found = sum + 1;
    promises[s] = found;
  }
}

#define PRIZE_KERNELS(W)                                                                           \
  KERNEL prizes_collected_w##W(prize_tables tables, prize_states states, uint64_t *collected) {    \
    collect<W>(tables, states, collected);                                                         \
  }                                                                                                \
  EXPORT_KERNEL(prizes_collected_w##W)                                                             \
  KERNEL prizes_promises_w##W(prize_tables tables, prize_states states, const uint64_t *collected, \
                              uint64_t *promises) {                                                \
    promise<W>(tables, states, collected, promises);                                               \
  }                                                                                                \
  EXPORT_KERNEL(prizes_promises_w##W)
PRIZE_KERNELS(1)
PRIZE_KERNELS(2)
PRIZE_KERNELS(4)
