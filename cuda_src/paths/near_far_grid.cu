// Near-Far, the grid engine: all blocks of a launch work on one search. It is for power-law graphs, whose frontiers of
// many thousand vertices keep a whole GPU busy, and for searches that overflow a block's queues. near_far.cu explains
// the algorithm and the word of a vertex. Here the near queues lie in global memory and hold n entries each: no vertex
// waits in a queue twice, so they cannot overflow, and neither can the far queue.
//
// A launch is one step: a round of relaxations if the near queue holds anything, else a pass over the far queue that
// moves the threshold. Every block tells from `progress`, as the previous launch left it, which of the two to do and at
// what threshold. So the host starts many launches in a row, and reads back once whether the search is over (launches
// after the end return at once). Counters come in threes and rotate: a launch reads one, adds to the next, and clears
// the third.
//
// A round shares arcs, not vertices: a block takes as many vertices as it has threads, adds up their degrees, and each
// thread finds the tail of every blockDim-th arc by bisection. A vertex of more arcs than `hub_degree` is put on a list
// that the whole grid works on in the next round.
//
// Launches: R-MAT scale 20 at delta 8 takes some 100. Memory traffic: as near_far.cu, and 4 bytes for a queue's entry.
#include "paths/near_far.cuh"
#include "paths/solve.cuh"

constexpr uint32_t widest = 1024;  // threads of a block at most

// The state of a search between launches. Members with [3] rotate: the first six with every launch, the next six with
// every pass over the far queue.
struct progress {
  uint64_t near_count[3], hub_count[3], passes[3], threshold[3], delta[3], done[3];
  uint64_t far_count[3], lowest[3], expanded[3], again[3], relaxed[3], rounds[3];
  uint64_t all_relaxed, all_rounds, cutoff;
};
// Queues, two of each that take turns: `near` and `far` are (2, n), the others (2, hub_room). A vertex of more arcs
// than `hub_degree` waits in `hub`, with the word at which it is to be expanded.
template <class T>
struct queues {
  uint32_t *near, *far, *hub;
  T *hub_word;
  uint32_t hub_room, hub_degree;
};
// What the threads of a block share: the arcs of some vertices of the near queue, and what the block adds to
// `progress`.
template <class T>
struct block_state {
  uint32_t sums[widest], base[widest], flag;
  T word[widest], lowest;
  tally phase;
};

// Appends x to a queue that cannot be full.
DEVICE void append(uint32_t *items, uint64_t *count, uint32_t x) { items[atomicAdd(count, (uint64_t)1)] = x; }

