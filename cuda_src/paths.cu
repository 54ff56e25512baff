// What follows from distances: predecessors, and the proof that both are right. One block a source; every vertex
// looks at the arcs that come in and decides for itself.
//
// Arcs come in the order of their tails' ids, whatever numbers the vertices have here: the first that fits is the
// smallest. The predecessor of v is the smallest u with an arc u -> v of weight d(v) - d(u) and d(u) < d(v). Arcs of
// weight 0 (or lost in rounding) make plateaus of equal distance; a vertex with no such u takes the smallest u of its
// plateau that is one hop nearer to where the plateau is entered. So predecessors are a tree, and the same for any
// schedule.
//
// The check counts what is wrong: an arc that offers a shorter way, a reached vertex without a predecessor, a
// predecessor whose arc does not fit, a seed that is not at 0, another root than a seed. Distances that no arc
// shortens, each with a chain of fitting arcs from a seed, are the shortest. An arc from a reached to an unreached
// vertex is counted apart: only a limit can leave one.
//
// Bytes: an arc's two keys and its tail's distance, some three keys a vertex; one pass each, two with plateaus.
#include "distances.cuh"

constexpr uint32_t nobody = ~0u;

// A source's graph (incoming arcs, (tail, weight) pairs), distances, and seeds.
template <class T>
struct solved {
  uint32_t n;
  const uint32_t *in_offsets;
  const T *in_arcs;
  const T *distance;
};

