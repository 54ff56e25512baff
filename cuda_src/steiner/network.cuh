// A Steiner problem, as the kernels read it that run on the CPU whatever the device.
#pragma once
#include <cstdint>

// An undirected graph of n vertices with `count` terminals. An edge stands in the rows of both ends. Heads ascend in a
// row and terminals in their list; `is_terminal` has an entry for each vertex.
struct network {
  uint32_t n, count;
  const uint32_t *terminals, *is_terminal, *offsets, *heads;
  const uint64_t *weights;
};
