// Pheromone and weights of arcs in fixed point.
//
// The pheromone of an arc is a uint64 in units of 2^-bits of the deposit of the nearest-neighbour tour, at least
// `least_pheromone`. The driver chooses `bits` so that no pheromone can reach 2^64 (`unit_of`). The heuristic of
// an arc to another city is a uint32 from 1 to 2^30, where 2^30 is the cheapest arc of the row. The weight of an arc is
// the product of both / 2^32, rounded up: it is never 0, and the weights of a row add up to less than 2^63.
#pragma once
#include "device/group.cuh"

constexpr uint64_t least_pheromone = 1 << 16;  // with less, the rounding of the weights would show

// Returns (x * factor + rounding) / 2^32, rounded down, from two products of 32-bit numbers.
DEVICE uint64_t scaled(uint64_t x, uint32_t factor, uint32_t rounding) {
  return (uint64_t)(uint32_t)(x >> 32) * factor + (((uint64_t)(uint32_t)x * factor + rounding) >> 32);
}
// Returns the weight of an arc.
DEVICE uint64_t weight_of(uint64_t pheromone, uint32_t heuristic) { return scaled(pheromone, heuristic, 0xffffffffu); }

// Returns the number of binary digits of x, 0 for 0.
DEVICE int bit_length(uint64_t x) {
  int bits = 0;
  for (int step = 32; step; step /= 2)
    if (x >> step) x >>= step, bits += step;
  return bits + (x != 0);
}
// Returns a * b / 2^64, rounded down: with 64 random bits a, a random number below b.
DEVICE uint64_t high_product(uint64_t a, uint64_t b) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), cross = a0 * b1 + (uint32_t)middle;
  return a1 * b1 + (middle >> 32) + (cross >> 32);
}
// Returns the two cities beside the one at position `step` of a tour: the next one in the low half, the one before in
// the high half.
DEVICE uint32_t adjacent_cities(const uint16_t *tour, int n, int step) {
  return (uint32_t)tour[step ? step - 1 : n - 1] << 16 | tour[step + 1 < n ? step + 1 : 0];
}
