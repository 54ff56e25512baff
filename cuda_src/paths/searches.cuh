// What every search engine takes and gives back. solve.cuh turns that into distances, predecessors and paths.
//
// An engine is a struct in shared memory with a function
//   run_search(Sum(), engine, request, tuning, answer)
// called by all threads of a block. It finds every distance up to answer.cutoff, and leaves all other keys `no_path`.
// The cutoff is the request's. If there are targets and the vertices touched are listed, the search may end as soon as
// all targets are settled, and sets a smaller cutoff. So an early end is a cutoff that the search chose itself, and all
// that holds for a cutoff, the check included, holds for an early end.
#pragma once
#include "paths/distances.cuh"
#include "paths/graph.cuh"

using real_keys = real<uint64_t, double>;

// What a search is to find: the distances from the nearest of the seeds.
template <class T>
struct request {
  graph<T> net;
  uint32_t seeds;
  const uint32_t *seed;
  uint32_t targets;
  const uint32_t *target;
  T cutoff;
};
// What is found, in shared memory. All keys are unreached when a search begins.
template <class T>
struct answer {
  T *keys;
  uint32_t *touched;  // the vertices whose keys have changed, if there is room for n of them; else nullptr
  uint32_t count;  // of `touched`
  uint32_t overflowed;
  T cutoff;
  uint64_t relaxed, rounds;
};
// How an engine works; the answer does not depend on it.
template <class T>
struct tuning {
  uint32_t setting;  // Near-Far: arcs per round that make a bucket wide enough; Bellman-Ford: sweeps, 0 for push
  uint32_t shared;  // Near-Far by a block: 2^shared threads share the arcs of a vertex; at most 5
  uint32_t room;  // entries of a block's scratch
  uint32_t *scratch;  // of this block
  T delta, most;  // Near-Far: width of the first bucket and of the widest one
};

// The vertices that a search may have reached, `extent` of them: those that it touched, or all.
template <class T>
DEVICE uint32_t extent(const answer<T> &found, uint32_t n) {
  return found.touched ? found.count : n;
}
template <class T>
DEVICE uint32_t member(const answer<T> &found, uint32_t i) {
  return found.touched ? found.touched[i] : i;
}
// Lists a vertex that is reached for the first time.
template <class T>
DEVICE void touch(answer<T> &found, uint32_t v) {
  if (found.touched) found.touched[atomicAdd_block(&found.count, 1u)] = v;
}
// Begins an answer; called by one thread.
template <class T>
DEVICE void begin(answer<T> &found, T *keys, uint32_t *touched, T cutoff) {
  found.keys = keys, found.touched = touched, found.cutoff = cutoff;
  found.count = found.overflowed = 0, found.relaxed = found.rounds = 0;
}
// Returns whether there are targets and all of them have keys below `bound`.
template <class T>
DEVICE bool all_below(const request<T> &asked, const T *keys, T bound, uint32_t *shared) {
  if (!asked.targets) return false;
  if (threadIdx.x == 0) *shared = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < asked.targets; i += blockDim.x)
    if (peek(&keys[asked.target[i]]) >= bound) atomicOr_block(shared, 1u);
  __syncthreads();
  return !*shared;
}
