// Near-Far shortest paths (Davidson, Baxter, Garland, Owens, IPDPS 2014), the block engine: one block for each search,
// with any number of threads. On a CPU a block is one thread, and this is a sequential search with two buckets.
//
// A round relaxes the arcs of every vertex in the near queue (shared memory, two buffers, one barrier a round) and
// queues the vertices that it improved: those below the threshold in the next near queue, the others in the far queue
// (global memory). When the near queue is empty, everything below the threshold is settled. The threshold then moves to
// the smallest waiting distance + delta, which skips empty buckets, and one pass over the far queue drops what is
// settled, moves what is below the threshold, and compacts the rest in place.
//
// One word for each vertex is enough: 2 * key + 1 if it has been expanded, else 2 * key; unreached is all ones. Hence
// - a clear last bit means "waits in a queue": in the near queue if the word is below the threshold, else in the far
//   queue. Nothing is queued twice, and a far queue of n entries is large enough unless near queues spill into it;
// - expanding is atomicOr(word, 1): the old word has the distance to expand, and tells a duplicate or a settled vertex;
// - improving is atomicMin(word, 2 * candidate): it clears the bit, and the old word tells whether to queue the vertex.
// A full near queue spills into the far queue, and the next pass brings the spilled vertices back. A full far queue is
// reported, and the search is repeated by near_far_grid.cu, whose queues cannot overflow.
//
// Delta adapts (near_far.cuh). Distances are the unique fixpoint (rounded addition is monotone too), so no schedule,
// block size or device changes them.
//
// Dependent steps: one in each round. New York (264 346 vertices, 730 100 arcs) takes some 2500 rounds of about 130
// vertices. Memory traffic: for an expanded vertex its word and two offsets, for an arc two keys and its head's word.
#include "paths/near_far.cuh"
#include "paths/solve.cuh"

constexpr uint32_t near_capacity = 4096;
constexpr uint32_t ahead = 10;  // arcs are prefetched so many entries of the near queue in advance

