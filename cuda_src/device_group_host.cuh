// A group as one thread: see device_group.cuh.
#pragma once
#define RARELY static __attribute__((noinline))

DEVICE void group_sync() {}
DEVICE bool group_leader() { return true; }
DEVICE uint64_t group_sum(uint64_t x) { return x; }

// Signed comparisons are what AVX2 has: the values stay below 2^31.
DEVICE int first_above(const uint32_t *sorted, uint32_t x) {
  int place = 0;
  for (int k = 0; k < 32; k++) place += (int32_t)sorted[k] <= (int32_t)x;
  return place;
}
DEVICE uint32_t members(const uint16_t *cities, const uint32_t *set) {
  uint32_t mask = 0;
  UNROLL for (int k = 0; k < 32; k++) mask |= (set[cities[k] >> 5] >> (cities[k] & 31) & 1) << k;
  return mask;
}
template <class T>
DEVICE T masked_sum(const T *w, uint32_t mask) {
  T sum = 0;
  for (int k = 0; k < 32; k++) sum += w[k] & -(T)(mask >> k & 1);
  return sum;
}
template <class T>
DEVICE int masked_pick(const T *w, uint32_t mask, T x) {
  int k = lowest(mask);
  for (; x >= w[k]; k = lowest(mask)) {
    x -= w[k];
    mask &= mask - 1;
  }
  return k;
}

// A sum a lane: of lane k of every word that was added.
template <class T>
struct column {
  T sums[32] = {};
};
template <class T, class W>
DEVICE void add_masked(column<T> &c, const W &weight, uint32_t mask) {
  for (int k = 0; k < 32; k++) c.sums[k] += weight(k) & -(T)(mask >> k & 1);
}
template <class T>
DEVICE T total_of(const column<T> &c) {
  T all = 0;
  for (int k = 0; k < 32; k++) all += c.sums[k];
  return all;
}
// The lane where the running sum passes x; x becomes the rest.
template <class T>
DEVICE int pick_lane(const column<T> &c, T &x) {
  int k = 0;
  for (; x >= c.sums[k]; k++) x -= c.sums[k];
  return k;
}

struct group_numbers {
  uint32_t v[4][32];
};
DEVICE void draw_steps(group_numbers &numbers, const draws &d, uint32_t step) {
  for (int k = 0; k < 32; k++) {
    const four x = numbers_at(d, step + k, 0);
    UNROLL for (int q = 0; q < 4; q++) numbers.v[q][k] = x.v[q];
  }
}
DEVICE four step_numbers(const group_numbers &n, int k) { return {{n.v[0][k], n.v[1][k], n.v[2][k], n.v[3][k]}}; }
