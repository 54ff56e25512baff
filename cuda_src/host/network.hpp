// A Steiner problem as the functions of the host read it, and what many of them share: rows, Dijkstra's algorithm,
// regions, union-find. Weights are above 0.
#pragma once
#include "host/function.hpp"
#include "paths/heap.cuh"

constexpr uint32_t none = ~0u;  // no vertex, no arc, no terminal
constexpr uint64_t no_path = ~0ull;

// An undirected graph of n vertices with `count` terminals. An edge stands in the rows of both ends: it has two arcs.
// Heads ascend in a row and terminals in their list; `is_terminal` has an entry for each vertex.
struct network {
  uint32_t n, count;
  const uint32_t *terminals, *is_terminal, *offsets, *heads;
  const uint64_t *weights;
};
// The numbers from `first` to `last` - 1, for a loop.
struct numbers {
  struct place {
    uint32_t number;
    uint32_t operator*() const { return number; }
    void operator++() { number++; }
    bool operator!=(place other) const { return number != other.number; }
  };
  uint32_t first, last;
  place begin() const { return {first}; }
  place end() const { return {last}; }
};
inline numbers arcs_of(const network &net, uint32_t v) { return {net.offsets[v], net.offsets[v + 1]}; }

// A heap for up to n vertices, empty at first, with memory of its own.
template <class T>
struct waiting_vertices : heap<T, vector<uint32_t>> {
  waiting_vertices(uint32_t n, const T *keys)
      : heap<T, vector<uint32_t>>{0, vector<uint32_t>(n), vector<uint32_t>(n, nowhere), keys} {}
};
// Settles the vertices that wait and all that are reached from them, the nearest first (Dijkstra). length(a) is that of
// an arc; came_nearer(v, u, a) is called when the distance of v has become that by arc a of u.
template <class Length, class Nearer>
void settle(const network &net, waiting_vertices<uint64_t> &waiting, uint64_t *distance, const Length &length,
            const Nearer &came_nearer) {
  while (waiting.size) {
    const uint32_t u = take(waiting);
    for (uint32_t a : arcs_of(net, u)) {
      const uint32_t v = net.heads[a];
      const uint64_t there = distance[u] + length(a);
      if (there >= distance[v]) continue;
      distance[v] = there, came_nearer(v, u, a);
      offer(waiting, v);
    }
  }
}
// The vertices nearest to each of several vertices, the bases (Voronoi regions). Of each vertex: the distance to the
// nearest base, the neighbour on the path there, and the base; no_path, none, none where no base is.
struct regions {
  uint64_t *distance;
  uint32_t *before, *base;
};
// Finds the regions by one search from all bases.
inline void find_regions(const network &net, uint32_t count, const uint32_t *bases, const regions &found) {
  for (uint32_t v = 0; v < net.n; v++) found.distance[v] = no_path, found.before[v] = found.base[v] = none;
  waiting_vertices<uint64_t> waiting(net.n, found.distance);
  for (uint32_t i = 0; i < count; i++)
    found.distance[bases[i]] = 0, found.base[bases[i]] = bases[i], offer(waiting, bases[i]);
  settle(
      net, waiting, found.distance, [&](uint32_t a) { return net.weights[a]; },
      [&](uint32_t v, uint32_t u, uint32_t) { found.before[v] = u, found.base[v] = found.base[u]; });
}
// Sets that are united step by step (union-find).
struct united_sets {
  vector<uint32_t> above;
  explicit united_sets(uint32_t n) : above(n) {
    for (uint32_t i = 0; i < n; i++) above[i] = i;
  }
  // Returns the representative of the set of i.
  uint32_t top(uint32_t i) {
    while (above[i] != i) i = above[i] = above[above[i]];
    return i;
  }
  // Puts the set below `lower` into that of `upper`. Both are representatives.
  void unite(uint32_t upper, uint32_t lower) { above[lower] = upper; }
};
