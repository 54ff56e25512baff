// What both Near-Far engines do between two phases: how far the threshold moves, and how wide the next bucket is.
#pragma once
#include "paths/searches.cuh"

// What a thread counts in a phase; `again`: vertices improved after they were expanded, which was in vain then.
struct tally {
  uint64_t expanded = 0, again = 0, relaxed = 0;
};

// The width of the next bucket. It doubles while a round relaxes fewer arcs than `how.setting` (too few to keep the
// machine busy), up to how.most, and halves when two in five expansions were in vain; with how.delta = how.most it is
// constant. So a search for a near target stays narrow.
template <class Sum, class T = typename Sum::key>
DEVICE T next_delta(const tuning<T> &how, T delta, const tally &phase, uint64_t rounds) {
  if (5 * phase.again > 2 * phase.expanded && half(Sum(), delta) >= how.delta) return half(Sum(), delta);
  if (phase.relaxed >= how.setting * rounds) return delta;
  return beyond(Sum(), delta, delta, how.most) ? how.most : plus(Sum(), delta, delta);
}
// The next threshold, as a word: at least one above the lowest, so that a delta that rounds to nothing still moves on.
template <class Sum, class T = typename Sum::key>
DEVICE T next_threshold(T lowest, T delta, T limit, T threshold) {
  const T key = lowest >> 1, moved = beyond(Sum(), key, delta, limit) ? limit : plus(Sum(), key, delta);
  const T next = (moved > key ? moved : key + 1) << 1;
  return next > threshold ? next : threshold;
}