// A search's queues, and what its threads share. The counts of the near queues rotate, so that one barrier a round is
// enough.
template <class T>
struct near_far {
  uint32_t near[2][near_capacity];
  uint32_t near_count[3], far_count, unsettled;
  T lowest;
  tally phase;
};
// Relaxes every step-th arc from `begin` to `end` - 1 of a vertex with this word, and queues the vertices that this
// improves. Returns the least of `lowest` and of the words that went to the far queue.
template <class Sum, class T = typename Sum::key>
DEVICE T relax(near_far<T> &s, const request<T> &asked, const tuning<T> &how, answer<T> &found, tally &mine, T word,
               uint32_t begin, uint32_t end, uint32_t step, T threshold, uint32_t round, T lowest) {
  T *const words = in_global(found.keys);
  ROLLED for (uint32_t a = begin; a < end; a += step) {
    const arc<T> next = arc_at(asked.net.arcs, a);
    const uint32_t v = (uint32_t)next.end;
    if (beyond(Sum(), word >> 1, next.weight, asked.cutoff)) continue;
    const T candidate = plus(Sum(), word >> 1, next.weight) << 1;
    if ((candidate | 1) >= peek_block(&words[v])) continue;
    const T old = atomicMin_block(&words[v], candidate);
    if (candidate >= old) continue;
    if (old == no_path<T>())
      touch(found, v);
    else
      mine.again += old & 1;
    const bool below = candidate < threshold;
    const bool waits = !(old & 1) && (old < threshold) == below;  // in that very queue already
    if (below && (waits || push(s.near[(round + 1) % 2], near_capacity, &s.near_count[(round + 1) % 3], v))) continue;
    lowest = candidate < lowest ? candidate : lowest;
    if (!waits && !push(how.scratch, how.room, &s.far_count, v)) atomicOr_block(&found.overflowed, 1u);
  }
  return lowest;
}
// Prefetches for the entries that follow the i-th: the first and the last arc of one, which may be in two cache lines,
// and for a later one what leads to its arcs.
template <class T>
DEVICE void fetch_early(const request<T> &asked, const answer<T> &found, const uint32_t *current, uint32_t i,
                        uint32_t waiting) {
  const uint32_t next = i + ahead * blockDim.x, later = next + ahead * blockDim.x;
  if (later < waiting) prefetch(&asked.net.offsets[current[later]]), prefetch(&found.keys[current[later]]);
  if (next >= waiting) return;
  const uint32_t begin = asked.net.offsets[current[next]], end = asked.net.offsets[current[next] + 1];
  if (begin < end) prefetch(&asked.net.arcs[2 * (size_t)begin]), prefetch(&asked.net.arcs[2 * (size_t)end - 2]);
}
// Returns how many threads share the arcs of a vertex: one where a warp of the block has fewer than 32 threads.
template <class T>
DEVICE uint32_t sharing(const tuning<T> &how) {
  return one_thread_blocks || blockDim.x % warp_size ? 1 : 1u << how.shared;
}
// Does rounds until the near queue is empty. `round` becomes the number of the next round.
template <class Sum, class T = typename Sum::key>
DEVICE T settle_near(near_far<T> &s, const request<T> &asked, const tuning<T> &how, answer<T> &found, tally &mine,
                     T threshold, uint32_t &round, T lowest) {
  const uint32_t together = sharing(how);
  for (uint32_t waiting; (waiting = s.near_count[round % 3]) > 0; round++) {
    if (waiting > near_capacity) waiting = near_capacity;
    const uint32_t *current = s.near[round % 2];
    if (threadIdx.x == 0) s.near_count[(round + 2) % 3] = 0;
    for (uint32_t first = (threadIdx.x - lane()) / together; first < waiting; first += blockDim.x / together) {
      const uint32_t i = first + lane() / together;  // all threads of a warp come here equally often, to exchange words
      const uint32_t u = current[i < waiting ? i : 0], begin = asked.net.offsets[u], end = asked.net.offsets[u + 1];
      const uint32_t own = lane() & (together - 1);
      const bool leads = own == 0 && i < waiting;
      T word = leads ? atomicOr_block(in_global(&found.keys[u]), (T)1) : (T)1;
      fetch_early(asked, found, current, i, waiting);
      if (together > 1) word = from_lane(word, lane() - own);
      if (word & 1) continue;
      if (leads) mine.expanded++, mine.relaxed += end - begin;
      lowest = relax<Sum>(s, asked, how, found, mine, word, begin + own, end, together, threshold, round, lowest);
    }
    __syncthreads();
  }
  return lowest;
}
// Passes over the far queue once: drops settled vertices, moves those below the threshold, keeps the rest in place.
// Returns the least word that this thread kept.
template <class T>
DEVICE T sift_far(near_far<T> &s, const tuning<T> &how, const T *words, T threshold, uint32_t round) {
  const uint32_t waiting = s.far_count < how.room ? s.far_count : how.room;
  T lowest = no_path<T>();
  __syncthreads();
  if (threadIdx.x == 0) s.far_count = 0;
  __syncthreads();
  for (uint32_t base = 0; base < waiting; base += blockDim.x) {
    const uint32_t i = base + threadIdx.x, v = i < waiting ? how.scratch[i] : 0;
    const T word = i < waiting ? words[v] : no_path<T>();
    __syncthreads();  // all of this stretch is read: what is kept may overwrite it
    if (word & 1) continue;
    if (word < threshold && push(s.near[round % 2], near_capacity, &s.near_count[round % 3], v)) continue;
    push(how.scratch, how.room, &s.far_count, v);
    lowest = word < lowest ? word : lowest;
  }
  __syncthreads();
  return lowest;
}
// Returns the sum of all threads' tallies of a phase to every thread, and clears the tallies.
template <class T>
DEVICE tally sum_up(near_far<T> &s, answer<T> &found, tally &mine) {
  if (threadIdx.x == 0) s.phase = {};
  __syncthreads();
  atomicAdd_block(&s.phase.expanded, mine.expanded), atomicAdd_block(&s.phase.again, mine.again);
  add_to(&s.phase.relaxed, mine.relaxed);
  mine = {};
  __syncthreads();
  if (threadIdx.x == 0) found.relaxed += s.phase.relaxed;
  return s.phase;
}
// Turns words into keys; what is not below the threshold after an early end is not final.
template <class T>
DEVICE void finish(const request<T> &asked, answer<T> &found, bool early, T threshold) {
  const uint32_t count = extent(found, asked.net.n);
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    T &word = found.keys[member(found, i)];
    word = word == no_path<T>() || (early && word >= threshold) ? no_path<T>() : word >> 1;
  }
  if (threadIdx.x == 0 && early) found.cutoff = (threshold >> 1) - 1;
  __syncthreads();
}
template <class Sum, class T = typename Sum::key>
DEVICE void run_search(Sum, near_far<T> &s, const request<T> &asked, const tuning<T> &how, answer<T> &found) {
  if (threadIdx.x == 0) s.near_count[0] = s.near_count[1] = s.near_count[2] = s.far_count = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < asked.seeds; i += blockDim.x) {  // at distance 0, each once
    const uint32_t v = asked.seed[i];
    found.keys[v] = 0, touch(found, v);
    if (!push(s.near[0], near_capacity, &s.near_count[0], v) && !push(how.scratch, how.room, &s.far_count, v))
      atomicOr_block(&found.overflowed, 1u);
  }
  __syncthreads();
  T threshold = 0, lowest = 0, delta = how.delta;  // lowest: the least word in the far queue
  tally mine;
  bool early = false;
  for (uint32_t round = 0; lowest != no_path<T>() && !early;) {
    const uint32_t before = round;
    threshold = next_threshold<Sum>(lowest, delta, asked.cutoff, threshold);
    lowest = sift_far(s, how, found.keys, threshold, round);
    lowest = settle_near<Sum>(s, asked, how, found, mine, threshold, round, lowest);
    delta = next_delta<Sum>(how, delta, sum_up(s, found, mine), round - before);
    lowest = block_min(&s.lowest, lowest);
    early = found.touched && lowest != no_path<T>() && all_below(asked, found.keys, threshold, &s.unsettled);
    if (threadIdx.x == 0) found.rounds = round;
  }
  finish(asked, found, early, threshold);
}
// With 48 registers a thread a multiprocessor holds five blocks of 256 threads.
SOLVE_KERNEL(near_far_solve_u4, REGISTERS(48), near_far, uint32_t, integer<uint32_t>)
SOLVE_KERNEL(near_far_solve_u8, ANY_REGISTERS, near_far, uint64_t, integer<uint64_t>)
SOLVE_KERNEL(near_far_solve_f8, ANY_REGISTERS, near_far, uint64_t, real_keys)
