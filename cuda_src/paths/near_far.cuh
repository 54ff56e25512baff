// What both Near-Far engines do between two phases: they move the threshold and choose the width of the next bucket.
#pragma once
#include "paths/searches.cuh"

// What a thread counts in a phase; `again`: vertices improved after they had been expanded, which was then in vain.
struct tally {
  uint64_t expanded = 0, again = 0, relaxed = 0;
};

// Returns the width of the next bucket. It doubles, up to how.most, while a round relaxes fewer arcs than how.setting
// (too few to keep the device busy), and halves when two in five expansions were in vain; with how.delta = how.most it
// is constant. A search for a near target therefore stays narrow.
template <class Sum, class T = typename Sum::key>
DEVICE T next_delta(const tuning<T> &how, T delta, const tally &phase, uint64_t rounds) {
  if (5 * phase.again > 2 * phase.expanded && half(Sum(), delta) >= how.delta) return half(Sum(), delta);
  if (phase.relaxed >= how.setting * rounds) return delta;
  return beyond(Sum(), delta, delta, how.most) ? how.most : plus(Sum(), delta, delta);
}
// Returns the next threshold, as a word: at least one above the lowest, so that it moves even where delta rounds to 0.
template <class Sum, class T = typename Sum::key>
DEVICE T next_threshold(T lowest, T delta, T cutoff, T threshold) {
  const T key = lowest >> 1, moved = beyond(Sum(), key, delta, cutoff) ? cutoff : plus(Sum(), key, delta);
  const T next = (moved > key ? moved : key + 1) << 1;
  return next > threshold ? next : threshold;
}
