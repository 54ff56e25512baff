// A group: 32 values side by side. Under nvcc and on real threads a warp, one value a thread; under g++ one thread with
// all of them, in loops that the compiler turns into vector instructions. Integers only: no order of sums shows.
//
//   first_above(sorted, x)          how many of 32 ascending values are at most x: the place of the first above
//   members(cities, set)            bit k: whether cities[k] is in the set, a bit a city
//   masked_sum(w, mask)             the sum of w[k] over the bits k of the mask
//   masked_pick(w, mask, x)         the first k of the mask where the running sum of w passes x
//   group_sum(x), group_min(x)      of every lane's x (where a lane is a thread, else x itself)
//   column<T>                       a sum a lane: add_masked(c, weight, mask), total_of(c), pick_lane(c, x)
//   masked_columns(w, masks, words) the sums of an array's words of 32, each with a mask
//   group_numbers                   the random numbers of 32 steps: draw_steps(n, draws, first), step_numbers(n, k)
//   group_sync(), group_leader()    order the group's memory; the one thread that writes for it
//   RARELY                          a function that is called so rarely that it should not be inlined
#pragma once
#include "device/philox.cuh"

#if defined(__CUDACC__) || defined(HOST_THREADS)
#include "device/group_warp.cuh"
#else
#include "device/group_host.cuh"
#endif
