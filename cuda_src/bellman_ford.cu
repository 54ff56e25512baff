// Bellman-Ford, one block a source, in three forms: push (every reached vertex offers its distance along the arcs
// that leave it), pull (every vertex takes the best offer of the arcs that come in), and k-pull (k sweeps between two
// looks at whether anything changed: "Accelerating Computation of Steiner Trees on GPUs" takes 3). As many rounds as
// the longest shortest path has arcs, each over all arcs; here for study, as an oracle of near_far.cu, and for 64-bit
// distances that leave it no spare bit.
#include "distances.cuh"

// One sweep over this thread's vertices; whether it changed anything.
template <class Sum, class T = typename Sum::key>
DEVICE bool push_once(uint32_t n, T limit, const uint32_t *offsets, const T *arcs, T *keys) {
  bool changed = false;
  for (uint32_t u = threadIdx.x; u < n; u += blockDim.x) {
    const T from = peek(&keys[u]);
    if (from == unreached<T>()) continue;
    for (uint32_t a = offsets[u]; a < offsets[u + 1]; a++) {
      const T weight = arcs[2 * (size_t)a + 1];
      if (beyond(Sum(), from, weight, limit)) continue;
      const T offer = plus(Sum(), from, weight);
      changed |= offer < atomicMin_block(&keys[arcs[2 * (size_t)a]], offer);
    }
  }
  return changed;
}
template <class Sum, class T = typename Sum::key>
DEVICE bool pull_once(uint32_t n, T limit, const uint32_t *in_offsets, const T *in_arcs, T *keys) {
  bool changed = false;
  for (uint32_t v = threadIdx.x; v < n; v += blockDim.x) {
    T best = unreached<T>();
    for (uint32_t a = in_offsets[v]; a < in_offsets[v + 1]; a++) {
      const T from = peek(&keys[in_arcs[2 * (size_t)a]]), weight = in_arcs[2 * (size_t)a + 1];
      if (from == unreached<T>() || beyond(Sum(), from, weight, limit)) continue;
      const T offer = plus(Sum(), from, weight);
      best = offer < best ? offer : best;
    }
    changed |= best < atomicMin_block(&keys[v], best);
  }
  return changed;
}
// Searches `jobs` sources into keys (jobs, n). `sweeps` 0 pushes along the arcs that leave, else pulls over those
// that come in, so many times between looks. `work` is (jobs, 2): arcs relaxed, sweeps.
template <class Sum, class T = typename Sum::key>
DEVICE void search_all(uint32_t jobs, uint32_t n, uint32_t sweeps, T limit, const uint32_t *seed_start,
                       const uint32_t *seed, const uint32_t *offsets, const T *arcs, T *keys, uint64_t *work) {
  __shared__ uint32_t changed;
  for (uint32_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    T *mine = keys + (size_t)job * n;
    for (uint32_t v = threadIdx.x; v < n; v += blockDim.x) mine[v] = unreached<T>();
    __syncthreads();
    for (uint32_t i = seed_start[job] + threadIdx.x; i < seed_start[job + 1]; i += blockDim.x) mine[seed[i]] = 0;
    uint64_t done = 0;
    for (bool again = true; again;) {
      __syncthreads();
      if (threadIdx.x == 0) changed = 0;
      bool mine_changed = false;
      for (uint32_t k = 0; k < (sweeps ? sweeps : 1); k++, done++) {
        __syncthreads();
        mine_changed |=
            sweeps ? pull_once<Sum>(n, limit, offsets, arcs, mine) : push_once<Sum>(n, limit, offsets, arcs, mine);
      }
      if (mine_changed) atomicOr_block(&changed, 1u);
      __syncthreads();
      again = changed;
    }
    if (threadIdx.x == 0) work[2 * job] = done * offsets[n], work[2 * job + 1] = done;
  }
}
KERNEL bellman_ford_search_u4(uint32_t jobs, uint32_t n, uint32_t sweeps, uint32_t limit, const uint32_t *seed_start,
                              const uint32_t *seed, const uint32_t *offsets, const uint32_t *arcs, uint32_t *keys,
                              uint64_t *work) {
  search_all<integer<uint32_t>>(jobs, n, sweeps, limit, seed_start, seed, offsets, arcs, keys, work);
}
EXPORT_KERNEL(bellman_ford_search_u4)
KERNEL bellman_ford_search_u8(uint32_t jobs, uint32_t n, uint32_t sweeps, uint64_t limit, const uint32_t *seed_start,
                              const uint32_t *seed, const uint32_t *offsets, const uint64_t *arcs, uint64_t *keys,
                              uint64_t *work) {
  search_all<integer<uint64_t>>(jobs, n, sweeps, limit, seed_start, seed, offsets, arcs, keys, work);
}
EXPORT_KERNEL(bellman_ford_search_u8)
KERNEL bellman_ford_search_f8(uint32_t jobs, uint32_t n, uint32_t sweeps, uint64_t limit, const uint32_t *seed_start,
                              const uint32_t *seed, const uint32_t *offsets, const uint64_t *arcs, uint64_t *keys,
                              uint64_t *work) {
  search_all<real<uint64_t, double>>(jobs, n, sweeps, limit, seed_start, seed, offsets, arcs, keys, work);
}
EXPORT_KERNEL(bellman_ford_search_f8)
