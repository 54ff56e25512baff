// A Steiner problem as the kernels that are marked for the CPU read it.
#pragma once
#include <cstdint>

// An undirected graph: an edge stands in the rows of both ends, heads ascend in a row. Terminals ascend; `is_terminal`
// has an entry for each vertex.
struct network {
  uint32_t n, count;
  const uint32_t *terminals, *is_terminal, *offsets, *heads;
  const uint64_t *weights;
};
