// How an ant colony's numbers are kept: trails and weights in fixed point.
//
// A trail is a uint64 in units of 2^-bits of the deposit of the nearest-neighbour tour, at least `least_trail`. The
// driver chooses `bits` so that no trail can pass 2^64. The heuristic of an arc is a row-scaled uint32 of at most
// 2^30, at least 1 for every other city. The weight of an arc is their product / 2^32, rounded up: never 0, and a row
// of weights sums to less than 2^63.
#pragma once
#include "device/group.cuh"

constexpr uint64_t least_trail = 1 << 16;  // lower, and the rounding of the weights would show

// trail * factor / 2^32 + rounding / 2^32, by two 32 x 32 products.
DEVICE uint64_t scaled(uint64_t trail, uint32_t factor, uint32_t rounding) {
  return (uint64_t)(uint32_t)(trail >> 32) * factor + (((uint64_t)(uint32_t)trail * factor + rounding) >> 32);
}
DEVICE uint64_t weight_of(uint64_t trail, uint32_t heuristic) { return scaled(trail, heuristic, 0xffffffffu); }

// What a step needs of the city that it leaves: 256 bytes.
struct head_row {
  uint32_t sums[32];  // running sums of the weights of the nearest cities, in units of 2^unit
  uint16_t city[32];  // those cities; filled up with the city itself, at no weight
  uint64_t tail;      // weight of all other cities
  uint32_t total;     // of the whole row, in the units of `sums`
  uint32_t tail_sum;  // the tail in units of 2^tail_shift
  uint32_t tail_shift;
  uint32_t unused[11];
};

DEVICE int bit_length(uint64_t x) {
  int bits = 0;
  for (int step = 32; step; step /= 2)
    if (x >> step) x >>= step, bits += step;
  return bits + (x != 0);
}
// The high half of a product.
DEVICE uint64_t high_product(uint64_t a, uint64_t b) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), cross = a0 * b1 + (uint32_t)middle;
  return a1 * b1 + (middle >> 32) + (cross >> 32);
}
DEVICE bool has(const uint32_t *set, int city) { return set[city >> 5] >> (city & 31) & 1; }
// The bits below `count` of a word.
DEVICE uint32_t low_bits(int count) { return count >= 32 ? ~0u : (1u << count) - 1; }

// An ant under way: the cities that are open, a bit each, and the tour so far.
struct tour_so_far {
  int n, here;
  uint32_t *open;
  uint16_t *cities;
};
DEVICE tour_so_far start_tour(int n, uint32_t *open, uint16_t *cities) {
  for (int word = lane(); word < (n + 31) / 32; word += warp_size) open[word] = low_bits(n - 32 * word);
  group_sync();
  return {n, 0, open, cities};
}
DEVICE void go_on(tour_so_far &tour, int next, int step) {
  group_sync();  // all have read what is open
  if (group_leader()) {
    tour.cities[step] = (uint16_t)next;
    tour.open[next >> 5] &= ~(1u << (next & 31));
  }
  group_sync();
  tour.here = next;
}
// The whole tour's length: once it is done, since then no load waits for another.
DEVICE uint64_t closed_length(const tour_so_far &tour, const int32_t *cost) {
  uint64_t length = 0;
  for (int step = lane(); step < tour.n; step += warp_size) {
    const int next = tour.cities[step + 1 < tour.n ? step + 1 : 0];
    length += (uint32_t)cost[(size_t)tour.cities[step] * tour.n + next];
  }
  return group_sum(length);
}
