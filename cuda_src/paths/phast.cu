// Shortest paths from W = 16, 32 or 64 sources at once through a contraction hierarchy: PHAST (Delling, Goldberg,
// Nowatzyk, Werneck, Journal of Parallel and Distributed Computing, 2013). The functions host/contraction.cpp and
// host/hierarchy.cpp make it on the host's cores. Its vertices are numbered from the top down, and every arc leads
// between a vertex and one with a smaller number. The distances of a vertex from the W sources of a group are a line of
// memory (device/line.cuh).
//
// 1. mark: the ancestors of the sources in the elimination tree of the hierarchy, which are all that can be reached
//    upwards, some 1 % of all vertices. A bitmap has them, and their lines become infinite. The walk from a source ends
//    at the first vertex that is marked already.
// 2. climb: from the sources up. The arcs from an ancestor lower the lines of their heads, the lowest ancestor first. A
//    warp climbs from one source, up the tree, with its lanes over the arcs of a vertex, and works on the values of its
//    source alone. So no warp waits for another. Under g++ a thread climbs from all sources of a group at once, and
//    goes backwards through the bitmap.
// 3. sweep: all vertices from the top down, or only those above some targets. A line becomes the minimum over the
//    arcs from above. The bitmap tells which lines hold a value before, so that lines need no initial value, and each
//    is written once.
// 4. check: each vertex against the arcs of the graph that enter it. No arc may offer less, and some arc must offer just
//    the distance, but at the source. The first of those, in the order of the input, is the predecessor. With arcs of
//    weight 0 plateaus.cu says which arcs lead into a plateau.
// 5. rows: lines to rows, in the order of the columns that are asked for.
//
// Invariant of climb and sweep: a line is at least the distance, and every shortest path is as long as one that first
// ascends and then descends (hierarchy.cpp). So after the sweep all distances below infinite() are right; what is
// farther counts as unreached, as it does in Near-Far, and the check counts the arcs that lead from a reached vertex to
// an unreached one: then wider keys are needed.
//
// Under g++ a block is one thread, and the vertices are in depth-first order, which is an order for any sweep: they are
// one level of one part. On a GPU they are numbered by part (hierarchy.cpp): no arc joins two parts of a launch. A block
// sweeps the levels of a part for a group, with a barrier behind each. Blocks are dealt to groups in turn.
//
// Dependent steps (New York): of a mark at most 310, of a climb 410 vertices of up to two rounds of 32 arcs each, of the
// four launches of a sweep 170, 68, 53 and 43 levels.
//
// Memory traffic of a group: the sweep reads a line for each arc and writes one for each vertex. On New York (3.6 arcs a
// vertex) these are 4.6 n lines, most of which are in the caches in depth-first order, and by part.
#include "device/transpose.cuh"
#include "paths/distances.cuh"
#include "paths/graph.cuh"

constexpr uint32_t ahead = 12;  // arcs whose lines are prefetched; `down_arcs` has as many arcs more
// Arcs of a vertex whose lines are read at once. Behind its last arc, the first of them is read again, which changes
// no minimum.
constexpr uint32_t together = one_thread_blocks ? 1 : 4;

