// How a host-compiled kernel is launched: EXPORT_KERNEL(name) makes two C functions of it.
//   name_launch(grid, block, arguments)   launches it; the arguments are in one buffer, each at its natural alignment,
//                                         as a GPU's driver takes them
//   name_signature()                      the types of the arguments (signature.cuh)
#pragma once
#include <utility>

#include "device/signature.cuh"

#if defined(_OPENMP)
#include <omp.h>
extern "C" void hpcsolve_set_threads(int threads) { omp_set_num_threads(threads); }
#else
extern "C" void hpcsolve_set_threads(int) {}
#endif

struct index3 {
  unsigned x, y, z;
};

template <class... A, size_t... I>
static void run_grid(void (*kernel)(A...), unsigned grid, unsigned block, void **params, std::index_sequence<I...>);

template <class... A>
static void run_packed(void (*kernel)(A...), unsigned grid, unsigned block, const char *arguments) {
  void *params[sizeof...(A)];
  size_t offset = 0, i = 0;
  ((offset = (offset + alignof(A) - 1) / alignof(A) * alignof(A), params[i++] = (void *)(arguments + offset),
    offset += sizeof(A)),
   ...);
  run_grid(kernel, grid, block, params, std::index_sequence_for<A...>{});
}
#define EXPORT_KERNEL(name)                                                             \
  extern "C" void name##_launch(unsigned grid, unsigned block, const char *arguments) { \
    run_packed(name, grid, block, arguments);                                           \
  }                                                                                     \
  extern "C" const char *name##_signature() { return signature_of(name); }
