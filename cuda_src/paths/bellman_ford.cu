// Bellman-Ford, one block per search, in three forms: push (every reached vertex offers its distance along its outgoing
// arcs), pull (every vertex takes the best offer of its incoming arcs), and k-pull (k sweeps between two tests whether
// anything has changed; "Accelerating Computation of Steiner Trees on GPUs" takes k = 3). It takes as many sweeps over
// all arcs as the longest shortest path has arcs. It is here for study, as an oracle for near_far.cu, and for 64-bit
// distances that leave near_far.cu no spare bit. `setting` is the number of sweeps between two tests, 0 for push.
// Targets never end a search early.
#include "paths/solve.cuh"

template <class T>
struct bellman_ford {
  uint32_t changed;
};
// Sweeps once over this thread's vertices, and returns whether anything has changed.
template <class Sum, class T = typename Sum::key>
DEVICE bool push_once(const request<T> &asked, T *keys) {
  bool changed = false;
  for (uint32_t u = threadIdx.x; u < asked.net.n; u += blockDim.x) {
    const T from = peek(&keys[u]);
    if (from == no_path<T>()) continue;
    for (uint32_t a = asked.net.offsets[u]; a < asked.net.offsets[u + 1]; a++) {
      const arc<T> next = arc_at(asked.net.arcs, a);
      if (beyond(Sum(), from, next.weight, asked.cutoff)) continue;
      const T offer = plus(Sum(), from, next.weight);
      changed |= offer < atomicMin_block(in_global(&keys[next.end]), offer);
    }
  }
  return changed;
}
template <class Sum, class T = typename Sum::key>
DEVICE bool pull_once(const request<T> &asked, T *keys) {
  bool changed = false;
  for (uint32_t v = threadIdx.x; v < asked.net.n; v += blockDim.x) {
    T best = no_path<T>();
    for (uint32_t a = asked.net.in_offsets[v]; a < asked.net.in_offsets[v + 1]; a++) {
      const arc<T> next = arc_at(asked.net.in_arcs, a);
      const T from = peek(&keys[next.end]);
      if (from == no_path<T>() || beyond(Sum(), from, next.weight, asked.cutoff)) continue;
      const T offer = plus(Sum(), from, next.weight);
      best = offer < best ? offer : best;
    }
    changed |= best < atomicMin_block(in_global(&keys[v]), best);
  }
  return changed;
}
template <class Sum, class T = typename Sum::key>
DEVICE void run_search(Sum, bellman_ford<T> &s, const request<T> &asked, const tuning<T> &how, answer<T> &found) {
  for (uint32_t i = threadIdx.x; i < asked.seeds; i += blockDim.x) found.keys[asked.seed[i]] = 0;
  uint64_t sweeps = 0;
  for (bool again = true; again;) {
    __syncthreads();
    if (threadIdx.x == 0) s.changed = 0;
    bool changed = false;
    for (uint32_t k = 0; k < (how.setting ? how.setting : 1); k++, sweeps++) {
      __syncthreads();
      changed |= how.setting ? pull_once<Sum>(asked, found.keys) : push_once<Sum>(asked, found.keys);
    }
    if (changed) atomicOr_block(&s.changed, 1u);
    __syncthreads();
    again = s.changed;
  }
  for (uint32_t v = threadIdx.x; v < asked.net.n; v += blockDim.x)
    if (found.keys[v] != no_path<T>()) touch(found, v);
  if (threadIdx.x == 0) found.relaxed = sweeps * asked.net.offsets[asked.net.n], found.rounds = sweeps;
  __syncthreads();
}
SOLVE_KERNELS(bellman_ford, bellman_ford)
