// Keys of Held-Karp's states (visited set, last city): one, two or four words of 64 bits. Bit i of a key tells whether
// city i has been visited, and the number of the last city stands above the cities' bits.
#pragma once
#include "device/device.cuh"

template <int W>
struct state_key {
  uint64_t word[W];
};
// Bit of the last city's number within the last word: 58 cities and 6 bits, 121 and 7, or 248 and 8.
template <int W>
constexpr DEVICE int last_shift() {
  return W == 1 ? 58 : W == 2 ? 57 : 56;
}
template <int W>
DEVICE state_key<W> load_key(const uint64_t *keys, size_t state) {
  state_key<W> key;
  UNROLL for (int w = 0; w < W; w++) key.word[w] = keys[state * W + w];
  return key;
}
template <int W>
DEVICE void store_key(uint64_t *keys, size_t state, const state_key<W> &key) {
  UNROLL for (int w = 0; w < W; w++) keys[state * W + w] = key.word[w];
}
template <int W>
DEVICE int last_city(const state_key<W> &key) {
  return (int)(key.word[W - 1] >> last_shift<W>());
}
// The visited set alone.
template <int W>
DEVICE state_key<W> visited(state_key<W> key) {
  key.word[W - 1] &= ((uint64_t)1 << last_shift<W>()) - 1;
  return key;
}
template <int W>
DEVICE bool contains(const state_key<W> &set, int city) {
  return element(set.word, city >> 6) >> (city & 63) & 1;
}
template <int W>
DEVICE state_key<W> changed(state_key<W> set, int city) {  // with the city's bit turned round
  UNROLL for (int w = 0; w < W; w++) set.word[w] ^= (uint64_t)(city >> 6 == w) << (city & 63);
  return set;
}
template <int W>
DEVICE bool equal(const state_key<W> &a, const state_key<W> &b) {
  bool same = true;
  UNROLL for (int w = 0; w < W; w++) same &= a.word[w] == b.word[w];
  return same;
}
DEVICE uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
  return x ^ x >> 32;
}
template <int W>
DEVICE uint64_t hash(const state_key<W> &key) {
  uint64_t x = 0;
  UNROLL for (int w = 0; w < W; w++) x = mixed(x + 0x9e3779b97f4a7c15ull ^ key.word[w]);
  return x;
}
// Which of the cities of `memory` have been visited: bit s for slot s. A set has no city of number `cities`, which
// stands for none in a memory.
template <int W>
DEVICE uint32_t remembered(const state_key<W> &set, const uint8_t *memory, int slots) {
  uint32_t e = 0;
  for (int s = 0; s < slots; s++) e |= (uint32_t)contains(set, memory[s]) << s;
  return e;
}
