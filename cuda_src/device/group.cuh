// A group works on 32 values side by side. It is a warp under nvcc and on real threads, with one value a thread; under
// g++ it is one thread with all values, in loops that the compiler vectorises. Values are integers, so that no order of
// sums shows.
//
//   first_above(sorted, x)          how many of 32 ascending values are at most x: the index of the first above
//   members(cities, set)            bit k tells whether cities[k] is in the set, which has a bit a city
//   masked_sum(w, mask)             the sum of w[k] over the bits k of the mask
//   masked_pick(w, mask, x)         the first k of the mask where the running sum of w passes x
//   group_sum(x), group_min(x)      over the x of all lanes (x itself where the group is one thread)
//   column<T>                       a sum for each lane: add_masked(c, weight, mask), total_of(c), pick_lane(c, x)
//   masked_columns(w, masks, words) a column: the sums of an array's words of 32 values, each with a mask
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
