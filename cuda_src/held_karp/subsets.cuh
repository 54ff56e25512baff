// Subsets of small sets in colexicographic order: their ranks, and a loop over all subsets in which each comes after
// its own subsets.
#pragma once
#include "device/device.cuh"

// C(a, b) stands at binomial[a * 32 + b].
DEVICE int choose(const int *binomial, int a, int b) { return binomial[a * 32 + b]; }

// Returns the rank-th set of `size` elements out of 0..30.
DEVICE uint64_t colex_unrank(int rank, int size, const int *binomial) {
  uint64_t set = 0;
  for (int element = 30; size > 0; element--)
    if (choose(binomial, element, size) <= rank) {
      set |= 1ull << element;
      rank -= choose(binomial, element, size--);
    }
  return set;
}
// Returns the number of sets of the same size that come before `set`: the reverse of `colex_unrank`.
DEVICE int colex_rank(uint64_t set, const int *binomial) {
  int rank = 0;
  for (int size = 1; set; set &= set - 1, size++) rank += choose(binomial, lowest(set), size);
  return rank;
}
// Returns `set` without the bit of `element`, which is not in it: the elements above move down by one.
DEVICE uint64_t squeeze(uint64_t set, int element) {
  uint64_t below = (1ull << element) - 1;
  return (set & below) | (set >> 1 & ~below);
}
// The reverse of `squeeze`: makes room for `element`.
DEVICE uint64_t spread(uint64_t set, int element) {
  uint64_t below = (1ull << element) - 1;
  return (set & below) | (set & ~below) << 1;
}

// Calls f(sets) with all subsets of `bits` elements, K of the same size in each call, and each after all its own
// subsets. The warps of a block share the sets of one size, with a barrier before the next size; all threads of a warp
// have the same sets. If a size has not a multiple of K sets, its last set is repeated. Where a block is one thread,
// sets come in the order of their numbers instead, which reads memory in order and is a third faster.
template <int K, class F>
DEVICE void for_each_subset(int bits, const int *binomial, const F &f) {
  if constexpr (one_thread_blocks) {
    static_assert(K == 1, "neighbouring numbers are not independent sets");
    for (uint64_t set = 0; set < 1ull << bits; set++) {
      const uint64_t sets[1] = {set};
      f(sets);
    }
  } else {
    for (int size = 0; size <= bits; size++) {
      const int last = choose(binomial, bits, size) - 1;
      for (int rank = K * warp(); rank <= last; rank += K * warps()) {
        uint64_t sets[K];
        UNROLL for (int k = 0; k < K; k++) sets[k] = colex_unrank(rank + k < last ? rank + k : last, size, binomial);
        f(sets);
      }
      __syncthreads();
    }
  }
}
