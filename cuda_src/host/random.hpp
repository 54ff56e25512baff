// Random numbers that follow from a stream's 64 bits alone (xorshift64*; S. Vigna, ACM Transactions on Mathematical
// Software 42, 2016).
#pragma once
#include <cstdint>

struct random_numbers {
  uint64_t state;
  explicit random_numbers(uint64_t stream) {  // streams that differ little begin far from each other (splitmix64)
    uint64_t z = stream + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u, z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    state = (z ^ z >> 31) | 1;
  }
  uint32_t next() {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (uint32_t)(state * 2685821657736338717u >> 32);
  }
  uint32_t below(uint32_t n) { return (uint32_t)((uint64_t)next() * n >> 32); }
  bool bit() { return next() >> 31; }
};
