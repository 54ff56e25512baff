// Shortest paths from W = 16, 32 or 64 sources at once through a contraction hierarchy: PHAST (Delling, Goldberg,
// Nowatzyk, Werneck, Journal of Parallel and Distributed Computing, 2013). The functions host/contraction.cpp and
// host/hierarchy.cpp make it on the host's cores. Its vertices are numbered from the top down, and every arc leads
// between a vertex and one with a smaller number. The distances of a vertex from the W sources of a group are a line of
// memory (device/line.cuh).
//
// 1. climb: from the sources up. There is no queue: a bitmap has the vertices that are reached, some 1 to 2 % of all,
//    and they are visited from the bottom to the top. Each lowers the lines of its heads for all sources.
// 2. sweep: all vertices from the top down, or only those above some targets. A line becomes the minimum over the
//    arcs from above. The bitmap tells which lines hold a value before, so that lines need no initial value, and each
//    is written once.
// 3. check: each vertex against the arcs of the graph that enter it. No arc may offer less, and some arc must offer just
//    the distance, but at the source. The first of those, in the order of the input, is the predecessor. With arcs of
//    weight 0 plateaus.cu says which arcs lead into a plateau.
// 4. rows: lines to rows, in the order of the columns that are asked for.
//
// Invariant of climb and sweep: a line is at least the distance, and every shortest path is as long as one that first
// ascends and then descends (hierarchy.cpp). So after the sweep all distances below infinite() are right; what is
// farther counts as unreached, as it does in Near-Far, and the check counts the arcs that lead from a reached vertex to
// an unreached one: then wider keys are needed.
//
// Under g++ a block is one thread, and the vertices are in depth-first order, which is an order for any sweep: `levels`
// is 1. On a GPU a level needs a barrier. Where levels are narrow, one block sweeps through many of them for its group;
// a wide one is a launch of its own, with several blocks for each group. Blocks are dealt to groups in turn.
//
// Memory traffic of a group: the sweep reads a line for each arc and writes one for each vertex. On New York (3.6 arcs a
// vertex) these are 4.6 n lines, most of which are in the caches in depth-first order.
#include "device/transpose.cuh"
#include "paths/distances.cuh"
#include "paths/graph.cuh"

constexpr uint32_t ahead = 12;  // arcs whose lines are prefetched; `down_arcs` has as many arcs more

// The arcs from each vertex up and to each vertex from above, as (other end, weight) pairs; and where levels begin. A
// sweep may be restricted to some vertices, those of `chosen` in ascending order: then levels and arcs down are theirs.
template <class T>
struct hierarchy {
  uint32_t n, levels;
  NULLABLE const uint32_t *chosen;
  const uint32_t *level, *up_offsets;
  const T *up_arcs;
  const uint32_t *down_offsets;
  const T *down_arcs;
};

// Groups of W sources (the last one repeats a source where there are fewer): `source` (groups, W), the bitmaps `marks`
// (groups, n / 32 rounded up), the distances `lines` (groups, n, W).
template <class T>
struct group_lines {
  uint32_t groups;
  const uint32_t *source;
  uint32_t *marks;
  T *lines;
};

