// Shortest paths from 32 sources at once, the tile engine. A block searches from a group of 32 sources, a warp visits
// one vertex at a time, and each lane is a source. The distances of a vertex from the 32 sources are one line of memory
// (device/line.cuh), [vertex][32]: 128 bytes of 32-bit keys, 256 of 64-bit keys. To relax an arc is to read its head's
// line and to take a minimum in each lane.
//
// It pays where the sources lie together, because a vertex that has changed for one source has then changed for most. A
// search works as in near_far.cu, with buckets of constant width, but a vertex has one time for all sources:
// - `due`, the time of its next visit, is its present distance from the group's middle source. By then the
//   distances from all 32 sources have arrived, and one visit serves them all, however far apart the sources are;
// - but `due` is at least the time of the visit that lowered the vertex, plus a quarter of the arc's weight. That gives
//   an order to corrections which run against the middle source's distances (between the sources, and behind them):
//   these then go on in the order of their own distances, four times as fast as others. Without an order, heavy arcs
//   would multiply them.
// Mean number of visits of a vertex (a few groups; after reductions; buckets of one median weight; sources in DFS
// order):
//                                                      lin37  alue7080  es10000  G103  I083
//   due at the smallest distance that has changed       14.2       6.5      5.1   4.0   2.3
//   due at the middle's distance alone                  10.1       2.1      1.2  10.9    78
//   both, as here                                        8.1       2.0      1.3   2.3   4.6
//   the first of these, sources in the graph's order    14.8      12.5     12.8  11.4   8.6
// The sources come in the order of a walk through the minimum spanning tree of their distances
// (steiner_kmb/terminal_rows.py).
// On one core (Zen 3, AVX2) all searches of mode kmb, with everything about them, take 0.17, 0.48, 1.5, 2.2 and 8.2 s;
// with one source at a time (near_far.cu) lin37 takes 0.43, alue7080 4.4, es10000 42, and G103 25 s.
//
// Invariants. `due` is `no_path` where nothing waits; else the vertex stands in the near queue if it is due before
// the threshold, and in the far queue if not. A vertex enters the near queue when its time falls below the threshold,
// once until it is visited, so n entries are enough; a flag for each vertex keeps the far queue to n entries too. A
// visit takes `due` first and reads the line after it; a thread that lowers a line does so before it looks at `due`. So
// no improvement is missed. By the detour through the middle source m, a vertex that source s has just improved is due
// at most at d(s) + d(m, s). So with nothing due before `lowest`, and all sources closer to the middle than `spread` <
// lowest, everything below lowest - spread is final, which is where a search with a cutoff may end. Distances are the
// unique fixpoint, whatever the order of visits, block size or device. The published search ends at the last terminal;
// since 98 to 100 % of all vertices are settled by then, that has no code here.
//
// Memory of a block: the lines; `due`; two near queues, the far queue and its flags: n (33 T + 16) bytes for keys of T
// bytes. With one block per group a GPU gets only 74 (alue7080) to 313 (es10000) groups, so some multiprocessors idle
// at the end. One worklist of (group, vertex) for the whole grid would fill them all. But that needs barriers of the
// whole grid, all groups in the same bucket, and the table of all groups in memory (4 k n bytes: 1.8 GB for I083),
// while a block's 4 to 20 MB, of which a bucket touches some 100 KB, stay in the caches. On a CPU a block is one
// thread, and groups share nothing.
//
// Memory traffic of a visit of a vertex with d arcs: 2 + 2 d lines.
#include "device/line.cuh"
#include "paths/distances.cuh"
#include "paths/graph.cuh"

constexpr uint32_t group_size = 32;
constexpr uint32_t ahead = 2;  // lines are prefetched so many entries of the near queue in advance

// What a block works in: n lines, n times, two near queues of n entries, a far queue, its flags.
template <class T>
struct workplace {
  T *lines, *due;
  uint32_t *near, *far, *in_far;
};
// What is wanted: `rows` (sources, columns), the distances from each source to each `vertex`, `no_path` beyond the
// cutoff. `work` (groups, 2): arcs relaxed, summed over the sources, and dependent steps.
template <class T>
struct row_box {
  uint32_t columns;
  const uint32_t *vertex;
  T *rows;
  uint64_t *work;
};
// A group's search: what is asked, and what its threads share. The counts of the near queues rotate, so that one
// barrier a round is enough.
template <class T>
struct group_search {
  uint32_t n, sources, near_count[3], far_count;
  const uint32_t *source, *offsets;
  const T *arcs;
  T lowest, threshold;
  uint64_t relaxed, rounds;
};

