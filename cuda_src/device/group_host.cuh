// The g++ build of device/group.cuh: a group is one thread.
#pragma once

#define RARELY static __attribute__((noinline))

DEVICE void group_sync() {}
DEVICE bool group_leader() { return true; }
DEVICE uint64_t group_sum(uint64_t x) { return x; }
template <class T>
DEVICE T from_lane(T x, int) {
  return x;
}
DEVICE uint64_t group_min(uint64_t x) { return x; }
DEVICE int group_count(bool yes) { return yes; }

// The values must be below 2^31, since AVX2 compares signed numbers. Packing changes the order of the lanes, which does
// not matter because they are only counted. GCC's builtins stand in place of immintrin.h, which takes a fifth of the time
// in which g++ compiles a kernel file.
#if defined(__AVX2__)
DEVICE int first_above(const uint32_t *sorted, uint32_t x) {
  typedef int32_t ints __attribute__((vector_size(32), may_alias, aligned(4)));
  typedef int16_t shorts __attribute__((vector_size(32)));
  ints above[4];
  UNROLL for (int k = 0; k < 4; k++) above[k] = ((const ints *)sorted)[k] > (int32_t)x;
  const shorts half = __builtin_ia32_packssdw256(above[0], above[1]);
  const shorts rest = __builtin_ia32_packssdw256(above[2], above[3]);
  return 32 - __builtin_popcount((unsigned)__builtin_ia32_pmovmskb256(__builtin_ia32_packsswb256(half, rest)));
}
#else
DEVICE int first_above(const uint32_t *sorted, uint32_t x) {
  int found = 0;
  for (int k = 0; k < 32; k++) found += (int32_t)sorted[k] <= (int32_t)x;
  return found;
}
#endif
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

// For each lane, the sum of all values that were added to it.
template <class T>
struct lane_sums {
  T sums[32] = {};
};
template <class T, class W>
DEVICE void add_masked(lane_sums<T> &c, const W &weight, uint32_t mask) {
  for (; mask; mask &= mask - 1) c.sums[lowest(mask)] += weight(lowest(mask));
}
// Keeps the sums in vector registers, which add_masked cannot do.
DEVICE lane_sums<uint32_t> masked_lane_sums(const uint32_t *weights, const uint32_t *masks, int words) {
  constexpr int width = lanes<uint32_t>::width, parts = 32 / width;
  typedef lanes<uint32_t>::vector vector;
  lane_sums<uint32_t> bit, c;
  for (int k = 0; k < 32; k++) bit.sums[k] = 1u << k;
  vector sums[parts] = {}, bits[parts];
  UNROLL for (int p = 0; p < parts; p++) bits[p] = load(bit.sums + p * width).v;
  for (int word = 0; word < words; word++) {
    if (!masks[word]) continue;
    const vector mask = splat<uint32_t>(masks[word]).v;
    UNROLL for (int p = 0; p < parts; p++) sums[p] +=
        load(weights + 32 * word + p * width).v & (vector)((mask & bits[p]) == bits[p]);
  }
  UNROLL for (int p = 0; p < parts; p++) store(c.sums + p * width, lanes<uint32_t>{sums[p]});
  return c;
}
template <class T>
DEVICE T total_of(const lane_sums<T> &c) {
  T all = 0;
  for (int k = 0; k < 32; k++) all += c.sums[k];
  return all;
}
// Returns the lane where the running sum passes x, and takes the sums of the lanes before it off x.
template <class T>
DEVICE int pick_lane(const lane_sums<T> &c, T &x) {
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
