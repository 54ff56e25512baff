// From a search to its answers: rows of distances and predecessors, distances at targets, paths; all are checked
// (paths.cuh). A block takes one search after the other, and uses one row of keys for all of them, which stays in its
// caches.
//
// A search for a near target touches a small part of the graph, so its cost must not depend on the number of vertices:
// the row is all `no_path` between two searches, a search lists the vertices that it touches, and the check, the
// paths and the clearing go through that list. A search that wants whole rows goes through all vertices in order
// instead, which is faster there.
//
// A path is followed from its target back to the seed by predecessors: once for its length, and once to write it behind
// the paths written so far. If there is no room for it, `path_begin` says so, and the caller asks this query again.
//
// Memory traffic beside the search: for each arc two keys and the distance of its tail, for each vertex some five keys.
#pragma once
#include "paths/paths.cuh"

// What is wanted of a search; a search for whole rows never ends early.
constexpr uint32_t wants_distances = 1, wants_predecessors = 2, wants_targets = 4, wants_paths = 8;
constexpr uint32_t unchecked = 16;  // for benchmarks: distances without the check
constexpr uint32_t wants_rows = wants_distances | wants_predecessors;
// A search of a launch. Its seeds are seed[first_seed] to seed[end_seed - 1], its targets likewise; its i-th target is
// that of query first_query + i.
struct search {
  uint32_t first_seed, end_seed, first_target, end_target, first_query;
};
// The searches of a launch: `searches` (count, 5) holds a `search` each; `next` counts the searches taken, 0 at first.
struct batch {
  uint32_t count;
  const uint32_t *searches, *seed, *target;
  uint32_t *next;
};
// What the blocks work in, (blocks, n) each: a row of keys (all unreached between searches), a list of vertices, a row
// of hops (if there are plateaus).
template <class T>
struct workspace {
  T *keys;
  uint32_t *touched;
  NULLABLE uint32_t *hops;
};
// Where answers are written, with vertices as positions in the input. Pointers that are not wanted may be None.
template <class T>
struct outbox {
  NULLABLE T *distance;  // rows (searches, n)
  NULLABLE uint32_t *predecessor;  // rows (searches, n)
  NULLABLE T *target_distance;  // of each query
  NULLABLE uint64_t *path_begin;  // where its path begins in `path`, all ones if there was no room
  NULLABLE uint32_t *path_length;  // 0 if no path leads there
  NULLABLE uint32_t *path;
  NULLABLE uint64_t *path_used;  // entries of `path`
  uint64_t path_room;
  uint32_t *counts;  // (searches, 3), 0 at first: `findings`; cut is 0 after an early end
  uint32_t *overflowed;  // for each search: 1 if its queues were too small, so that it has no answer
  uint64_t *work;  // (searches, 2): arcs relaxed, dependent steps
};

template <class Sum, class T = typename Sum::key>
DEVICE void write_path(const solved<T> &s, const uint32_t *order, const outbox<T> &out, uint32_t query,
                       uint32_t target) {
  findings ignored;
  uint32_t length = 0;
  if (s.distance[target] != no_path<T>())
    for (uint32_t v = target; v != none; v = predecessor<Sum>(s, v, ignored)) length++;
  const uint64_t at = atomicAdd(out.path_used, (uint64_t)length);
  const bool fits = at + length <= out.path_room;
  out.path_begin[query] = fits ? at : ~(uint64_t)0;
  out.path_length[query] = length;
  for (uint32_t v = target; fits && length; v = predecessor<Sum>(s, v, ignored)) out.path[at + --length] = order[v];
}
constexpr uint32_t fetched_early = 128;  // entries of a row, whose places in memory are not in order