template <class T>
DEVICE const T *from_middle(const group_search<T> &s, const workplace<T> &own, uint32_t v) {
  return own.lines + group_size * (size_t)v + s.sources / 2;
}
// By one thread: queues v, whose line has been lowered, for a visit no earlier than `time`. Returns when it is due if v
// went to the far queue, else `no_path`.
template <class T>
DEVICE T await(group_search<T> &s, const workplace<T> &own, uint32_t v, T time, uint32_t round) {
  const T middle = peek(from_middle(s, own, v)), when = middle > time ? middle : time;
  fence_block();
  const T old = atomicMin_block(&own.due[v], when);
  if (when >= old) return no_path<T>();
  if (when >= s.threshold) {
    if (!atomicOr_block(&own.in_far[v], 1u)) push(own.far, s.n, &s.far_count, v);
    return when;
  }
  if (old >= s.threshold) push(own.near + (round + 1) % 2 * (size_t)s.n, s.n, &s.near_count[(round + 1) % 3], v);
  return no_path<T>();
}
// Prefetches the lines for an entry that follows the i-th.
template <class T>
DEVICE void fetch_early(const group_search<T> &s, const workplace<T> &own, const uint32_t *current, uint32_t i,
                        uint32_t waiting) {
  if (!one_thread_blocks || i + ahead >= waiting) return;
  const uint32_t u = current[i + ahead];
  for (uint32_t a = s.offsets[u]; a < s.offsets[u + 1]; a++)
    for (uint32_t part = 0; part < group_size * sizeof(T); part += 64)
      prefetch((const char *)(own.lines + group_size * (size_t)s.arcs[2 * (size_t)a]) + part);
}
// By a group (device/group.cuh): visits a vertex, that is relaxes its arcs for all sources. Returns the least time of
// what went to the far queue.
template <class T>
DEVICE T visit(group_search<T> &s, const workplace<T> &own, uint32_t u, uint32_t round, uint64_t &relaxed) {
  T time = 0, lowest = no_path<T>();
  if (group_leader()) time = atomicOr_block(&own.due[u], no_path<T>());
  time = from_leader(time);
  group_sync();  // a shuffle orders no memory: the leader's exchange of `due` comes before any lane reads the line
  fence_block();
  const line<T> here = load_line(own.lines + group_size * (size_t)u);
  const uint32_t begin = s.offsets[u], end = s.offsets[u + 1];
  relaxed += end - begin;
  for (uint32_t a = begin; a < end; a++) {
    const arc<T> out = arc_at(s.arcs, a);
    const uint32_t v = (uint32_t)out.end;
    if (!lower_line(own.lines + group_size * (size_t)v, here, out.weight)) continue;
    group_sync();  // nor does a vote: what each lane has lowered comes before the leader looks at `due`
    if (!group_leader()) continue;
    const T next = time + (out.weight >> 2);
    const T when = await(s, own, v, next < infinite<T>() ? next : infinite<T>(), round);
    lowest = when < lowest ? when : lowest;
  }
  return lowest;
}
// Does rounds until the near queue is empty. `round` becomes the number of the next round.
template <class T>
DEVICE T settle_near(group_search<T> &s, const workplace<T> &own, uint32_t &round, uint64_t &relaxed) {
  T lowest = no_path<T>();
  for (uint32_t waiting; (waiting = s.near_count[round % 3]) > 0; round++) {
    const uint32_t *current = own.near + round % 2 * (size_t)s.n;
    if (threadIdx.x == 0) s.near_count[(round + 2) % 3] = 0;
    for (uint32_t i = warp(); i < waiting; i += warps()) {
      fetch_early(s, own, current, i, waiting);
      const T when = visit(s, own, current[i], round, relaxed);
      lowest = when < lowest ? when : lowest;
    }
    __syncthreads();
  }
  return lowest;
}
// Passes over the far queue once, when the near queue is empty: drops what has been visited, moves what is due before
// the threshold, keeps the rest in place. Returns the least time that this thread kept.
template <class T>
DEVICE T sift_far(group_search<T> &s, const workplace<T> &own, uint32_t round) {
  const uint32_t waiting = s.far_count;
  T lowest = no_path<T>();
  __syncthreads();
  if (threadIdx.x == 0) s.far_count = 0;
  __syncthreads();
  for (uint32_t base = 0; base < waiting; base += blockDim.x) {
    const uint32_t i = base + threadIdx.x, v = i < waiting ? own.far[i] : 0;
    const T when = i < waiting ? own.due[v] : no_path<T>();
    __syncthreads();  // all of this stretch is read: what is kept may overwrite it
    if (i >= waiting) continue;
    if (when != no_path<T>() && when >= s.threshold) {
      push(own.far, s.n, &s.far_count, v);
      lowest = when < lowest ? when : lowest;
    } else {
      own.in_far[v] = 0;
      if (when < s.threshold) push(own.near + round % 2 * (size_t)s.n, s.n, &s.near_count[round % 3], v);
    }
  }
  __syncthreads();
  return lowest;
}
// Returns whether all distances up to the cutoff are final, if nothing is due before `lowest`.
template <class T>
DEVICE bool passed(const group_search<T> &s, const workplace<T> &own, T lowest, T cutoff) {
  T spread = 0;
  for (uint32_t k = 0; k < s.sources; k++) {
    const T middle = *from_middle(s, own, s.source[k]);
    spread = middle > spread ? middle : spread;
  }
  return spread < lowest && lowest - spread > cutoff;
}
// Begins a search: only the sources are reached, and they wait.
template <class T>
DEVICE void prepare(group_search<T> &s, const workplace<T> &own, T delta) {
  for (size_t i = threadIdx.x; i < group_size * (size_t)s.n; i += blockDim.x) own.lines[i] = infinite<T>();
  for (uint32_t v = threadIdx.x; v < s.n; v += blockDim.x) own.due[v] = no_path<T>(), own.in_far[v] = 0;
  if (threadIdx.x == 0) {
    s.near_count[0] = s.near_count[1] = s.near_count[2] = s.far_count = 0;
    s.threshold = delta, s.relaxed = 0;
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < s.sources; k += blockDim.x) own.lines[group_size * (size_t)s.source[k] + k] = 0;
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < s.sources; k += blockDim.x) await(s, own, s.source[k], (T)0, 0);
  __syncthreads();
}
template <class T>
DEVICE void search(group_search<T> &s, const workplace<T> &own, T delta, T cutoff) {
  prepare(s, own, delta);
  uint32_t round = 1;
  uint64_t relaxed = 0;
  for (T kept = infinite<T>();;) {
    const T pushed = settle_near(s, own, round, relaxed);
    const T lowest = block_min(&s.lowest, pushed < kept ? pushed : kept);
    if (lowest == no_path<T>() || passed(s, own, lowest, cutoff)) break;
    if (threadIdx.x == 0) s.threshold = lowest + delta;
    __syncthreads();
    kept = sift_far(s, own, round);
  }
  if (group_leader()) atomicAdd_block(&s.relaxed, relaxed);
  if (threadIdx.x == 0) s.rounds = round;
  __syncthreads();
}
// Writes the rows of a group, whose first source is number `first`.
template <class T>
DEVICE void deliver(const group_search<T> &s, const workplace<T> &own, T cutoff, uint32_t first,
                    const row_box<T> &out) {
  T *rows = out.rows + (size_t)first * out.columns;
  for (uint32_t column = threadIdx.x; column < out.columns; column += blockDim.x) {
    const T *from = own.lines + group_size * (size_t)out.vertex[column];
    for (uint32_t k = 0; k < s.sources; k++)
      rows[(size_t)k * out.columns + column] = from[k] > cutoff ? no_path<T>() : from[k];
  }
}
// Searches from all groups of 32 sources; the last group may have fewer. `delta` and `cutoff` are below infinite();
// `next` is 0 at first; `words` is (blocks, 33, n), `queues` (blocks, 4, n).
template <class T>
DEVICE void search_all(const graph<T> &net, uint32_t sources, const uint32_t *source, T delta, T cutoff, uint32_t *next,
                       T *words, uint32_t *queues, const row_box<T> &out) {
  __shared__ group_search<T> s;
  __shared__ uint32_t ticket;
  const uint32_t n = net.n;
  words += blockIdx.x * (group_size + 1) * (size_t)n, queues += blockIdx.x * 4 * (size_t)n;
  uint32_t *const far = queues + 2 * (size_t)n;
  const workplace<T> own = {words, words + group_size * (size_t)n, queues, far, far + n};
  for (uint32_t group; (size_t)group_size * (group = take_search(next, &ticket)) < sources;) {
    const uint32_t first = group_size * group;
    if (threadIdx.x == 0) {
      s.n = n, s.sources = sources - first < group_size ? sources - first : group_size;
      s.source = source + first, s.offsets = net.offsets, s.arcs = net.arcs;
    }
    __syncthreads();
    search(s, own, delta, cutoff);
    deliver(s, own, cutoff, first, out);
    if (threadIdx.x == 0) out.work[2 * group] = s.relaxed * s.sources, out.work[2 * group + 1] = s.rounds;
  }
}
#define TILE_KERNEL(name, T)                                                                                       \
  KERNEL name(graph<T> net, uint32_t sources, const uint32_t *source, T delta, T cutoff, uint32_t *next, T *words, \
              uint32_t *queues, row_box<T> out) {                                                                  \
    search_all(net, sources, source, delta, cutoff, next, words, queues, out);                                     \
  }                                                                                                                \
  EXPORT_KERNEL(name)
TILE_KERNEL(tile_search_u4, uint32_t)
TILE_KERNEL(tile_search_u8, uint64_t)
