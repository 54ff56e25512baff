// Bellman-Ford for p sources at once, as "Accelerating Computation of Steiner Trees on GPUs" (R. P. Muniasamy, R. Nasre,
// N. S. Narayanaswamy, International Journal of Parallel Programming, 2022) has it: a thread a vertex, which takes the
// best offers of its neighbours (pull), k sweeps a launch (k-pull), p searches that share each read of the adjacency
// (p = 2: "double-barrel"). For study, beside the tile engine, which does the same with an order in it (tile.cu).
//
// A block has its vertices' arcs in shared memory, so that the k sweeps and p searches read them once from memory; what
// finds no room there is read where it lies. Blocks of a launch see each other's distances as they happen to come; the
// host launches until nothing has changed, and the distances, the unique fixpoint, are the same for any k, p and order.
//
// Distances are [vertex][p] here, [p][vertex] in the paper. There threads next to each other write next to each other,
// but read neighbours, which lie anywhere, with a sector of 32 bytes for each of the p; here the p distances of a
// neighbour are one or two sectors, of which all is used. So bytes a sweep fall from n p (4 + 32 d) to n p (4 + 4 d) for
// p >= 8, with d arcs a vertex. Rounds are those of Bellman-Ford whatever the layout: on G103 675 to 780 sweeps, with
// k = 3 a third of the launches, against 2.3 visits a vertex by the tile engine. On an H200 (not measured), p = 32: a
// sweep over G103 is 78 218 x 32 x 4 x 9 bytes in 21 us, times 730 sweeps and 95 batches 1.5 s; with p = 1 and the
// paper's layout 3033 x 730 sweeps of some 10 us: 22 s.
//
// What the paper tried and rejected is not here. Worklists of vertices (data-driven): one atomic counter for all, and
// no order, so they save sweeps of what is idle but not one of the many visits; near_far.cu and tile.cu have worklists
// with an order. A thread an edge: an atomic minimum an arc, where a vertex that pulls needs none, against a skew of
// degrees that these graphs (2 to 4 arcs) do not have. Loops unrolled by the square of the degree: for the same reason.
#include "paths/distances.cuh"
#include "paths/graph.cuh"

constexpr uint32_t stretch = 256;  // vertices of a block at a time
constexpr uint32_t staged = 2048;  // of their arcs, those that shared memory has room for

// A sweep over the vertices from `first` to `last`; whether anything changed for this thread.
template <class T>
DEVICE bool pull(uint32_t first, uint32_t last, uint32_t p, T limit, const uint32_t *offsets, const T *arcs,
                 const T *near, T *keys) {
  bool changed = false;
  for (uint32_t v = first + threadIdx.x; v < last; v += blockDim.x)
    for (uint32_t a = offsets[v]; a < offsets[v + 1]; a++) {
      const uint32_t place = a - offsets[first];
      const T *arc = place < staged ? near + 2 * place : arcs + 2 * (size_t)a;
      const T *from = keys + (size_t)p * arc[0];
      T *to = keys + (size_t)p * v;
      for (uint32_t i = 0; i < p; i++) {
        const T offer = peek(&from[i]) + arc[1];
        if (offer > limit || offer >= to[i]) continue;  // nobody else writes there
        atomicMin(&to[i], offer);
        changed = true;
      }
    }
  return changed;
}
// `sweeps` sweeps of every block over its own vertices. `keys` (n, p) are infinite() where nothing is reached;
// `changed` becomes 1 if anything does.
template <class T>
DEVICE void pull_all(const graph<T> &net, uint32_t p, uint32_t sweeps, T limit, T *keys, uint32_t *changed) {
  const uint32_t n = net.n, *offsets = net.in_offsets;
  const T *arcs = net.in_arcs;
  __shared__ T near[2 * staged];
  bool any = false;
  for (uint32_t first = stretch * blockIdx.x; first < n; first += stretch * gridDim.x) {
    const uint32_t last = n - first < stretch ? n : first + stretch, begin = offsets[first];
    const uint32_t count = offsets[last] - begin;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 2 * (count < staged ? count : staged); i += blockDim.x)
      near[i] = arcs[2 * (size_t)begin + i];
    __syncthreads();
    for (uint32_t sweep = 0; sweep < sweeps; sweep++) any |= pull(first, last, p, limit, offsets, arcs, near, keys);
  }
  if (any) atomicOr(changed, 1u);
}
#define PULL_KERNEL(name, T)                                                                    \
  KERNEL name(graph<T> net, uint32_t p, uint32_t sweeps, T limit, T *keys, uint32_t *changed) { \
    pull_all(net, p, sweeps, limit, keys, changed);                                             \
  }                                                                                             \
  EXPORT_KERNEL(name)
PULL_KERNEL(p_pull_sweep_u4, uint32_t)
PULL_KERNEL(p_pull_sweep_u8, uint64_t)
