// The CUDA build of device/group.cuh: a group is the threads of a warp.
#pragma once

#if defined(HOST_THREADS)
#define RARELY static
// A warp's shuffles and votes, through memory.
static inline uint32_t __shfl_sync(uint32_t, uint32_t value, int from) {
  mailbox[threadIdx.x] = value;
  __syncwarp();
  const uint32_t other = mailbox[threadIdx.x / 32 * 32 + from];
  __syncwarp();
  return other;
}
static inline uint32_t __ballot_sync(uint32_t, bool yes) {
  mailbox[threadIdx.x] = yes;
  __syncwarp();
  uint32_t votes = 0;
  for (unsigned k = 0; k < 32; k++) votes |= mailbox[threadIdx.x / 32 * 32 + k] << k;
  __syncwarp();
  return votes;
}
#else
#define RARELY __device__ static __noinline__
#endif

constexpr uint32_t everyone = 0xffffffffu;

DEVICE void group_sync() { __syncwarp(); }
DEVICE bool group_leader() { return lane() == 0; }

DEVICE uint32_t shuffled(uint32_t x, int from) { return __shfl_sync(everyone, x, from); }
DEVICE uint64_t shuffled(uint64_t x, int from) {
  return (uint64_t)__shfl_sync(everyone, (uint32_t)(x >> 32), from) << 32 | __shfl_sync(everyone, (uint32_t)x, from);
}
// Returns to every lane the sum of the values of the lanes up to it.
template <class T>
DEVICE T running_sum(T x) {
  for (int d = 1; d < 32; d *= 2) {
    const T other = shuffled(x, lane() >= d ? lane() - d : lane());
    if (lane() >= d) x += other;
  }
  return x;
}
template <class T>
DEVICE T last(T running) {
  return shuffled(running, 31);
}
DEVICE uint64_t group_sum(uint64_t x) { return last(running_sum(x)); }
DEVICE uint64_t group_min(uint64_t x) {
  for (int d = 1; d < 32; d *= 2) {
    const uint64_t other = shuffled(x, lane() ^ d);
    x = other < x ? other : x;
  }
  return x;
}

DEVICE int first_above(const uint32_t *sorted, uint32_t x) {
  return count(__ballot_sync(everyone, sorted[lane()] <= x));
}
DEVICE uint32_t members(const uint16_t *cities, const uint32_t *set) {
  const int city = cities[lane()];
  return __ballot_sync(everyone, set[city >> 5] >> (city & 31) & 1);
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
  return lowest(__ballot_sync(everyone, running_sum(masked(w[lane()], mask)) > x));
}

// The sum of each lane over all words that were added.
template <class T>
struct column {
  T sum = 0;
};
template <class T, class W>
DEVICE void add_masked(column<T> &c, const W &weight, uint32_t mask) {
  if (mask >> lane() & 1) c.sum += weight(lane());
}
DEVICE column<uint32_t> masked_columns(const uint32_t *weights, const uint32_t *masks, int words) {
  column<uint32_t> c;
  for (int word = 0; word < words; word++)
    if (masks[word] >> lane() & 1) c.sum += weights[32 * word + lane()];
  return c;
}
template <class T>
DEVICE T total_of(const column<T> &c) {
  return last(running_sum(c.sum));
}
// Returns the lane where the running sum passes x; x becomes what is left of it there.
template <class T>
DEVICE int pick_lane(const column<T> &c, T &x) {
  const T running = running_sum(c.sum);
  const int k = lowest(__ballot_sync(everyone, running > x));
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
