// Predecessors across arcs of weight 0, for all sources of a group at once: what phast.cu's check leaves open. The rule is
// that of paths.cuh: a vertex without an arc that leads to it from a smaller distance takes the first arc from a vertex
// of the same distance that is one hop nearer to where this plateau is entered, or to the source.
//
// Only vertices at an end of an arc of weight 0 are looked at, the members. One block does a group: hops are 0 where a
// plateau is entered, and each round goes one hop further, until nothing changes. Then what the check took for vertices
// without predecessors is put right in its counts.
#include "device/line.cuh"
#include "paths/distances.cuh"
#include "paths/graph.cuh"

// The ends of arcs of weight 0: `vertex` (members), and the arcs of weight 0 that enter each, `tail` by member, in the
// order of the graph's arcs.
struct plateau_members {
  uint32_t count;
  const uint32_t *vertex, *offsets, *tail;
};

// Returns 0 where vertex v is entered from a smaller distance, elsewhere all ones.
template <int W, class T>
DEVICE line<T, W> entrances(const graph<T> &net, uint32_t v, const T *lines) {
  const line<T, W> here = read_line<W>(lines + W * (size_t)v), nothing = all_of<W>((T)0);
  line<T, W> hops = all_of<W>(no_path<T>());
  for (uint32_t a = net.in_offsets[v]; a < net.in_offsets[v + 1]; a++) {
    const arc<T> in = arc_at(net.in_arcs, a);
    const line<T, W> x = read_line<W>(lines + W * (size_t)in.end);
    UNROLL for (int k = 0; k < x.parts; k++) {
      const auto enters = (x.part[k] + in.weight == here.part[k]) & (x.part[k] < here.part[k]);
      hops.part[k] = where(enters, nothing.part[k], hops.part[k]);
    }
  }
  UNROLL for (int k = 0; k < hops.parts; k++) hops.part[k] =
      where(here.part[k] < infinite<T>(), hops.part[k], all_of<W>(no_path<T>()).part[k]);
  return hops;
}
// Returns, where member i has the same distance as its j-th tail, which has so many hops, `then`; elsewhere all ones.
template <int W, class T>
DEVICE line<T, W> across(const plateau_members &all, uint32_t i, uint32_t j, const line<T, W> &count, T then,
                         const T *lines, const T *hops) {
  const line<T, W> here = read_line<W>(lines + W * (size_t)all.vertex[i]);
  const line<T, W> x = read_line<W>(lines + W * (size_t)all.vertex[all.tail[j]]);
  const line<T, W> so_far = load_line<W>(hops + W * (size_t)all.tail[j]);
  line<T, W> found = all_of<W>(no_path<T>());
  UNROLL for (int k = 0; k < x.parts; k++) {
    const auto leads = (x.part[k] == here.part[k]) & (so_far.part[k] == count.part[k]);
    found.part[k] = where(leads, all_of<W>(then).part[k], found.part[k]);
  }
  return found;
}
// Counts hops. `source` has the member of each of the W sources, or `none`.
template <int W, class T>
DEVICE void count_hops(const graph<T> &net, const plateau_members &all, const uint32_t *source, const T *lines, T *hops,
                       uint32_t *changed) {
  for (uint32_t i = warp(); i < all.count; i += warps())
    store_line(hops + W * (size_t)i, entrances<W>(net, all.vertex[i], lines));
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < W; k += blockDim.x)
    if (source[k] != none) hops[W * (size_t)source[k] + k] = 0;
  for (T round = 1;; round++) {
    __syncthreads();
    if (threadIdx.x == 0) *changed = 0;
    __syncthreads();
    for (uint32_t i = warp(); i < all.count; i += warps())
      for (uint32_t j = all.offsets[i]; j < all.offsets[i + 1]; j++) {
        const line<T, W> next = across<W>(all, i, j, all_of<W>((T)(round - 1)), round, lines, hops);
        if (lower_line(hops + W * (size_t)i, next, (T)0) && group_leader()) atomicOr_block(changed, 1u);
      }
    __syncthreads();
    if (!*changed) break;
  }
  __syncthreads();
}
// Gives member i its predecessors on plateaus, and takes it out of the counts of what has none.
template <int W, class T>
DEVICE void lead(const graph<T> &net, const plateau_members &all, uint32_t i, T cutoff, uint32_t first,
                 uint32_t sources, const T *lines, const T *hops, T *before, uint32_t *counts) {
  const line<T, W> here = read_line<W>(lines + W * (size_t)all.vertex[i]), own = read_line<W>(hops + W * (size_t)i);
  const line<T, W> nothing = all_of<W>((T)0), absent = all_of<W>(no_path<T>());
  line<T, W> one_less = own, from = absent, led = nothing, far = nothing;
  UNROLL for (int k = 0; k < own.parts; k++) {
    const auto inside = (own.part[k] != nothing.part[k]) & (own.part[k] != absent.part[k]);
    one_less.part[k] = where(inside, own.part[k] - 1, absent.part[k] - 1);
    led.part[k] = where(inside, all_of<W>((T)1).part[k], nothing.part[k]);
    far.part[k] = where(inside & (here.part[k] != nothing.part[k]), led.part[k], nothing.part[k]);
  }
  for (uint32_t j = all.offsets[i + 1]; j-- > all.offsets[i];) {
    const T name = net.order[all.vertex[all.tail[j]]];
    const line<T, W> next = across<W>(all, i, j, one_less, name, lines, hops);
    UNROLL for (int k = 0; k < from.parts; k++) from.part[k] =
        where(next.part[k] != absent.part[k], next.part[k], from.part[k]);
  }
  const auto less = [=](int which) {
    return [=](uint32_t k, T value) {
      if (value && first + k < sources) atomicAdd(&counts[3 * (size_t)(first + k) + which], ~0u);
    };
  };
  each_value(far, less(0)), each_value(led, less(2));
  if (!before) return;
  line<T, W> old = read_line<W>(before + W * (size_t)all.vertex[i]);
  UNROLL for (int k = 0; k < old.parts; k++) {
    const auto right = (led.part[k] != nothing.part[k]) & (here.part[k] <= cutoff);
    old.part[k] = where(right, from.part[k], old.part[k]);
  }
  store_line(before + W * (size_t)all.vertex[i], old);
}
// Block b does group b. `lines` and `before` (groups, n, W); `source` (groups, W), the members of the sources; `hops`
// (groups, members, W) is room to work in.
template <int W, class T>
DEVICE void cross_plateaus(const graph<T> &net, const T *lines, const plateau_members &all, const uint32_t *source,
                           uint32_t sources, T cutoff, T *hops, T *before, uint32_t *counts) {
  __shared__ uint32_t changed;
  const size_t row = blockIdx.x * (size_t)net.n * W;
  lines += row, before += before ? row : 0;
  hops += blockIdx.x * (size_t)all.count * W;
  count_hops<W>(net, all, source + W * blockIdx.x, lines, hops, &changed);
  for (uint32_t i = warp(); i < all.count; i += warps())
    lead<W>(net, all, i, cutoff, W * blockIdx.x, sources, lines, hops, before, counts);
}
#define PLATEAU_KERNEL(T, code, W)                                                                                  \
  KERNEL plateaus_cross_##code##_##W(graph<T> net, plateau_members all, uint32_t sources, T cutoff, const T *lines, \
                                     const uint32_t *source, T *hops, NULLABLE T *before, uint32_t *counts) {       \
    cross_plateaus<W>(net, lines, all, source, sources, cutoff, hops, before, counts);                              \
  }                                                                                                                 \
  EXPORT_KERNEL(plateaus_cross_##code##_##W)
PLATEAU_KERNEL(uint32_t, u4, 16)
PLATEAU_KERNEL(uint32_t, u4, 32)
PLATEAU_KERNEL(uint32_t, u4, 64)
PLATEAU_KERNEL(uint64_t, u8, 16)
PLATEAU_KERNEL(uint64_t, u8, 32)
