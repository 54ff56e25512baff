// What every engine takes and gives back, so that what is made of it (solve.cuh) is the same for all of them.
//
// An engine is a struct in shared memory with a function
//   run_search(Sum(), engine, task, tuning, answer)
// called by all threads of a block. It finds every distance up to answer.horizon, and leaves the key of all else at
// `unreached`. The horizon is the task's limit; or less, if there are targets and a list of what is touched is kept: a
// search may end once the targets are found, and then it is one with a smaller limit that it found itself. So
// everything that holds for a limit, the check included, holds for an early end.
#pragma once
#include "paths/distances.cuh"
#include "paths/graph.cuh"

using real_keys = real<uint64_t, double>;

// What is asked.
template <class T>
struct task {
  graph<T> net;
  uint32_t seeds;
  const uint32_t *seed;
  uint32_t targets;
  const uint32_t *target;
  T limit;
};
// What is found, in shared memory. `keys` are all unreached when a search begins.
template <class T>
struct answer {
  T *keys;
  uint32_t *touched;  // the vertices whose keys were changed, if room for n was given: else nullptr
  uint32_t count;     // of `touched`
  uint32_t overflowed;
  T horizon;
  uint64_t relaxed, rounds;
};
// How an engine is to work; the answer depends on none of it.
template <class T>
struct tuning {
  uint32_t setting;   // near-far: arcs a round from which a bucket is wide enough; Bellman-Ford: sweeps, 0 pushes
  uint32_t room;      // entries of a block's scratch
  uint32_t *scratch;  // of this block
  T delta, most;      // near-far: width of the first bucket, and of the widest
};

// The vertices that a search may have reached: those that it touched, or all.
template <class T>
DEVICE uint32_t extent(const answer<T> &found, uint32_t n) {
  return found.touched ? found.count : n;
}
template <class T>
DEVICE uint32_t member(const answer<T> &found, uint32_t i) {
  return found.touched ? found.touched[i] : i;
}
// Notes a vertex when it is reached for the first time.
template <class T>
DEVICE void touch(answer<T> &found, uint32_t v) {
  if (found.touched) found.touched[atomicAdd_block(&found.count, 1u)] = v;
}
// Begins an answer, by one thread.
template <class T>
DEVICE void begin(answer<T> &found, T *keys, uint32_t *touched, T limit) {
  found.keys = keys, found.touched = touched, found.horizon = limit;
  found.count = found.overflowed = 0, found.relaxed = found.rounds = 0;
}
// Whether there are targets, and all have a key below `bound`.
template <class T>
DEVICE bool all_below(const task<T> &asked, const T *keys, T bound, uint32_t *shared) {
  if (!asked.targets) return false;
  if (threadIdx.x == 0) *shared = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < asked.targets; i += blockDim.x)
    if (peek(&keys[asked.target[i]]) >= bound) atomicOr_block(shared, 1u);
  __syncthreads();
  return !*shared;
}