// Relaxes one arc. Returns the least of `lowest` and of the word that it sent to the far queue.
template <class Sum, class T = typename Sum::key>
DEVICE T offer(const request<T> &asked, const queues<T> &q, progress &p, T *words, uint32_t step, T word, uint32_t a,
               T lowest, tally &mine) {
  const uint32_t now = step % 3, then = (step + 1) % 3, n = asked.net.n;
  const T threshold = (T)p.threshold[now];
  const arc<T> next = arc_at(asked.net.arcs, a);
  const uint32_t v = (uint32_t)next.end;
  if (beyond(Sum(), word >> 1, next.weight, asked.cutoff)) return lowest;
  const T candidate = plus(Sum(), word >> 1, next.weight) << 1;
  if ((candidate | 1) >= peek(&words[v])) return lowest;
  const T old = atomicMin(&words[v], candidate);
  if (candidate >= old) return lowest;
  const bool near = candidate < threshold;
  const bool waits = !(old & 1) && (old < threshold) == near;  // in that very queue already
  mine.again += (old & 1) && old != no_path<T>();
  if (near && !waits) append(q.near + (size_t)((step + 1) % 2) * n, &p.near_count[then], v);
  if (!near && !waits) append(q.far + (size_t)(p.passes[now] % 2) * n, &p.far_count[p.passes[now] % 3], v);
  return near || lowest < candidate ? lowest : candidate;
}
// Relaxes the arcs of the vertices that this block's threads hold, one each, shared among all threads. `degree` and
// `begin`: the number of this thread's arcs, and the first one.
template <class Sum, class T = typename Sum::key>
DEVICE T share_arcs(block_state<T> &b, const request<T> &asked, const queues<T> &q, progress &p, T *words,
                    uint32_t step, uint32_t degree, uint32_t begin, T word, T lowest, tally &mine) {
  b.sums[threadIdx.x] = degree, b.word[threadIdx.x] = word;
  __syncthreads();
  for (uint32_t back = 1; back < blockDim.x; back *= 2) {  // running sums
    const uint32_t x = threadIdx.x >= back ? b.sums[threadIdx.x - back] : 0;
    __syncthreads();
    b.sums[threadIdx.x] += x;
    __syncthreads();
  }
  b.base[threadIdx.x] = begin - (b.sums[threadIdx.x] - degree);
  __syncthreads();
  const uint32_t total = b.sums[blockDim.x - 1];
  for (uint32_t e = threadIdx.x; e < total; e += blockDim.x) {
    uint32_t owner = 0;
    for (uint32_t left = blockDim.x, step_by; (step_by = left / 2) > 0; left -= step_by)
      owner += b.sums[owner + step_by - 1] <= e ? step_by : 0;
    lowest = offer<Sum>(asked, q, p, words, step, b.word[owner], b.base[owner] + e, lowest, mine);
  }
  __syncthreads();
  return lowest;
}
// Does a round: relaxes the arcs of the near queue's vertices, and of the hubs that the previous round put aside.
template <class Sum, class T = typename Sum::key>
DEVICE T relax_round(block_state<T> &b, const request<T> &asked, const queues<T> &q, progress &p, T *words,
                     uint32_t step, tally &mine) {
  const uint32_t now = step % 3, then = (step + 1) % 3, all = gridDim.x * blockDim.x;
  const uint32_t *near = q.near + (size_t)(step % 2) * asked.net.n;
  const uint32_t waiting = (uint32_t)p.near_count[now], hubs = (uint32_t)p.hub_count[now];
  T lowest = no_path<T>();
  for (uint32_t base = blockIdx.x * blockDim.x; base < waiting; base += all) {
    const uint32_t i = base + threadIdx.x, u = i < waiting ? near[i] : 0;
    const uint32_t begin = asked.net.offsets[u], degree = asked.net.offsets[u + 1] - begin;
    const T word = i < waiting ? atomicOr(&words[u], (T)1) : (T)1;
    const bool fresh = !(word & 1);
    mine.expanded += fresh, mine.relaxed += fresh ? degree : 0;
    if (fresh && degree > q.hub_degree) {
      const uint32_t place = (uint32_t)atomicAdd(&p.hub_count[then], (uint64_t)1) + (step + 1) % 2 * q.hub_room;
      q.hub[place] = u, q.hub_word[place] = word;
    }
    const uint32_t shared = fresh && degree <= q.hub_degree ? degree : 0;
    lowest = share_arcs<Sum>(b, asked, q, p, words, step, shared, begin, word, lowest, mine);
  }
  for (uint32_t i = 0; i < hubs; i++) {
    const uint32_t u = q.hub[step % 2 * q.hub_room + i], end = asked.net.offsets[u + 1];
    const T word = q.hub_word[step % 2 * q.hub_room + i];
    for (uint32_t a = asked.net.offsets[u] + blockIdx.x * blockDim.x + threadIdx.x; a < end; a += all)
      lowest = offer<Sum>(asked, q, p, words, step, word, a, lowest, mine);
  }
  return lowest;
}
// Passes over the far queue once: drops settled vertices, moves those below the threshold, copies the rest.
template <class T>
DEVICE T sift(const request<T> &asked, const queues<T> &q, progress &p, const T *words, uint32_t step, T threshold) {
  const uint64_t passes = p.passes[step % 3];
  const uint32_t *from = q.far + (size_t)(passes % 2) * asked.net.n;
  uint32_t *to = q.far + (size_t)((passes + 1) % 2) * asked.net.n;
  T lowest = no_path<T>();
  for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < p.far_count[passes % 3]; i += gridDim.x * blockDim.x) {
    const uint32_t v = from[i];
    const T word = words[v];
    if (word & 1) continue;
    if (word < threshold) {
      append(q.near + (size_t)((step + 1) % 2) * asked.net.n, &p.near_count[(step + 1) % 3], v);
    } else {
      append(to, &p.far_count[(passes + 1) % 3], v);
      lowest = word < lowest ? word : lowest;
    }
  }
  return lowest;
}
// Ends a phase, by one thread: sets the state of the next launch, and clears the counters of the pass after it.
template <class T>
DEVICE void turn(progress &p, uint32_t step, bool over, bool early, T delta, T threshold, T cutoff) {
  const uint32_t then = (step + 1) % 3, side = p.passes[step % 3] % 3, after = (side + 2) % 3;
  p.all_relaxed += p.relaxed[side], p.all_rounds += p.rounds[side];
  p.passes[then] = p.passes[step % 3] + 1;
  p.delta[then] = delta, p.threshold[then] = threshold, p.done[then] = over || early;
  if (over || early) p.cutoff = cutoff;
  p.lowest[after] = no_path<T>();
  p.far_count[after] = p.expanded[after] = p.again[after] = p.relaxed[after] = p.rounds[after] = 0;
}
// Adds what the block's threads have counted to the counters of a phase.
template <class T>
DEVICE void report(block_state<T> &b, progress &p, uint32_t phase, T lowest, const tally &mine) {
  if (threadIdx.x == 0) b.phase = {};
  lowest = block_min(&b.lowest, lowest);
  atomicAdd_block(&b.phase.expanded, mine.expanded), atomicAdd_block(&b.phase.again, mine.again);
  add_to(&b.phase.relaxed, mine.relaxed);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (lowest != no_path<T>()) atomicMin(&p.lowest[phase], (uint64_t)lowest);
  atomicAdd(&p.expanded[phase], (uint64_t)b.phase.expanded), atomicAdd(&p.again[phase], (uint64_t)b.phase.again);
  atomicAdd(&p.relaxed[phase], b.phase.relaxed);
}
template <class Sum, class T = typename Sum::key>
DEVICE void take_step(const request<T> &asked, const tuning<T> &how, const queues<T> &q, uint32_t step, T *words,
                      progress &p) {
  __shared__ block_state<T> b;
  const uint32_t now = step % 3, then = (step + 1) % 3, side = p.passes[now] % 3;
  const bool first = blockIdx.x == 0 && threadIdx.x == 0;
  const T threshold = (T)p.threshold[now], delta = (T)p.delta[now];
  if (first) {
    p.near_count[(step + 2) % 3] = p.hub_count[(step + 2) % 3] = 0;
    p.passes[then] = p.passes[now], p.threshold[then] = threshold, p.delta[then] = delta, p.done[then] = p.done[now];
  }
  if (p.done[now]) return;
  tally mine;
  T lowest;
  uint32_t phase = side;  // the counters that this launch adds to
  if (p.near_count[now] + p.hub_count[now]) {
    lowest = relax_round<Sum>(b, asked, q, p, words, step, mine);
    if (first) p.rounds[phase]++;
  } else {
    const bool over = (T)p.lowest[side] == no_path<T>();
    const bool early = !over && p.passes[now] && all_below(asked, words, threshold, &b.flag);
    const tally phase_counts = {(uint32_t)p.expanded[side], (uint32_t)p.again[side], p.relaxed[side]};
    const T wide = p.passes[now] ? next_delta<Sum>(how, delta, phase_counts, p.rounds[side]) : delta;
    const T next = next_threshold<Sum>((T)p.lowest[side], wide, asked.cutoff, threshold);
    lowest = over || early ? no_path<T>() : sift(asked, q, p, words, step, next);
    if (first) turn(p, step, over, early, wide, next, early ? (T)((threshold >> 1) - 1) : asked.cutoff);
    phase = (side + 1) % 3;
  }
  report(b, p, phase, lowest, mine);
}

