// Dijkstra's search with an indexed heap of four children a node, one source a block: its first thread works, the
// others wait. It makes sense on CPUs only; for study, and as an oracle of near_far.cu that settles each vertex once.
// With targets it halts when the last of them is settled. Heap: the vertices that wait, nearest first; `place` of a
// vertex: where it stands there.
#include "distances.cuh"

constexpr uint32_t nowhere = ~0u;

template <class T>
struct heap {
  uint32_t size, *vertices, *place;
  const T *keys;
};
template <class T>
DEVICE void put(heap<T> &h, uint32_t at, uint32_t v) {
  h.vertices[at] = v;
  h.place[v] = at;
}
// Moves v, which belongs at `at` or nearer to the top, up to its place.
template <class T>
DEVICE void rise(heap<T> &h, uint32_t at, uint32_t v) {
  for (; at > 0; at = (at - 1) / 4) {
    const uint32_t parent = h.vertices[(at - 1) / 4];
    if (h.keys[parent] <= h.keys[v]) break;
    put(h, at, parent);
  }
  put(h, at, v);
}
// Takes the nearest vertex out; the last one sinks from the top to its place.
template <class T>
DEVICE uint32_t take(heap<T> &h) {
  const uint32_t nearest = h.vertices[0], v = h.vertices[--h.size];
  h.place[nearest] = nowhere;
  uint32_t at = 0;
  for (uint32_t child; h.size && (child = 4 * at + 1) < h.size;) {
    uint32_t least = child;
    for (uint32_t c = child + 1; c < child + 4 && c < h.size; c++)
      if (h.keys[h.vertices[c]] < h.keys[h.vertices[least]]) least = c;
    if (h.keys[h.vertices[least]] >= h.keys[v]) break;
    put(h, at, h.vertices[least]);
    at = least;
  }
  if (h.size) put(h, at, v);
  return nearest;
}
// Settles vertices until none waits or no target is left; the arcs relaxed. `left` targets have their bit in `wanted`.
template <class Sum, class T = typename Sum::key>
DEVICE uint64_t settle_all(heap<T> &h, T limit, uint32_t left, const uint32_t *wanted, const uint32_t *offsets,
                           const T *arcs, T *keys) {
  uint64_t relaxed = 0;
  while (h.size) {
    const uint32_t u = take(h);
    if (left && (wanted[u / 32] >> u % 32 & 1) && --left == 0) break;
    for (uint32_t a = offsets[u]; a < offsets[u + 1]; a++, relaxed++) {
      const uint32_t v = (uint32_t)arcs[2 * (size_t)a];
      const T weight = arcs[2 * (size_t)a + 1];
      if (beyond(Sum(), keys[u], weight, limit) || plus(Sum(), keys[u], weight) >= keys[v]) continue;
      const bool fresh = keys[v] == unreached<T>();
      keys[v] = plus(Sum(), keys[u], weight);
      rise(h, fresh ? h.size++ : h.place[v], v);
    }
  }
  return relaxed;
}
// Searches `jobs` sources into keys (jobs, n). `heaps` is (blocks, 2 n) scratch, `wanted` a bit a vertex for the
// targets. With targets, what waits when the last is settled keeps a distance that may be too large. `work` is (jobs,
// 2): arcs, 0.
template <class Sum, class T = typename Sum::key>
DEVICE void search_all(uint32_t jobs, uint32_t n, uint32_t targets, T limit, const uint32_t *seed_start,
                       const uint32_t *seed, const uint32_t *wanted, const uint32_t *offsets, const T *arcs,
                       uint32_t *heaps, T *keys, uint64_t *work) {
  for (uint32_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    T *mine = keys + (size_t)job * n;
    for (uint32_t v = threadIdx.x; v < n; v += blockDim.x) mine[v] = unreached<T>();
    __syncthreads();
    if (threadIdx.x == 0) {
      heap<T> h = {0, heaps + (size_t)blockIdx.x * 2 * n, heaps + ((size_t)blockIdx.x * 2 + 1) * n, mine};
      for (uint32_t i = seed_start[job]; i < seed_start[job + 1]; i++)
        if (mine[seed[i]]) mine[seed[i]] = 0, put(h, h.size++, seed[i]);
      work[2 * job] = settle_all<Sum>(h, limit, targets, wanted, offsets, arcs, mine);
      work[2 * job + 1] = 0;
    }
    __syncthreads();
  }
}
KERNEL dijkstra_search_u4(uint32_t jobs, uint32_t n, uint32_t targets, uint32_t limit, const uint32_t *seed_start,
                          const uint32_t *seed, const uint32_t *wanted, const uint32_t *offsets, const uint32_t *arcs,
                          uint32_t *heaps, uint32_t *keys, uint64_t *work) {
  search_all<integer<uint32_t>>(jobs, n, targets, limit, seed_start, seed, wanted, offsets, arcs, heaps, keys, work);
}
EXPORT_KERNEL(dijkstra_search_u4)
KERNEL dijkstra_search_u8(uint32_t jobs, uint32_t n, uint32_t targets, uint64_t limit, const uint32_t *seed_start,
                          const uint32_t *seed, const uint32_t *wanted, const uint32_t *offsets, const uint64_t *arcs,
                          uint32_t *heaps, uint64_t *keys, uint64_t *work) {
  search_all<integer<uint64_t>>(jobs, n, targets, limit, seed_start, seed, wanted, offsets, arcs, heaps, keys, work);
}
EXPORT_KERNEL(dijkstra_search_u8)
KERNEL dijkstra_search_f8(uint32_t jobs, uint32_t n, uint32_t targets, uint64_t limit, const uint32_t *seed_start,
                          const uint32_t *seed, const uint32_t *wanted, const uint32_t *offsets, const uint64_t *arcs,
                          uint32_t *heaps, uint64_t *keys, uint64_t *work) {
  search_all<real<uint64_t, double>>(jobs, n, targets, limit, seed_start, seed, wanted, offsets, arcs, heaps, keys,
                                     work);
}
EXPORT_KERNEL(dijkstra_search_f8)
