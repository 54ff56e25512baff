// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). Four 32-bit numbers are a function
// of a key and a counter. There is no state, so they depend neither on the thread that draws them nor on the order.
#pragma once
#include "device/device.cuh"

struct four {
  uint32_t v[4];
};

DEVICE four philox(four x, uint32_t key0, uint32_t key1) {
  UNROLL for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)x.v[0] * 0xD2511F53u, b = (uint64_t)x.v[2] * 0xCD9E8D57u;
    x = {{(uint32_t)(b >> 32) ^ x.v[1] ^ key0, (uint32_t)b, (uint32_t)(a >> 32) ^ x.v[3] ^ key1, (uint32_t)a}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

// The random numbers of an ant in an iteration: functions of the step and, where one step draws several times, of the
// number of the attempt.
struct draws {
  uint32_t key0, key1, iteration, ant;
};
DEVICE four numbers_at(const draws &d, uint32_t step, uint32_t attempt) {
  return philox({{step, d.ant, d.iteration, attempt}}, d.key0, d.key1);
}
// Returns 64 random bits.
DEVICE uint64_t word_at(const draws &d, uint32_t step, uint32_t attempt) {
  const four x = numbers_at(d, step, attempt);
  return (uint64_t)x.v[1] << 32 | x.v[0];
}
