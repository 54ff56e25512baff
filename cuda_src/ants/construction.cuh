// The construction of tours: the arguments that all constructing kernels share, and one ant's tour so far.
#pragma once
#include "device/group.cuh"

// How many cities, ants of a colony, and colonies there are.
struct colony_sizes {
  int n, ants, colonies;
};
// Random numbers are functions of a colony's two keys, the iteration, the ant and the step.
struct random_keys {
  uint32_t iteration;
  const uint32_t *keys;  // (colonies, 2)
};
// One row for each ant of all colonies.
struct ant_tours {
  uint32_t *open;  // scratch: a bit for each city, set while it is unvisited
  uint16_t *tours;
  uint64_t *lengths;
};

// A city of a colony, of n in all. The number of its row in tables of all colonies is formed where it is needed: to move
// the tables' pointers to the colony would cost a GPU's thread registers.
struct colony_city {
  int n, colony, city;
};
DEVICE int row_number(const colony_city &c) { return c.colony * c.n + c.city; }

// Returns the random numbers of an ant.
DEVICE draws draws_of(const random_keys &random, int colony, int ant) {
  return {random.keys[2 * colony], random.keys[2 * colony + 1], random.iteration, (uint32_t)ant};
}
// The first city of a tour, from a random number.
DEVICE int first_city(uint32_t number, int n) { return (int)((uint64_t)number * n >> 32); }
DEVICE bool has(const uint32_t *set, int city) { return set[city >> 5] >> (city & 31) & 1; }
// The bits below `count` of a word.
DEVICE uint32_t low_bits(int count) { return count >= 32 ? ~0u : (1u << count) - 1; }

// An ant's tour so far. `here` is the city that it leaves next.
struct partial_tour {
  int n, here;
  uint32_t *open;
  uint16_t *cities;
};
// Returns the empty tour of an ant, number `nth` of all colonies' ants.
DEVICE partial_tour start_tour(int n, const ant_tours &all, size_t nth) {
  const int words = (n + 31) / 32;
  uint32_t *open = all.open + nth * words;
  for (int word = lane(); word < words; word += warp_size) open[word] = low_bits(n - 32 * word);
  group_sync();
  return {n, 0, open, all.tours + nth * n};
}
// Visits `next` in this step.
DEVICE void go_on(partial_tour &tour, int next, int step) {
  group_sync();  // all threads have read what is open
  if (group_leader()) {
    tour.cities[step] = (uint16_t)next;
    tour.open[next >> 5] &= ~(1u << (next & 31));
  }
  group_sync();
  tour.here = next;
}
// Returns the length of the closed tour. It is summed only at the end, because its loads are then independent.
DEVICE uint64_t closed_length(const partial_tour &tour, const int32_t *cost) {
  uint64_t length = 0;
  for (int step = lane(); step < tour.n; step += warp_size) {
    const int next = tour.cities[step + 1 < tour.n ? step + 1 : 0];
    length += (uint32_t)cost[(size_t)tour.cities[step] * tour.n + next];
  }
  return group_sum(length);
}
