// Both CUDA builds of device/group.cuh: a group is a warp.
#pragma once

#if defined(HOST_THREADS)
#define RARELY static
// A warp's shuffles and votes, through memory.
static inline uint32_t __shfl_sync(uint32_t, uint32_t value, int from) {
  return exchanged(value)[threadIdx.x / 32 * 32 + from];
}
static inline uint32_t __ballot_sync(uint32_t, bool yes) {
  const uint32_t *vote = exchanged(yes) + threadIdx.x / 32 * 32;
  uint32_t votes = 0;
  for (unsigned k = 0; k < 32; k++) votes |= vote[k] << k;
  return votes;
}
#else
#define RARELY DEVICE  // a call would need the arguments in local memory
#endif

constexpr uint32_t full_mask = 0xffffffffu;

DEVICE void group_sync() { __syncwarp(); }
DEVICE bool group_leader() { return lane() == 0; }

DEVICE uint32_t shuffled(uint32_t x, int from) { return __shfl_sync(full_mask, x, from); }
DEVICE uint64_t shuffled(uint64_t x, int from) {
  return (uint64_t)__shfl_sync(full_mask, (uint32_t)(x >> 32), from) << 32 | __shfl_sync(full_mask, (uint32_t)x, from);
}
template <class T>
DEVICE T from_lane(T x, int k) {
  return shuffled(x, k);
}
// Returns to every lane the sum of the values of lanes 0 to its own (an inclusive scan).
template <class T>
DEVICE T running_sum(T x) {
  for (int d = 1; d < 32; d *= 2) {
    const T other = shuffled(x, lane() >= d ? lane() - d : lane());
    if (lane() >= d) x += other;
  }
  return x;
}
// Returns the value of the last lane to every lane.
template <class T>
DEVICE T last(T running) {
  return shuffled(running, 31);
}
// The number of threads of this warp: a block's last one may have less than 32.
DEVICE int lanes_here() {
  const int left = blockDim.x - (threadIdx.x - lane());
  return left < 32 ? left : 32;
}
DEVICE uint64_t group_sum(uint64_t x) { return shuffled(running_sum(x), lanes_here() - 1); }
DEVICE uint64_t group_min(uint64_t x) {
  const int count = lanes_here();
  for (int d = 1; d < 32; d *= 2) {
    const uint64_t other = shuffled(x, lane() + d < count ? lane() + d : lane());
    x = other < x ? other : x;
  }
  return shuffled(x, 0);
}

DEVICE int group_count(bool yes) { return count(__ballot_sync(full_mask, yes)); }

DEVICE int first_above(const uint32_t *sorted, uint32_t x) {
  return count(__ballot_sync(full_mask, sorted[lane()] <= x));
}
DEVICE uint32_t members(const uint16_t *cities, const uint32_t *set) {
  const int city = cities[lane()];
  return __ballot_sync(full_mask, set[city >> 5] >> (city & 31) & 1);
}
template <class T>
DEVICE T masked(T x, uint32_t mask) {
  return mask >> lane() & 1 ? x : (T)0;
}
template <class T>
DEVICE T masked_sum(const T *w, uint32_t mask) {
  return last(running_sum(masked(w[lane()], mask)));
}
template <class T>
DEVICE int masked_pick(const T *w, uint32_t mask, T x) {
  return lowest(__ballot_sync(full_mask, running_sum(masked(w[lane()], mask)) > x));
}

// For each lane, the sum of all values that were added to it.
template <class T>
struct lane_sums {
  T sum = 0;
};
template <class T, class W>
DEVICE void add_masked(lane_sums<T> &c, const W &weight, uint32_t mask) {
  if (mask >> lane() & 1) c.sum += weight(lane());
}
DEVICE lane_sums<uint32_t> masked_lane_sums(const uint32_t *weights, const uint32_t *masks, int words) {
  lane_sums<uint32_t> c;
  for (int word = 0; word < words; word++)
    if (masks[word] >> lane() & 1) c.sum += weights[32 * word + lane()];
  return c;
}
template <class T>
DEVICE T total_of(const lane_sums<T> &c) {
  return last(running_sum(c.sum));
}
// Returns the lane where the running sum passes x, and takes the sums of the lanes before it off x.
template <class T>
DEVICE int pick_lane(const lane_sums<T> &c, T &x) {
  const T running = running_sum(c.sum);
  const int k = lowest(__ballot_sync(full_mask, running > x));
  x -= shuffled(running - c.sum, k);
  return k;
}

struct group_numbers {
  four mine;
};
DEVICE void draw_steps(group_numbers &numbers, const draws &d, uint32_t step) {
  numbers.mine = numbers_at(d, step + lane(), 0);
}
DEVICE four step_numbers(const group_numbers &numbers, int k) {
  four x;
  UNROLL for (int q = 0; q < 4; q++) x.v[q] = shuffled(numbers.mine.v[q], k);
  return x;
}
