// PTX images: libptx.so (tests/ptx) reads them and runs their kernels. It is loaded with the first of them, so the driver
// works without it otherwise.
#pragma once
#include <dlfcn.h>

#include "../ptx/interface.hpp"
#include "model.hpp"

namespace stub {

struct Interpreter {
  void *library = dlopen("libptx.so", RTLD_NOW | RTLD_LOCAL);
  template <class F>
  F *function(const char *name) const {
    void *found = library ? dlsym(library, name) : nullptr;
    if (!found) fprintf(stderr, "stub driver: no %s in libptx.so: %s\n", name, dlerror());
    if (!found) abort();
    return reinterpret_cast<F *>(found);
  }
  decltype(ptx_load) *load = function<decltype(ptx_load)>("ptx_load");
  decltype(ptx_kernel) *kernel = function<decltype(ptx_kernel)>("ptx_kernel");
  decltype(ptx_launch) *launch = function<decltype(ptx_launch)>("ptx_launch");
};
inline const Interpreter &interpreter() {
  static const Interpreter *it = new Interpreter;
  return *it;
}

// Returns the module of a text, or null; the reason goes to stderr.
inline void *load_ptx(const std::string &text) {
  char message[1000];
  void *module = interpreter().load(text.c_str(), message, sizeof message);
  if (!module) fprintf(stderr, "stub driver: %s\n", message);
  return module;
}

// Returns how to run a kernel on a device, or nothing. Each launch has another order of threads, and STUB_PTX_SEED gives all
// of them others.
inline Function *ptx_function(void *module, const char *name) {
  const void *kernel = interpreter().kernel(module, name);
  if (!kernel) return nullptr;
  return new Function{
      name, [=, name = std::string(name)](Device &device, unsigned grid, unsigned block, const char *arguments,
                                          size_t bytes) {
        const ptx_settings settings = {setting("STUB_PTX_SEED", 1) * 1000003 + driver().launches,
                                       (uint32_t)setting("STUB_PTX_BLOCKS", 2), (uint32_t)setting("STUB_PTX_RACES", 1)};
        const std::vector<ptx_region> regions = device.memory.regions<ptx_region>();
        char message[2000];
        ptx_counts counts;
        const int error = interpreter().launch(module, kernel, grid, block, arguments, bytes, regions.data(),
                                               regions.size(), &settings, &counts, message, sizeof message);
        if (error) fprintf(stderr, "stub driver: %s\n", message);
        if (!error && setting("STUB_PTX_TALK", 0))
          fprintf(stderr, "ptx: %s %u %u %zu %zu %zu\n", name.c_str(), grid, block, counts.steps, counts.meetings,
                  counts.barriers);
        return error;
      }};
}

}  // namespace stub
