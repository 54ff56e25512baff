// A Steiner problem as the kernels that are marked for the CPU read it.
#pragma once
#include <cstdint>

// An undirected graph: an edge stands in the rows of both ends, heads ascend in a row. Terminals ascend, and `wanted` is
// 1 at each of them.
struct network {
  uint32_t n, count;
  const uint32_t *terminals, *wanted, *offsets, *heads;
  const uint64_t *weights;
};
