// A group is the threads that work together on 32 values side by side. In the two CUDA builds it is a warp, with one
// value for each thread; under g++ it is one thread with all 32 values, in loops that the compiler vectorises. Values
// are integers, so a sum does not depend on the order in which it is formed.
//
//   first_above(sorted, x)          index of the first of 32 ascending values that is above x, else 32
//   members(cities, set)            a mask: bit k tells whether cities[k] is in the set, an array of bits
//   masked_sum(w, mask)             the sum of w[k] over the bits k of the mask
//   masked_pick(w, mask, x)         the first k of the mask where the running sum of w passes x
//   group_sum(x), group_min(x)      over the x of all threads of the group
//   from_lane(x, k)                 the x of the thread in lane k of the group
//   group_count(yes)                the number of threads of the group that say yes
//   add_to(total, x)                adds the x of all threads of the block to *total, which they share
//   lane_sums<T>                    one sum for each lane: add_masked(s, weight, mask), total_of(s), pick_lane(s, x)
//   masked_lane_sums(w, masks, n)   lane_sums of 32 n values: lane k has the sum of w[32 i + k] over the masks[i] with
//                                   bit k, i < n
//   group_numbers                   random numbers of 32 steps: draw_steps(n, draws, first), step_numbers(n, k)
//   group_sync(), group_leader()    order memory within the group; whether this thread writes for the group
//   RARELY                          a function that is called rarely and should not be inlined
#pragma once
#include "device/philox.cuh"

#if defined(__CUDACC__) || defined(HOST_THREADS)
#include "device/group_warp.cuh"
#else
#include "device/group_host.cuh"
#endif

// Adds the x of all threads of a block to *total. Each warp adds its sum: a GPU has no atomic 64-bit addition in shared
// memory and repeats a compare-and-swap instead, which few threads should do.
DEVICE void add_to(uint64_t *total, uint64_t x) {
  const uint64_t sum = group_sum(x);
  if (group_leader()) atomicAdd_block(total, sum);
}