DEVICE uint32_t bit_of(uint32_t v) { return 0x80000000u >> v % 32; }
DEVICE uint32_t words_of(uint32_t n) { return n / 32 + (n % 32 != 0); }
// Marks a vertex, and prepares its line if nobody has. The first lane of a group decides for all.
template <int W, class T>
DEVICE void mark(uint32_t *marks, T *lines, uint32_t v) {
  uint32_t old = 0;
  if (group_leader()) old = atomicOr_block(&marks[v / 32], bit_of(v));
  if (!(from_leader(old) & bit_of(v))) store_line(lines + W * (size_t)v, all_of<W>(infinite<T>()));
}
// Marks the heads of a vertex, or lowers their lines, or both.
template <int W, class T>
DEVICE void climb_from(const hierarchy<T> &h, uint32_t v, bool marking, bool lowering, uint32_t *marks, T *lines) {
  const line<T, W> here = load_line<W>(lines + W * (size_t)v);
  for (uint32_t a = h.up_offsets[v]; a < h.up_offsets[v + 1]; a++) {
    const arc<T> up = arc_at(h.up_arcs, a);
    if (marking) mark<W>(marks, lines, (uint32_t)up.end);
    if (lowering) lower_line(lines + W * (size_t)up.end, here, up.weight);
  }
}
// Climbs from the marked vertices of a word of the bitmap between `begin` and `end`, the last one first.
template <int W, class T>
DEVICE void climb_from_word(const hierarchy<T> &h, uint32_t word, uint32_t begin, uint32_t end, bool marking,
                            bool lowering, uint32_t *marks, T *lines) {
  const uint32_t first = 32 * word, behind = end - first < 32 ? 32 - (end - first) : 0;
  uint32_t left = ~0u << behind & ~0u >> (begin > first ? begin - first : 0);
  for (uint32_t bits; (bits = peek(&marks[word]) & left) != 0;) {
    const int bit = lowest(bits);
    left = left & ~0u << bit << 1;
    climb_from<W>(h, first + 31 - bit, marking, lowering, marks, lines);
  }
}
// One thread marks and lowers a vertex after the other. Several mark the heads of a level, and lower them behind a
// barrier; the next level may be marked at once, but its lines are read behind the next barrier.
template <int W, class T>
DEVICE void climb(const hierarchy<T> &h, const uint32_t *source, uint32_t *marks, T *lines) {
  for (uint32_t i = threadIdx.x; i < words_of(h.n); i += blockDim.x) marks[i] = 0;
  __syncthreads();
  for (uint32_t k = warp(); k < W; k += warps()) mark<W>(marks, lines, source[k]);
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < W; k += blockDim.x) lines[W * (size_t)source[k] + k] = 0;
  __syncthreads();
  for (uint32_t level = h.levels; level-- > 0;) {
    const uint32_t begin = h.level[level], end = h.level[level + 1], last = (end - 1) / 32;
    for (int pass = 0; pass < (one_thread_blocks ? 1 : 2); pass++) {
      for (uint32_t i = warp(); i <= last - begin / 32; i += warps())
        climb_from_word<W>(h, last - i, begin, end, pass == 0, one_thread_blocks || pass == 1, marks, lines);
      if (pass == 0) __syncthreads();
    }
  }
}
// Sweeps over the vertices begin, begin + step, ... below `end`, or over those with these numbers in `chosen`. Their
// lines need none of each other.
template <int W, class T>
DEVICE void sweep(const hierarchy<T> &h, const uint32_t *marks, T *lines, uint32_t begin, uint32_t end, uint32_t step) {
  for (uint32_t i = begin; i < end; i += step) {
    const uint32_t v = h.chosen ? h.chosen[i] : i;
    line<T, W> best = all_of<W>(infinite<T>());
    if (marks[v / 32] & bit_of(v)) best = read_line<W>(lines + W * (size_t)v);
    for (uint32_t a = h.down_offsets[i]; a < h.down_offsets[i + 1]; a++) {
      for (uint32_t byte = 0; one_thread_blocks && byte < W * sizeof(T); byte += 64)
        prefetch((const char *)(lines + W * (size_t)h.down_arcs[2 * (size_t)(a + ahead)]) + byte);
      const arc<T> down = arc_at(h.down_arcs, a);
      const line<T, W> x = read_line<W>(lines + W * (size_t)down.end);
      UNROLL for (int k = 0; k < x.parts; k++) {
        const auto offer = x.part[k] + down.weight;
        best.part[k] = offer < best.part[k] ? offer : best.part[k];
      }
    }
    store_line(lines + W * (size_t)v, best);
  }
}
// What is found wrong, for each source: as in paths.cuh.
template <class T, int W>
struct tally {
  line<T, W> wrong = all_of<W>((T)0), cut = wrong, roots = wrong;
};
// Checks a vertex, and returns its predecessors, all ones where there is none. `cutoff` is below infinite().
template <int W, class T>
DEVICE line<T, W> check(const graph<T> &net, uint32_t v, T cutoff, const T *lines, tally<T, W> &found) {
  const line<T, W> here = read_line<W>(lines + W * (size_t)v), nothing = all_of<W>((T)0), one = all_of<W>((T)1);
  const line<T, W> absent = all_of<W>(no_path<T>());
  line<T, W> before = absent, least = absent, nearest = absent;
  for (uint32_t a = net.in_offsets[v + 1]; a-- > net.in_offsets[v];) {
    const arc<T> in = arc_at(net.in_arcs, a);
    const line<T, W> x = read_line<W>(lines + W * (size_t)in.end);
    const line<T, W> name = all_of<W>((T)net.order[in.end]);
    UNROLL for (int k = 0; k < x.parts; k++) {
      const auto sum = x.part[k] + in.weight;
      before.part[k] = where((sum == here.part[k]) & (x.part[k] < here.part[k]), name.part[k], before.part[k]);
      least.part[k] = sum < least.part[k] ? sum : least.part[k];
      nearest.part[k] = x.part[k] < nearest.part[k] ? x.part[k] : nearest.part[k];
    }
  }
  UNROLL for (int k = 0; k < here.parts; k++) {
    const auto late = here.part[k] >= infinite<T>();
    const auto root = (here.part[k] < infinite<T>()) & (before.part[k] == absent.part[k]);
    found.wrong.part[k] += where(least.part[k] < here.part[k], one.part[k], nothing.part[k]);
    found.wrong.part[k] += where(root & (here.part[k] != nothing.part[k]), one.part[k], nothing.part[k]);
    found.roots.part[k] += where(root, one.part[k], nothing.part[k]);
    found.cut.part[k] += where(late & (nearest.part[k] < infinite<T>()), one.part[k], nothing.part[k]);
    before.part[k] = where(here.part[k] > cutoff, absent.part[k], before.part[k]);
  }
  return before;
}
// Returns whether nothing about a vertex is to be reported, because from every source the least offer to it is just
// its distance. False means that `check` must look, for example at a vertex that an arc of weight 0 enters: what that
// arc offers may derive from the vertex itself.
template <int W, class T>
DEVICE bool surely_right(const graph<T> &net, uint32_t v, const T *lines) {
  const line<T, W> here = read_line<W>(lines + W * (size_t)v), nothing = all_of<W>((T)0), one = all_of<W>((T)1);
  line<T, W> least = all_of<W>(no_path<T>()), suspect;
  for (uint32_t a = net.in_offsets[v]; a < net.in_offsets[v + 1]; a++) {
    const arc<T> in = arc_at(net.in_arcs, a);
    if (!in.weight) return false;
    if (one_thread_blocks && a + ahead < net.in_offsets[net.n])
      for (uint32_t byte = 0; byte < W * sizeof(T); byte += 64)
        prefetch((const char *)(lines + W * (size_t)net.in_arcs[2 * (size_t)(a + ahead)]) + byte);
    const line<T, W> x = read_line<W>(lines + W * (size_t)in.end);
    UNROLL for (int k = 0; k < x.parts; k++) {
      const auto sum = x.part[k] + in.weight;
      least.part[k] = sum < least.part[k] ? sum : least.part[k];
    }
  }
  UNROLL for (int k = 0; k < here.parts; k++) suspect.part[k] =
      where((least.part[k] != here.part[k]) | (here.part[k] >= infinite<T>()), one.part[k], nothing.part[k]);
  return !any_value(suspect);
}
// Adds up what was found wrong, `counts` (sources, 3): wrong, cut, roots.
template <class T, int W>
DEVICE void report(const tally<T, W> &found, uint32_t first, uint32_t sources, uint32_t *counts) {
  const auto add = [=](int which) {
    return [=](uint32_t k, T value) {
      if (value && first + k < sources) atomicAdd(&counts[3 * (size_t)(first + k) + which], (uint32_t)value);
    };
  };
  each_value(found.wrong, add(0)), each_value(found.cut, add(1)), each_value(found.roots, add(2));
}
// The kernels. Block b works for group b % groups, and is number b / groups of its blocks.
// phast_climb_*: one block a group. phast_sweep_*: levels from `top` to `end`, one level if a group has several blocks.
// phast_check_*: `before` (groups, n, W) becomes the predecessors, as positions in the input. phast_rows_*: what is
// larger than `most` becomes all ones; `rows` (sources, columns).
template <int W, class T>
DEVICE void sweep_levels(const hierarchy<T> &h, const group_lines<T> &all, uint32_t top, uint32_t end) {
  const uint32_t group = blockIdx.x % all.groups, own = blockIdx.x / all.groups, blocks = gridDim.x / all.groups;
  const uint32_t *marks = all.marks + group * (size_t)words_of(h.n);
  T *lines = all.lines + group * (size_t)h.n * W;
  for (uint32_t level = top; level < end; level++) {
    sweep<W>(h, marks, lines, h.level[level] + own * warps() + warp(), h.level[level + 1], blocks * warps());
    __syncthreads();
  }
}
template <int W, class T>
DEVICE void check_all(const graph<T> &net, const group_lines<T> &all, uint32_t sources, T cutoff, T *before,
                      uint32_t *counts) {
  const uint32_t group = blockIdx.x % all.groups, own = blockIdx.x / all.groups, blocks = gridDim.x / all.groups;
  const size_t first = group * (size_t)net.n * W;
  tally<T, W> found;
  for (uint32_t v = own * warps() + warp(); v < net.n; v += blocks * warps()) {
    if (!before && surely_right<W>(net, v, all.lines + first)) continue;
    const line<T, W> from = check<W>(net, v, cutoff, all.lines + first, found);
    if (before) store_line(before + first + W * (size_t)v, from);
  }
  report(found, W * group, sources, counts);
}
// `own` and `blocks`: as in the other kernels. Under g++ each block has a stretch of the columns.
template <int W, class T, class Out>
DEVICE void write_rows(uint32_t n, uint32_t groups, uint32_t sources, uint32_t columns, T most, const uint32_t *vertex,
                       const T *lines, Out *rows) {
  const uint32_t group = blockIdx.x % groups, own = blockIdx.x / groups, blocks = gridDim.x / groups, first = W * group;
  const uint32_t here = sources - first < W ? sources - first : W;
  const T *from = lines + group * (size_t)n * W;
  Out *to = rows + first * (size_t)columns;
  const uint32_t begin = (uint32_t)((uint64_t)columns * own / blocks);
  const uint32_t end = (uint32_t)((uint64_t)columns * (own + 1) / blocks);
  write_columns<W>(from, vertex, begin + threadIdx.x, end, blockDim.x, here, (size_t)columns, most, to);
}
#define PHAST_KERNELS(T, code, W)                                                                                   \
  KERNEL phast_climb_##code##_##W(hierarchy<T> h, group_lines<T> all) {                                             \
    const size_t group = blockIdx.x;                                                                                \
    climb<W>(h, all.source + W * group, all.marks + group * words_of(h.n), all.lines + group * h.n * W);            \
  }                                                                                                                 \
  EXPORT_KERNEL(phast_climb_##code##_##W)                                                                           \
  KERNEL phast_sweep_##code##_##W(hierarchy<T> h, group_lines<T> all, uint32_t top, uint32_t end) {                 \
    sweep_levels<W>(h, all, top, end);                                                                              \
  }                                                                                                                 \
  EXPORT_KERNEL(phast_sweep_##code##_##W)                                                                           \
  KERNEL phast_check_##code##_##W(graph<T> net, group_lines<T> all, uint32_t sources, T cutoff, NULLABLE T *before, \
                                  uint32_t *counts) {                                                               \
    check_all<W>(net, all, sources, cutoff, before, counts);                                                        \
  }                                                                                                                 \
  EXPORT_KERNEL(phast_check_##code##_##W)                                                                           \
  KERNEL phast_rows_##code##_##W(uint32_t n, uint32_t groups, uint32_t sources, uint32_t columns, T most,           \
                                 const uint32_t *vertex, const T *lines, T *rows) {                                 \
    write_rows<W>(n, groups, sources, columns, most, vertex, lines, rows);                                          \
  }                                                                                                                 \
  EXPORT_KERNEL(phast_rows_##code##_##W)                                                                            \
  KERNEL phast_trees_##code##_##W(uint32_t n, uint32_t groups, uint32_t sources, uint32_t columns,                  \
                                  const uint32_t *vertex, const T *before, uint32_t *rows) {                        \
    write_rows<W>(n, groups, sources, columns, no_path<T>(), vertex, before, rows);                                 \
  }                                                                                                                 \
  EXPORT_KERNEL(phast_trees_##code##_##W)
PHAST_KERNELS(uint32_t, u4, 16)
PHAST_KERNELS(uint32_t, u4, 32)
PHAST_KERNELS(uint32_t, u4, 64)
PHAST_KERNELS(uint64_t, u8, 16)
PHAST_KERNELS(uint64_t, u8, 32)