// hops[v]: arcs from where v's plateau is entered, 0 where it is entered or seeded, `nobody` if v is not reached.
// Rounds until nothing changes, as many as the longest way inside of a plateau.
template <class Sum, class T = typename Sum::key>
DEVICE void count_hops(const solved<T> &s, uint32_t seeds, const uint32_t *seed, uint32_t *hops, uint32_t *changed) {
  for (uint32_t v = threadIdx.x; v < s.n; v += blockDim.x) {
    const T here = s.distance[v];
    uint32_t entered = nobody;
    for (uint32_t a = s.in_offsets[v]; a < s.in_offsets[v + 1]; a++)
      if (tight<Sum>(s.distance, s.in_arcs, a, here) && s.distance[s.in_arcs[2 * (size_t)a]] < here) entered = 0;
    hops[v] = entered;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < seeds; i += blockDim.x) hops[seed[i]] = 0;
  for (uint32_t round = 1;; round++) {
    __syncthreads();
    if (threadIdx.x == 0) *changed = 0;
    __syncthreads();
    for (uint32_t v = threadIdx.x; v < s.n; v += blockDim.x) {
      if (hops[v] != nobody || s.distance[v] == unreached<T>()) continue;
      bool next = false;
      for (uint32_t a = s.in_offsets[v]; a < s.in_offsets[v + 1]; a++)
        next |=
            tight<Sum>(s.distance, s.in_arcs, a, s.distance[v]) && peek(&hops[s.in_arcs[2 * (size_t)a]]) == round - 1;
      if (next) atomicMin_block(&hops[v], round), atomicOr_block(changed, 1u);
    }
    __syncthreads();
    if (!*changed) break;
  }
}
// The first tail of a fitting arc from below, or, where plateaus were counted, from one hop nearer on the plateau.
template <class Sum, class T = typename Sum::key>
DEVICE uint32_t choose_predecessor(const solved<T> &s, uint32_t v, const uint32_t *hops) {
  const T here = s.distance[v];
  uint32_t beside = nobody;
  for (uint32_t a = s.in_offsets[v]; a < s.in_offsets[v + 1]; a++) {
    const uint32_t u = (uint32_t)s.in_arcs[2 * (size_t)a];
    if (!tight<Sum>(s.distance, s.in_arcs, a, here)) continue;
    if (s.distance[u] < here) return u;
    if (beside == nobody && hops && hops[v] != nobody && hops[u] + 1 == hops[v]) beside = u;
  }
  return beside;
}
// What is wrong at vertex v, counted; *cut counts arcs from reached vertices if v is not reached.
template <class Sum, class T = typename Sum::key>
DEVICE uint32_t wrong_at(const solved<T> &s, uint32_t v, uint32_t predecessor, bool seeded, uint32_t *cut) {
  const T here = s.distance[v];
  uint32_t wrong = 0, fits = 0;
  for (uint32_t a = s.in_offsets[v]; a < s.in_offsets[v + 1]; a++) {
    const uint32_t u = (uint32_t)s.in_arcs[2 * (size_t)a];
    const T there = s.distance[u];
    if (there == unreached<T>()) continue;
    if (here == unreached<T>())
      *cut += 1;
    else
      wrong += there < here && !beyond(Sum(), there, s.in_arcs[2 * (size_t)a + 1], (T)(here - 1));
    fits |= u == predecessor && tight<Sum>(s.distance, s.in_arcs, a, here);
  }
  const bool root = seeded || here == unreached<T>();
  return wrong + (root ? predecessor != nobody : !fits) + (seeded && here != 0);
}
// Predecessors of `jobs` sources and the check of both. `hops` is (blocks, n) scratch if `plateaus`. `wrong` is
// (jobs, 2): what the check found, and arcs that lead out of what was reached.
template <class Sum, class T = typename Sum::key>
DEVICE void derive_all(uint32_t jobs, uint32_t n, uint32_t plateaus, const uint32_t *seed_start, const uint32_t *seed,
                       const uint32_t *in_offsets, const T *in_arcs, const T *keys, uint32_t *hops,
                       uint32_t *predecessor, uint32_t *wrong) {
  __shared__ uint32_t changed, found, left, rooted;
  for (uint32_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    const solved<T> s = {n, in_offsets, in_arcs, keys + (size_t)job * n};
    const uint32_t seeds = seed_start[job + 1] - seed_start[job];
    const uint32_t *mine = seed + seed_start[job];
    uint32_t *here = predecessor + (size_t)job * n, *steps = plateaus ? hops + (size_t)blockIdx.x * n : nullptr;
    if (threadIdx.x == 0) found = left = rooted = 0;
    if (plateaus) count_hops<Sum>(s, seeds, mine, steps, &changed);
    __syncthreads();
    for (uint32_t v = threadIdx.x; v < n; v += blockDim.x) here[v] = choose_predecessor<Sum>(s, v, steps);
    __syncthreads();
    uint32_t bad = 0, cut = 0, roots = 0;
    for (uint32_t i = threadIdx.x; i < seeds; i += blockDim.x) here[mine[i]] = nobody, bad += s.distance[mine[i]] != 0;
    __syncthreads();
    for (uint32_t v = threadIdx.x; v < n; v += blockDim.x) {
      const bool root = s.distance[v] == 0 && here[v] == nobody;
      bad += wrong_at<Sum>(s, v, here[v], root, &cut), roots += root;
    }
    atomicAdd_block(&rooted, roots);
    atomicAdd_block(&found, bad);
    atomicAdd_block(&left, cut);
    __syncthreads();
    if (threadIdx.x == 0) wrong[2 * job] = found + (rooted != seeds), wrong[2 * job + 1] = left;
    __syncthreads();
  }
}
KERNEL paths_derive_u4(uint32_t jobs, uint32_t n, uint32_t plateaus, const uint32_t *seed_start, const uint32_t *seed,
                       const uint32_t *in_offsets, const uint32_t *in_arcs, const uint32_t *keys, uint32_t *hops,
                       uint32_t *predecessor, uint32_t *wrong) {
  derive_all<integer<uint32_t>>(jobs, n, plateaus, seed_start, seed, in_offsets, in_arcs, keys, hops, predecessor,
                                wrong);
}
EXPORT_KERNEL(paths_derive_u4)
KERNEL paths_derive_u8(uint32_t jobs, uint32_t n, uint32_t plateaus, const uint32_t *seed_start, const uint32_t *seed,
                       const uint32_t *in_offsets, const uint64_t *in_arcs, const uint64_t *keys, uint32_t *hops,
                       uint32_t *predecessor, uint32_t *wrong) {
  derive_all<integer<uint64_t>>(jobs, n, plateaus, seed_start, seed, in_offsets, in_arcs, keys, hops, predecessor,
                                wrong);
}
EXPORT_KERNEL(paths_derive_u8)
KERNEL paths_derive_f8(uint32_t jobs, uint32_t n, uint32_t plateaus, const uint32_t *seed_start, const uint32_t *seed,
                       const uint32_t *in_offsets, const uint64_t *in_arcs, const uint64_t *keys, uint32_t *hops,
                       uint32_t *predecessor, uint32_t *wrong) {
  derive_all<real<uint64_t, double>>(jobs, n, plateaus, seed_start, seed, in_offsets, in_arcs, keys, hops, predecessor,
                                     wrong);
}
EXPORT_KERNEL(paths_derive_f8)
