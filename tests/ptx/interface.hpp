// The interpreter as a C library, libptx.so: for the stub driver (tests/stub_driver/launches.cpp), and for the tests, which
// call it through ctypes.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {
#pragma GCC visibility push(default)
struct ptx_region {
  char *start;
  size_t bytes;
};
struct ptx_settings {
  uint64_t seed, steps;
  uint32_t blocks, races;
  void *counter;  // null, or what ptx_counter returned: then warps run in lockstep, and are counted
};
enum { PTX_CLOCKS = 10 };
struct ptx_counts {
  uint64_t steps, meetings, barriers;
};
// Returns a counter of launches. `clocks` has PTX_CLOCKS numbers, one for each kind of `Wait` (count.hpp).
void *ptx_counter(const uint32_t *clocks, size_t l2_bytes);
// Writes the counts into a file, and the PTX of the kernels into files beside it.
void ptx_write(const void *counter, const char *path);
// Returns a module, or null and the reason in `message`.
void *ptx_load(const char *text, char *message, size_t room);
// Returns a kernel of a module, or null.
const void *ptx_kernel(void *module, const char *name);
// Returns 0, or the number of CUDA's error and a line in `message`. Regions are sorted by address.
int ptx_launch(void *module, const void *kernel, uint32_t grid, uint32_t block, const char *parameters, size_t bytes,
               const ptx_region *regions, size_t count, const ptx_settings *settings, ptx_counts *counts, char *message,
               size_t room);
#pragma GCC visibility pop
}