// Begins a search from distinct seeds, with all words unreached: the first pass finds the seeds in the far queue.
template <class T>
DEVICE void begin_search(uint32_t seeds, const uint32_t *seed, T delta, uint32_t *far, T *words, progress &p) {
  const uint32_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (uint32_t i = first; i < seeds; i += step) far[i] = seed[i], words[seed[i]] = 0;
  if (first) return;
  p = {};
  p.lowest[1] = p.lowest[2] = no_path<T>();
  p.far_count[0] = seeds, p.delta[0] = delta;
}
// Turns words into keys; what lies beyond the cutoff is not final.
template <class T>
DEVICE void finish_search(uint32_t n, T *words, const progress &p) {
  for (uint32_t v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
    words[v] = words[v] == no_path<T>() || words[v] >> 1 > (T)p.cutoff ? no_path<T>() : words[v] >> 1;
}
// An engine for solve.cuh that does not search, because its row of keys is filled already: solve.cuh makes the answers.
template <class T>
struct filled_row {};
template <class Sum, class T = typename Sum::key>
DEVICE void run_search(Sum, filled_row<T> &, const request<T> &, const tuning<T> &, answer<T> &found) {
  if (threadIdx.x == 0) found.touched = nullptr;
  __syncthreads();
}

// Writes a whole row of answers with all blocks. It can do so only where there are no plateaus.
template <class Sum, class T = typename Sum::key>
DEVICE void fill_row(const solved<T> &s, const graph<T> &net, const outbox<T> &out, uint32_t wanted) {
  const findings mine =
      write_row<Sum>(s, net, out, wanted, 0, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
  atomicAdd(&out.counts[0], mine.wrong), atomicAdd(&out.counts[1], mine.cut), atomicAdd(&out.counts[2], mine.roots);
}

// `state` is a `progress`, 39 words.
#define GRID_KERNELS(suffix, T, Sum)                                                                                  \
  KERNEL near_far_grid_begin_##suffix(uint32_t seeds, T delta, const uint32_t *seed, uint32_t *far, T *words,         \
                                      uint64_t *state) {                                                              \
    begin_search(seeds, seed, delta, far, words, *(progress *)state);                                                 \
  }                                                                                                                   \
  EXPORT_KERNEL(near_far_grid_begin_##suffix)                                                                         \
  KERNEL near_far_grid_step_##suffix(uint32_t step, uint32_t targets, T cutoff, const uint32_t *target, graph<T> net, \
                                     tuning<T> how, queues<T> waiting, T *words, uint64_t *state) {                   \
    const request<T> asked = {net, 0, nullptr, targets, target, cutoff};                                              \
    take_step<Sum>(asked, how, waiting, step, words, *(progress *)state);                                             \
  }                                                                                                                   \
  EXPORT_KERNEL(near_far_grid_step_##suffix)                                                                          \
  KERNEL near_far_grid_finish_##suffix(uint32_t n, T *words, const uint64_t *state) {                                 \
    finish_search(n, words, *(const progress *)state);                                                                \
  }                                                                                                                   \
  EXPORT_KERNEL(near_far_grid_finish_##suffix)                                                                        \
  KERNEL near_far_grid_row_##suffix(uint32_t wanted, T cutoff, const T *keys, graph<T> net, outbox<T> out) {          \
    fill_row<Sum>(solved<T>{net.in_offsets, net.in_arcs, keys, cutoff, nullptr}, net, out, wanted);                   \
  }                                                                                                                   \
  EXPORT_KERNEL(near_far_grid_row_##suffix)
GRID_KERNELS(u4, uint32_t, integer<uint32_t>)
GRID_KERNELS(u8, uint64_t, integer<uint64_t>)
GRID_KERNELS(f8, uint64_t, real_keys)
SOLVE_KERNELS(near_far_grid, filled_row)
