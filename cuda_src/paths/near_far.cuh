// The threshold of both Near-Far engines: how it moves between two phases, and how wide the next bucket is.
#pragma once
#include <type_traits>

#include "paths/searches.cuh"

// What a thread counts in a phase. `again` is the number of vertices that were improved after they had been expanded,
// so that the expansion was in vain.
struct tally {
  // These two only steer the width of buckets, so they may wrap: on a GPU, where 64 bits would take two registers.
  std::conditional_t<one_thread_blocks, uint64_t, uint32_t> expanded = 0, again = 0;
  uint64_t relaxed = 0;
};

// Returns the width of the next bucket. It doubles, up to how.most, while a round relaxes fewer arcs than how.setting
// (too few to keep the device busy), and halves when two in five expansions were in vain; with how.delta = how.most it
// is constant. So the buckets of a search for a near target stay narrow.
template <class Sum, class T = typename Sum::key>
DEVICE T next_delta(const tuning<T> &how, T delta, const tally &phase, uint64_t rounds) {
  if (5 * (uint64_t)phase.again > 2 * (uint64_t)phase.expanded && half(Sum(), delta) >= how.delta)
    return half(Sum(), delta);
  if (phase.relaxed >= how.setting * rounds) return delta;
  return beyond(Sum(), delta, delta, how.most) ? how.most : plus(Sum(), delta, delta);
}
// Returns the next threshold, as a word (2 * key): lowest + delta, or one key above the lowest if rounding loses delta.
template <class Sum, class T = typename Sum::key>
DEVICE T next_threshold(T lowest, T delta, T cutoff, T threshold) {
  const T key = lowest >> 1, moved = beyond(Sum(), key, delta, cutoff) ? cutoff : plus(Sum(), key, delta);
  const T next = (moved > key ? moved : key + 1) << 1;
  return next > threshold ? next : threshold;
}
