// Near-Far shortest paths (Davidson, Baxter, Garland, Owens, IPDPS 2014), the block engine: one block a source, of any
// number of threads; on a CPU a block is one thread and this is a sequential search with two buckets.
//
// A round relaxes the arcs of every vertex in the near queue (shared memory, two buffers, one barrier a round) and
// queues the vertices that it improved: those below the threshold in the next near queue, the others in the far pile
// (global memory). When the near queue is empty, everything below the threshold is settled. The threshold then moves to
// the smallest waiting distance + delta, which skips empty phases, and one pass over the far pile drops what is
// settled, moves what is below, and compacts the rest in place.
//
// Distances are keys: unsigned integers that order like the distances. An integer is its own key, a non-negative IEEE
// number has its bit pattern. One word a vertex does the bookkeeping: 2 * key + expanded; unreached is all ones. Hence
// - a clear last bit means "waits in a queue": in the near queue if the word is below the threshold, in the far pile if
//   not. Nothing is queued twice, and a far pile of n entries is large enough unless near queues spill into it;
// - expanding is atomicOr(word, 1): it gives the distance to expand and tells a duplicate or a settled vertex;
// - improving is atomicMin(word, 2 * candidate): it clears the bit, and the old word tells whether to queue the vertex.
// A full near queue spills into the far pile, and the next pass brings the spilled vertices back. A full far pile is
// reported, never truncated silently.
//
// Distances are the unique fixpoint (rounded addition is monotone too), so no schedule, block size or machine changes
// them. What exceeds `limit` is not stored, and paths_derive sees from the result whether that cut anything off.
//
// Dependent steps: one round each; NY (264346 vertices, 733846 arcs) takes about 2500 at delta 8192, of some 130
// vertices. Bytes: per expanded vertex its word and its two offsets, per arc 2 keys and the word of its head.
#include "distances.cuh"

constexpr uint32_t near_capacity = 4096;
constexpr uint32_t ahead = 6;  // entries of the near queue between a vertex and the one whose arcs are fetched early

// One source's search: its graph, its result, its queues. Counts of the near queues rotate, so that one barrier a round
// is enough.
template <class T>
struct search {
  const uint32_t *offsets;
  const T *arcs;  // (head, weight) pairs
  T *words;
  uint32_t *far;
  uint32_t far_capacity;
  T limit;
  uint32_t near[2][near_capacity];
  uint32_t near_count[3], far_count, overflowed, unsettled;
  T lowest;
  uint64_t relaxed;
};