// The arcs from each vertex up and to each vertex from above, as (other end, weight) pairs; each vertex's parent in the
// elimination tree, `none` for roots; and where parts and levels begin. A sweep may be restricted to some vertices, those
// of `chosen` in ascending order: then parts, levels and arcs down are theirs.
template <class T>
struct hierarchy {
  uint32_t n;
  NULLABLE const uint32_t *chosen;
  const uint32_t *part, *level, *parent, *up_offsets;
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
// Marks the ancestors of the sources, with a thread for each source, and makes their lines infinite.
template <int W, class T>
DEVICE void mark(const hierarchy<T> &h, const uint32_t *source, uint32_t *marks, T *lines) {
  for (uint32_t i = threadIdx.x; i < words_of(h.n); i += blockDim.x) marks[i] = 0;
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < W; k += blockDim.x)
    for (uint32_t v = source[k]; v != none;) {
      const uint32_t above = h.parent[v];
      if (atomicOr_block(&marks[v / 32], bit_of(v)) & bit_of(v)) break;
      fill_line<W>(lines + W * (size_t)v, infinite<T>());
      v = above;
    }
}
// A vertex's parent, and where its arcs up begin and end.
struct step_up {
  uint32_t parent, begin, end;
};
template <class T>
DEVICE step_up step_from(const hierarchy<T> &h, uint32_t v) {
  return {h.parent[v], h.up_offsets[v], h.up_offsets[v + 1]};
}
// Climbs from one source, by a warp. `own` has the values of the source, at every W-th place.
template <int W, class T>
DEVICE void climb_from(const hierarchy<T> &h, uint32_t source, T *own) {
  if (group_leader()) own[W * (size_t)source] = 0;
  group_sync();
  step_up now = step_from(h, source);
  for (uint32_t v = source; v != none;) {
    const step_up next = step_from(h, now.parent != none ? now.parent : v);  // read beside the arcs of v
    const T here = own[W * (size_t)v];
    for (uint32_t a = now.begin + lane(); here < infinite<T>() && a < now.end; a += warp_size) {
      const arc<T> up = arc_at(h.up_arcs, a);
      T &to = own[W * (size_t)up.end];
      if (here + up.weight < to) to = here + up.weight;
    }
    group_sync();
    v = now.parent, now = next;
  }
}
// Climbs from all sources of a group, by one thread.
template <int W, class T>
DEVICE void climb_together(const hierarchy<T> &h, const uint32_t *source, const uint32_t *marks, T *lines) {
  for (uint32_t k = 0; k < W; k++) lines[W * (size_t)source[k] + k] = 0;
  for (uint32_t word = words_of(h.n); word-- > 0;)
    for (uint32_t bits = marks[word]; bits; bits &= bits - 1) {
      const uint32_t v = 32 * word + 31 - lowest(bits);
      const line<T, W> here = load_line<W>(lines + W * (size_t)v);
      for (uint32_t a = h.up_offsets[v]; a < h.up_offsets[v + 1]; a++) {
        const arc<T> up = arc_at(h.up_arcs, a);
        lower_line(lines + W * (size_t)up.end, here, up.weight);
      }
    }
}
// Sweeps over the vertices from `begin` to `end` - 1, or over those with these numbers in `chosen`, by a block. Their
// lines need none of each other. All groups of a warp share the arcs of a vertex where there are no more vertices than
// warps: those near the top have up to 60 arcs.
template <int W, class T>
DEVICE void sweep(const hierarchy<T> &h, const uint32_t *marks, T *lines, uint32_t begin, uint32_t end) {
  const uint32_t sharing = end - begin <= (uint32_t)warps() ? groups_a_warp<T, W> : 1,
                 own = wide_group<T, W>() % sharing;
  for (uint32_t i = begin + wide_group<T, W>() / sharing; i < end; i += wide_groups<T, W>() / sharing) {
    const uint32_t v = h.chosen ? h.chosen[i] : i, last = h.down_offsets[i + 1];
    wide_line<T, W> best = wide_of<W>(infinite<T>());
    if (!own && (marks[v / 32] & bit_of(v))) best = read_wide<W>(lines + W * (size_t)v);
    for (uint32_t a = h.down_offsets[i] + own * together; a < last; a += sharing * together) {
      for (uint32_t byte = 0; one_thread_blocks && byte < W * sizeof(T); byte += 64)
        prefetch((const char *)(lines + W * (size_t)h.down_arcs[2 * (size_t)(a + ahead)]) + byte);
      arc<T> down[together];
      wide_line<T, W> x[together];
      UNROLL for (uint32_t j = 0; j < together; j++) down[j] = arc_at(h.down_arcs, a + j < last ? a + j : a);
      UNROLL for (uint32_t j = 0; j < together; j++) x[j] = read_wide<W>(lines + W * (size_t)down[j].end);
      UNROLL for (uint32_t j = 0; j < together; j++) UNROLL for (int k = 0; k < best.parts; k++) {
        const auto offer = x[j].part[k] + down[j].weight;
        best.part[k] = offer < best.part[k] ? offer : best.part[k];
      }
    }
    if (sharing > 1) best = least_of_warp(best);
    if (!own) store_line(lines + W * (size_t)v, best);
  }
}
// What is found wrong, for each source: as in paths.cuh.
template <class T, int W>
struct tally {
  wide_line<T, W> wrong = wide_of<W>((T)0), cut = wrong, roots = wrong;
};
// Checks a vertex, and returns its predecessors, all ones where there is none. `cutoff` is below infinite().
template <int W, class T>
DEVICE wide_line<T, W> check(const graph<T> &net, uint32_t v, T cutoff, const T *lines, tally<T, W> &found) {
  const wide_line<T, W> here = read_wide<W>(lines + W * (size_t)v), nothing = wide_of<W>((T)0), one = wide_of<W>((T)1);
  const wide_line<T, W> absent = wide_of<W>(no_path<T>());
  wide_line<T, W> before = absent, least = absent, nearest = absent;
  for (uint32_t a = net.in_offsets[v + 1]; a-- > net.in_offsets[v];) {
    const arc<T> in = arc_at(net.in_arcs, a);
    const wide_line<T, W> x = read_wide<W>(lines + W * (size_t)in.end);
    const wide_line<T, W> name = wide_of<W>((T)net.order[in.end]);
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
  const wide_line<T, W> here = read_wide<W>(lines + W * (size_t)v), nothing = wide_of<W>((T)0), one = wide_of<W>((T)1);
  wide_line<T, W> least = wide_of<W>(no_path<T>()), suspect;
  for (uint32_t a = net.in_offsets[v], last = net.in_offsets[v + 1]; a < last; a += together) {
    if (one_thread_blocks && a + ahead < net.in_offsets[net.n])
      for (uint32_t byte = 0; byte < W * sizeof(T); byte += 64)
        prefetch((const char *)(lines + W * (size_t)net.in_arcs[2 * (size_t)(a + ahead)]) + byte);
    arc<T> in[together];
    wide_line<T, W> x[together];
    UNROLL for (uint32_t j = 0; j < together; j++) in[j] = arc_at(net.in_arcs, a + j < last ? a + j : a);
    UNROLL for (uint32_t j = 0; j < together; j++) if (!in[j].weight) return false;
    UNROLL for (uint32_t j = 0; j < together; j++) x[j] = read_wide<W>(lines + W * (size_t)in[j].end);
    UNROLL for (uint32_t j = 0; j < together; j++) UNROLL for (int k = 0; k < here.parts; k++) {
      const auto sum = x[j].part[k] + in[j].weight;
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
// phast_mark_*: one block a group. phast_climb_*: sources are dealt to the warps of a group's blocks; under g++ the
// first of them does it all. phast_sweep_*: a block for each part from `first` on, which is a launch of the hierarchy.
// phast_check_*: `before` (groups, n, W) becomes the predecessors, as positions in the input. phast_rows_*: what is
// larger than `most` becomes all ones; `rows` (sources, columns).
template <int W, class T>
DEVICE void climb_all(const hierarchy<T> &h, const group_lines<T> &all) {
  const uint32_t group = blockIdx.x % all.groups, own = blockIdx.x / all.groups, blocks = gridDim.x / all.groups;
  const uint32_t *source = all.source + W * (size_t)group;
  T *lines = all.lines + group * (size_t)h.n * W;
  if (one_thread_blocks && !own) climb_together<W>(h, source, all.marks + group * (size_t)words_of(h.n), lines);
  if (one_thread_blocks) return;
  for (uint32_t k = own * warps() + warp(); k < W; k += blocks * warps()) climb_from<W>(h, source[k], lines + k);
}
template <int W, class T>
DEVICE void sweep_part(const hierarchy<T> &h, const group_lines<T> &all, uint32_t first) {
  const uint32_t group = blockIdx.x % all.groups, part = first + blockIdx.x / all.groups;
  const uint32_t *marks = all.marks + group * (size_t)words_of(h.n);
  T *lines = all.lines + group * (size_t)h.n * W;
  for (uint32_t level = h.part[part]; level < h.part[part + 1]; level++) {
    sweep<W>(h, marks, lines, h.level[level], h.level[level + 1]);
    __syncthreads();
  }
}
template <int W, class T>
DEVICE void check_all(const graph<T> &net, const group_lines<T> &all, uint32_t sources, T cutoff, T *before,
                      uint32_t *counts) {
  const uint32_t group = blockIdx.x % all.groups, own = blockIdx.x / all.groups, blocks = gridDim.x / all.groups;
  const size_t first = group * (size_t)net.n * W;
  tally<T, W> found;
  const uint32_t own_group = own * wide_groups<T, W>() + wide_group<T, W>(), step = blocks * wide_groups<T, W>();
  for (uint32_t v = own_group; v < net.n; v += step) {
    if (!before && surely_right<W>(net, v, all.lines + first)) continue;
    const wide_line<T, W> from = check<W>(net, v, cutoff, all.lines + first, found);
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
  KERNEL phast_mark_##code##_##W(hierarchy<T> h, group_lines<T> all) {                                              \
    const size_t group = blockIdx.x;                                                                                \
    mark<W>(h, all.source + W * group, all.marks + group * words_of(h.n), all.lines + group * h.n * W);             \
  }                                                                                                                 \
  EXPORT_KERNEL(phast_mark_##code##_##W)                                                                            \
  KERNEL phast_climb_##code##_##W(hierarchy<T> h, group_lines<T> all) { climb_all<W>(h, all); }                     \
  EXPORT_KERNEL(phast_climb_##code##_##W)                                                                           \
  KERNEL phast_sweep_##code##_##W(hierarchy<T> h, group_lines<T> all, uint32_t first) {                             \
    sweep_part<W>(h, all, first);                                                                                   \
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