// Writes every step-th entry of a row from `begin` on, and returns what is wrong with them.
template <class Sum, class T = typename Sum::key>
DEVICE findings write_row(const solved<T> &s, const graph<T> &net, const outbox<T> &out, uint32_t wanted, size_t row,
                          uint32_t begin, uint32_t step) {
  findings mine;
  const uint32_t n = net.n, *order = net.order;
  for (uint32_t v = begin; v < n; v += step) {
    const uint32_t later = v + fetched_early * step;
    if (wanted & wants_distances && later < n) prefetch(&out.distance[row + order[later]]);
    const uint32_t before = wanted & unchecked ? none : predecessor<Sum>(s, v, mine), place = order[v];
    if (wanted & wants_distances) out.distance[row + place] = s.distance[v];
    if (wanted & wants_predecessors) out.predecessor[row + place] = before == none ? none : order[before];
  }
  return mine;
}
// Returns what is wrong with the vertices that a search touched; arcs that leave them must lead beyond the cutoff.
template <class Sum, class T = typename Sum::key>
DEVICE findings inspect(const solved<T> &s, const graph<T> &net, const answer<T> &found) {
  findings mine;
  for (uint32_t i = threadIdx.x; i < found.count; i += blockDim.x) {
    const uint32_t u = found.touched[i];
    const T here = s.distance[u];
    predecessor<Sum>(s, u, mine);
    for (uint32_t a = net.offsets[u]; here != no_path<T>() && a < net.offsets[u + 1]; a++)
      mine.wrong += s.distance[arc_at(net.arcs, a).end] == no_path<T>() &&
                    !beyond(Sum(), here, arc_at(net.arcs, a).weight, s.cutoff);
  }
  return mine;
}
// Delivers all that is wanted of a search that is over.
template <class Sum, class T = typename Sum::key>
DEVICE void deliver(const request<T> &asked, const answer<T> &found, const workspace<T> &own, uint32_t wanted,
                    uint32_t number, uint32_t first_query, const outbox<T> &out, uint32_t *changed) {
  const uint32_t n = asked.net.n;
  const solved<T> s = {asked.net.in_offsets, asked.net.in_arcs, own.keys, found.cutoff, own.hops};
  if (own.hops) count_hops<Sum>(s, found, n, asked.seeds, asked.seed, own.hops, changed);
  const findings mine = found.touched
                            ? inspect<Sum>(s, asked.net, found)
                            : write_row<Sum>(s, asked.net, out, wanted, (size_t)number * n, threadIdx.x, blockDim.x);
  atomicAdd(&out.counts[3 * number], mine.wrong), atomicAdd(&out.counts[3 * number + 2], mine.roots);
  if (found.cutoff == asked.cutoff) atomicAdd(&out.counts[3 * number + 1], mine.cut);
  for (uint32_t i = threadIdx.x; i < asked.targets; i += blockDim.x) {
    if (wanted & wants_targets) out.target_distance[first_query + i] = s.distance[asked.target[i]];
    if (wanted & wants_paths) write_path<Sum>(s, asked.net.order, out, first_query + i, asked.target[i]);
  }
}
// Solves all searches of a batch. `how.scratch` is (blocks, room).
template <class Engine, class Sum, class T = typename Sum::key>
DEVICE void solve_all(const batch all, uint32_t wanted, T cutoff, const graph<T> net, tuning<T> how, workspace<T> own,
                      const outbox<T> out) {
  __shared__ Engine engine;
  __shared__ answer<T> found;
  __shared__ uint32_t ticket, changed;
  const bool rows = wanted & wants_rows;
  how.scratch += (size_t)blockIdx.x * how.room;
  own.keys += (size_t)blockIdx.x * net.n, own.touched += rows ? 0 : (size_t)blockIdx.x * net.n;
  own.hops += own.hops ? (size_t)blockIdx.x * net.n : 0;
  for (uint32_t number; (number = take_search(all.next, &ticket)) < all.count;) {
    const search mine = ((const search *)all.searches)[number];
    const request<T> asked = {net,
                              mine.end_seed - mine.first_seed,
                              all.seed + mine.first_seed,
                              mine.end_target - mine.first_target,
                              all.target + mine.first_target,
                              cutoff};
    if (threadIdx.x == 0) begin(found, own.keys, rows ? nullptr : own.touched, cutoff);
    __syncthreads();
    run_search(Sum(), engine, asked, how, found);
    if (!found.overflowed) deliver<Sum>(asked, found, own, wanted, number, mine.first_query, out, &changed);
    if (threadIdx.x == 0)
      out.overflowed[number] = found.overflowed, out.work[2 * number] = found.relaxed,
      out.work[2 * number + 1] = found.rounds;
    __syncthreads();
    const uint32_t count = extent(found, net.n);
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) own.keys[member(found, i)] = no_path<T>();
  }
}
// The kernels FILE_solve_u4, FILE_solve_u8 and FILE_solve_f8 of an engine: keys of 32 and 64 bits, and those of
// doubles. `registers`: REGISTERS(most) or ANY_REGISTERS.
#define SOLVE_KERNEL(name, registers, Engine, T, Sum)                                                          \
  KERNEL registers name(batch asked, uint32_t wanted, T cutoff, graph<T> net, tuning<T> how, workspace<T> own, \
                        outbox<T> out) {                                                                       \
    solve_all<Engine<T>, Sum>(asked, wanted, cutoff, net, how, own, out);                                      \
  }                                                                                                            \
  EXPORT_KERNEL(name)
#define SOLVE_KERNELS(file, Engine)                                                 \
  SOLVE_KERNEL(file##_solve_u4, ANY_REGISTERS, Engine, uint32_t, integer<uint32_t>) \
  SOLVE_KERNEL(file##_solve_u8, ANY_REGISTERS, Engine, uint64_t, integer<uint64_t>) \
  SOLVE_KERNEL(file##_solve_f8, ANY_REGISTERS, Engine, uint64_t, real_keys)
