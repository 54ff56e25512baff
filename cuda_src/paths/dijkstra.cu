// Dijkstra's algorithm with the heap of heap.cuh: one block per search, of which the first thread works and the others
// wait. It makes sense on CPUs only: for study, and as an oracle for near_far.cu that settles each vertex once. A
// search with targets ends when the last of them is settled. Scratch, 2 n entries for each block: the heap and its
// places.
#include "paths/solve.cuh"
#include "paths/heap.cuh"

// Settles vertices until none waits, or all targets are nearer than the nearest that waits: what is nearer is final.
template <class Sum, class T = typename Sum::key>
DEVICE void settle_all(heap<T> &h, const request<T> &asked, answer<T> &found) {
  const uint32_t targets = found.touched ? asked.targets : 0;
  for (uint32_t arrived = 0; h.size;) {
    const T nearest = h.keys[h.vertices[0]];
    while (arrived < targets && h.keys[asked.target[arrived]] < nearest) arrived++;
    if (targets && arrived == targets) {
      found.cutoff = nearest - 1;
      for (uint32_t i = 0; i < h.size; i++) found.keys[h.vertices[i]] = no_path<T>();
      return;
    }
    const uint32_t u = take(h);
    for (uint32_t a = asked.net.offsets[u]; a < asked.net.offsets[u + 1]; a++, found.relaxed++) {
      const arc<T> next = arc_at(asked.net.arcs, a);
      const uint32_t v = (uint32_t)next.end;
      const T weight = next.weight, old = h.keys[v];
      if (beyond(Sum(), nearest, weight, asked.cutoff) || plus(Sum(), nearest, weight) >= old) continue;
      found.keys[v] = plus(Sum(), nearest, weight);
      if (old == no_path<T>()) touch(found, v);
      rise(h, old == no_path<T>() ? h.size++ : h.place[v], v);
    }
  }
}
template <class Sum, class T = typename Sum::key>
DEVICE void run_search(Sum, heap<T> &h, const request<T> &asked, const tuning<T> &how, answer<T> &found) {
  if (threadIdx.x == 0) {
    h.size = 0, h.vertices = how.scratch, h.place = how.scratch + asked.net.n, h.keys = found.keys;
    for (uint32_t i = 0; i < asked.seeds; i++) {  // at distance 0, each once
      found.keys[asked.seed[i]] = 0, touch(found, asked.seed[i]);
      put(h, h.size++, asked.seed[i]);
    }
    settle_all<Sum>(h, asked, found);
  }
  __syncthreads();
}
SOLVE_KERNELS(dijkstra, heap)