// Follows the arcs of a vertex with this word; what it improves is queued. Returns the least of `lowest` and what
// went to the far pile.
template <class Sum, class T = typename Sum::key>
DEVICE T relax(search<T> &s, T word, uint32_t begin, uint32_t end, T threshold, uint32_t round, T lowest) {
  for (uint32_t a = begin; a < end; a++) {
    const uint32_t v = (uint32_t)s.arcs[2 * (size_t)a];
    const T weight = s.arcs[2 * (size_t)a + 1];
    if (beyond(Sum(), word >> 1, weight, s.limit)) continue;
    const T candidate = plus(Sum(), word >> 1, weight) << 1;
    if ((candidate | 1) >= peek(&s.words[v])) continue;
    const T old = atomicMin_block(&s.words[v], candidate);
    if (candidate >= old) continue;
    const bool below = candidate < threshold;
    const bool waits = !(old & 1) && (old < threshold) == below;  // in that very queue already
    if (below && (waits || push(s.near[(round + 1) % 2], near_capacity, &s.near_count[(round + 1) % 3], v))) continue;
    lowest = candidate < lowest ? candidate : lowest;
    if (!waits && !push(s.far, s.far_capacity, &s.far_count, v)) atomicOr_block(&s.overflowed, 1u);
  }
  return lowest;
}
// Rounds until the near queue is empty. `round` ends at the one that found it so.
template <class Sum, class T = typename Sum::key>
DEVICE T settle_near(search<T> &s, T threshold, uint32_t &round, T lowest, uint64_t &relaxed) {
  for (uint32_t waiting; (waiting = s.near_count[round % 3]) > 0; round++) {
    if (waiting > near_capacity) waiting = near_capacity;
    const uint32_t *current = s.near[round % 2];
    if (threadIdx.x == 0) s.near_count[(round + 2) % 3] = 0;
    for (uint32_t i = threadIdx.x; i < waiting; i += blockDim.x) {
      const uint32_t u = current[i], begin = s.offsets[u], end = s.offsets[u + 1];
      const T word = atomicOr_block(&s.words[u], (T)1);
      if (i + ahead * blockDim.x < waiting) prefetch(&s.arcs[2 * (size_t)s.offsets[current[i + ahead * blockDim.x]]]);
      if (word & 1) continue;
      relaxed += end - begin;
      lowest = relax<Sum>(s, word, begin, end, threshold, round, lowest);
    }
    __syncthreads();
  }
  return lowest;
}
// One pass over the far pile: drops the settled, moves what is below the threshold, keeps the rest in place. Returns
// the least word that this thread kept.
template <class T>
DEVICE T sift_far(search<T> &s, uint32_t waiting, T threshold, uint32_t round) {
  T lowest = unreached<T>();
  for (uint32_t base = 0; base < waiting; base += blockDim.x) {
    const uint32_t i = base + threadIdx.x, v = i < waiting ? s.far[i] : 0;
    const T word = i < waiting ? s.words[v] : unreached<T>();
    __syncthreads();  // all of this stretch is read: what is kept may overwrite it
    if (word & 1) continue;
    if (word < threshold && push(s.near[round % 2], near_capacity, &s.near_count[round % 3], v)) continue;
    push(s.far, s.far_capacity, &s.far_count, v);
    lowest = word < lowest ? word : lowest;
  }
  __syncthreads();
  return lowest;
}
template <class T>
DEVICE void begin_search(search<T> &s, uint32_t n, uint32_t seeds, const uint32_t *seed) {
  for (uint32_t v = threadIdx.x; v < n; v += blockDim.x) s.words[v] = unreached<T>();
  if (threadIdx.x == 0)
    s.near_count[0] = s.near_count[1] = s.near_count[2] = s.far_count = s.overflowed = 0, s.relaxed = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < seeds; i += blockDim.x)  // at distance 0, each once
    if (atomicMin_block(&s.words[seed[i]], (T)0) && !push(s.near[0], near_capacity, &s.near_count[0], seed[i]))
      push(s.far, s.far_capacity, &s.far_count, seed[i]);
  __syncthreads();
}
// Whether some target is not below the threshold yet.
template <class T>
DEVICE bool some_unsettled(search<T> &s, uint32_t targets, const uint32_t *target, T threshold) {
  if (threadIdx.x == 0) s.unsettled = targets == 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < targets; i += blockDim.x)
    if (peek(&s.words[target[i]]) >= threshold) atomicOr_block(&s.unsettled, 1u);
  __syncthreads();
  return s.unsettled;
}
template <class Sum, class T = typename Sum::key>
DEVICE void run_search(search<T> &s, uint32_t targets, const uint32_t *target, T delta, uint32_t *rounds) {
  T threshold = 0, lowest = 0;  // in words; lowest: of what waits in the far pile
  uint64_t relaxed = 0;
  for (uint32_t round = 0;;) {
    // The next threshold: at least one above the lowest, so that a delta that rounds to nothing still moves on.
    const T key = lowest >> 1, moved = beyond(Sum(), key, delta, s.limit) ? s.limit : plus(Sum(), key, delta);
    const T next = (moved > key ? moved : key + 1) << 1;
    threshold = next > threshold ? next : threshold;
    const uint32_t waiting = s.far_count < s.far_capacity ? s.far_count : s.far_capacity;
    __syncthreads();
    if (threadIdx.x == 0) s.far_count = 0;
    __syncthreads();
    lowest = sift_far(s, waiting, threshold, round);
    lowest = settle_near<Sum>(s, threshold, round, lowest, relaxed);
    lowest = block_min(&s.lowest, lowest);
    if (threadIdx.x == 0) *rounds = round;
    if (lowest == unreached<T>() || !some_unsettled(s, targets, target, threshold)) break;
  }
  atomicAdd_block(&s.relaxed, relaxed);
  __syncthreads();
}
// Searches `jobs` sources, each from its own seeds. `keys` is (jobs, n); `far` (blocks, far_capacity) is scratch.
// `overflowed` of a job is 1 if its far pile was full: its row is wrong then, and wants more room. `work` is (jobs, 2):
// arcs relaxed, rounds. With targets a search ends once they are settled; other entries may then be too large.
template <class Sum, class T = typename Sum::key>
DEVICE void search_all(uint32_t jobs, uint32_t n, uint32_t targets, uint32_t far_capacity, T delta, T limit,
                       const uint32_t *seed_start, const uint32_t *seed, const uint32_t *target,
                       const uint32_t *offsets, const T *arcs, uint32_t *far, T *keys, uint32_t *overflowed,
                       uint64_t *work) {
  __shared__ search<T> s;
  __shared__ uint32_t rounds;
  for (uint32_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    if (threadIdx.x == 0) {
      s.offsets = offsets, s.arcs = arcs, s.words = keys + (size_t)job * n;
      s.far = far + (size_t)blockIdx.x * far_capacity, s.far_capacity = far_capacity, s.limit = limit;
    }
    __syncthreads();
    begin_search(s, n, seed_start[job + 1] - seed_start[job], seed + seed_start[job]);
    run_search<Sum>(s, targets, target, delta, &rounds);
    for (uint32_t v = threadIdx.x; v < n; v += blockDim.x)
      s.words[v] = s.words[v] == unreached<T>() ? unreached<T>() : s.words[v] >> 1;
    if (threadIdx.x == 0) overflowed[job] = s.overflowed, work[2 * job] = s.relaxed, work[2 * job + 1] = rounds;
    __syncthreads();
  }
}
KERNEL near_far_search_u4(uint32_t jobs, uint32_t n, uint32_t targets, uint32_t far_capacity, uint32_t delta,
                          uint32_t limit, const uint32_t *seed_start, const uint32_t *seed, const uint32_t *target,
                          const uint32_t *offsets, const uint32_t *arcs, uint32_t *far, uint32_t *keys,
                          uint32_t *overflowed, uint64_t *work) {
  search_all<integer<uint32_t>>(jobs, n, targets, far_capacity, delta, limit, seed_start, seed, target, offsets, arcs,
                                far, keys, overflowed, work);
}
EXPORT_KERNEL(near_far_search_u4)
KERNEL near_far_search_u8(uint32_t jobs, uint32_t n, uint32_t targets, uint32_t far_capacity, uint64_t delta,
                          uint64_t limit, const uint32_t *seed_start, const uint32_t *seed, const uint32_t *target,
                          const uint32_t *offsets, const uint64_t *arcs, uint32_t *far, uint64_t *keys,
                          uint32_t *overflowed, uint64_t *work) {
  search_all<integer<uint64_t>>(jobs, n, targets, far_capacity, delta, limit, seed_start, seed, target, offsets, arcs,
                                far, keys, overflowed, work);
}
EXPORT_KERNEL(near_far_search_u8)
KERNEL near_far_search_f8(uint32_t jobs, uint32_t n, uint32_t targets, uint32_t far_capacity, uint64_t delta,
                          uint64_t limit, const uint32_t *seed_start, const uint32_t *seed, const uint32_t *target,
                          const uint32_t *offsets, const uint64_t *arcs, uint32_t *far, uint64_t *keys,
                          uint32_t *overflowed, uint64_t *work) {
  search_all<real<uint64_t, double>>(jobs, n, targets, far_capacity, delta, limit, seed_start, seed, target, offsets,
                                     arcs, far, keys, overflowed, work);
}
EXPORT_KERNEL(near_far_search_f8)
