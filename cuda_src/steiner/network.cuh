// A Steiner problem, as the kernels read it that run on the CPU whatever the device.
#pragma once
#include "device/device.cuh"
#include "paths/heap.cuh"

constexpr uint32_t none = ~0u;  // no vertex, no arc, no terminal
constexpr uint64_t unreached = ~0ull;

// An undirected graph of n vertices with `count` terminals. An edge stands in the rows of both ends. Heads ascend in a
// row and terminals in their list; `is_terminal` has an entry for each vertex.
struct network {
  uint32_t n, count;
  const uint32_t *terminals, *is_terminal, *offsets, *heads;
  const uint64_t *weights;
};
// Returns a heap without vertices. `scratch` is (2, n); all distances become `unreached`.
DEVICE heap<uint64_t> empty_heap(uint32_t n, uint32_t *scratch, uint64_t *distance) {
  for (uint32_t v = 0; v < n; v++) scratch[n + v] = nowhere, distance[v] = unreached;
  return {0, scratch, scratch + n, distance};
}
