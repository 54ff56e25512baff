// Bellman-Ford from p sources at once, as "Accelerating Computation of Steiner Trees on GPUs" (R. P. Muniasamy, R.
// Nasre, N. S. Narayanaswamy, International Journal of Parallel Programming, 2022) has it: one thread per vertex, which
// takes the best offers of its neighbours (pull); k sweeps per launch (k-pull); p searches that share each read of the
// adjacency lists (p = 2: "double-barrel"). It is here for study, beside the tile engine (tile.cu), which shares reads
// too and relaxes in the order of distances.
//
// A block keeps its vertices' arcs in shared memory, so that the k sweeps and p searches read them once from memory;
// arcs that find no room there are read where they lie. The blocks of a launch see each other's distances in any order.
// The host launches until nothing has changed; distances, the unique fixpoint, are the same for any k, p and order.
//
// Distances are [vertex][p] here, [p][vertex] in the paper. In the paper's layout adjacent threads write to adjacent
// words, but a neighbour's p distances are read from p sectors of 32 bytes each. Here they are contiguous, and all
// bytes of their sectors are used. So the bytes of a sweep fall from n p (4 + 32 d) to n p (4 + 4 d) for p >= 8, with d
// arcs at each vertex. The number of sweeps is that of Bellman-Ford in either layout: 675 to 780 on G103, with k = 3 in
// a third of the launches, against 2.3 visits of each vertex by the tile engine.
//
// What the paper tried and rejected is not here. Worklists of vertices (data-driven) have one atomic counter for all
// and no order, so they save sweeps of idle vertices but none of the many visits; near_far.cu and tile.cu have
// worklists with an order. One thread per edge needs an atomic minimum for each arc, while a vertex that pulls needs
// none; it helps only against skewed degrees, which these graphs (2 to 4 arcs at a vertex) do not have. So do loops
// that are unrolled by the square of the degree.
#include "paths/distances.cuh"
#include "paths/graph.cuh"

constexpr uint32_t stretch = 256;  // vertices that a block works on at a time
constexpr uint32_t staged = 2048;  // arcs that shared memory has room for

// Sweeps over the vertices from `first` to `last`, and returns whether this thread has changed anything.
template <class T>
DEVICE bool pull(uint32_t first, uint32_t last, uint32_t p, T cutoff, const uint32_t *offsets, const T *arcs,
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
        if (offer > cutoff || offer >= to[i]) continue;  // no other thread writes there
        atomicMin(&to[i], offer);
        changed = true;
      }
    }
  return changed;
}
// Sweeps over the vertices of every block several times. `keys` (n, p) are infinite() where nothing is reached;
// `changed` becomes 1 if any of them changes.
template <class T>
DEVICE void pull_all(const graph<T> &net, uint32_t p, uint32_t sweeps, T cutoff, T *keys, uint32_t *changed) {
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
    for (uint32_t sweep = 0; sweep < sweeps; sweep++) any |= pull(first, last, p, cutoff, offsets, arcs, near, keys);
  }
  if (any) atomicOr(changed, 1u);
}
#define PULL_KERNEL(name, T)                                                                     \
  KERNEL name(graph<T> net, uint32_t p, uint32_t sweeps, T cutoff, T *keys, uint32_t *changed) { \
    pull_all(net, p, sweeps, cutoff, keys, changed);                                             \
  }                                                                                              \
  EXPORT_KERNEL(name)
PULL_KERNEL(p_pull_sweep_u4, uint32_t)
PULL_KERNEL(p_pull_sweep_u8, uint64_t)
