// Pheromone and weights of arcs in fixed point.
//
// The pheromone of an arc is a uint64 in units of 2^-bits of the deposit of the nearest-neighbour tour, at least
// `least_pheromone`. The driver chooses `bits` so that no pheromone can reach 2^64 (fixed_point.py). The heuristic of
// an arc is a uint32 of at most 2^30, scaled by rows, and at least 1 for every other city. The weight of an arc is
// their product / 2^32, rounded up: it is never 0, and the weights of a row add up to less than 2^63.
#pragma once
#include "device/group.cuh"

constexpr uint64_t least_pheromone = 1 << 16;  // with less, the rounding of the weights would show

// x * factor / 2^32 + rounding / 2^32, by two 32 x 32 products.
DEVICE uint64_t scaled(uint64_t x, uint32_t factor, uint32_t rounding) {
  return (uint64_t)(uint32_t)(x >> 32) * factor + (((uint64_t)(uint32_t)x * factor + rounding) >> 32);
}
DEVICE uint64_t weight_of(uint64_t pheromone, uint32_t heuristic) { return scaled(pheromone, heuristic, 0xffffffffu); }

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
// The two cities beside the one at position `step` of a tour: the next in the low half, the one before in the high
// half.
DEVICE uint32_t adjacent_cities(const uint16_t *tour, int n, int step) {
  return (uint32_t)tour[step ? step - 1 : n - 1] << 16 | tour[step + 1 < n ? step + 1 : 0];
}
