// PTX images: libptx.so (tests/ptx) reads them and runs their kernels. It is loaded with the first of them, so the driver
// works without it otherwise. Settings, from the environment:
//   STUB_PTX_SEED    of the random scheduler (1)
//   STUB_PTX_BLOCKS  how many blocks take turns (2)
//   STUB_PTX_RACES   whether races are looked for (1)
//   STUB_PTX_STEPS   instructions after which a launch counts as endless (4000000000)
//   STUB_PTX_COUNTS  a file: launches run in lockstep, and what they cost is written there at the process's end (count.hpp)
//   STUB_PTX_CLOCKS  then: clocks by kind of `Wait` (count.hpp), "0,4,..."
//   STUB_PTX_L2      then: bytes of the L2 cache
//   STUB_PTX_TALK    1: a line for each launch on stderr: kernel, blocks, threads, instructions, meetings, barriers
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
  decltype(ptx_counter) *counter = function<decltype(ptx_counter)>("ptx_counter");
  decltype(ptx_write) *write = function<decltype(ptx_write)>("ptx_write");
};
inline const Interpreter &interpreter() {
  static const Interpreter *it = new Interpreter;
  return *it;
}

// Returns the counter of this process's launches, or null if none is asked for.
inline void *ptx_counter_now() {
  static void *const it = [] {
    if (!getenv("STUB_PTX_COUNTS")) return (void *)nullptr;
    std::vector<uint32_t> clocks;
    const char *text = getenv("STUB_PTX_CLOCKS");
    for (char *end; text && *text; text = *end ? end + 1 : end) clocks.push_back((uint32_t)strtoul(text, &end, 10));
    clocks.resize(PTX_CLOCKS);
    atexit([] { interpreter().write(ptx_counter_now(), getenv("STUB_PTX_COUNTS")); });
    return interpreter().counter(clocks.data(), setting("STUB_PTX_L2", 50 << 20));
  }();
  return it;
}
// Returns the module of a text, or null; the reason goes to stderr.
inline void *load_ptx(const std::string &text) {
  char message[1000];
  void *module = interpreter().load(text.c_str(), message, sizeof message);
  if (!module) fprintf(stderr, "stub driver: %s\n", message);
  return module;
}

// Each launch has another order of threads, and another seed gives all of them others.
inline ptx_settings ptx_settings_now() {
  return {setting("STUB_PTX_SEED", 1) * 1000003 + driver().launches, setting("STUB_PTX_STEPS", 4000000000),
          (uint32_t)setting("STUB_PTX_BLOCKS", 2), (uint32_t)setting("STUB_PTX_RACES", 1), ptx_counter_now()};
}
inline CUresult run_ptx(void *module, const void *kernel, const char *name, Device &device, unsigned grid, unsigned block,
                        const std::string &arguments) {
  const ptx_settings settings = ptx_settings_now();
  const std::vector<ptx_region> regions = device.memory.regions<ptx_region>();
  char message[2000];
  ptx_counts counts;
  const int error = interpreter().launch(module, kernel, grid, block, arguments.data(), arguments.size(), regions.data(),
                                         regions.size(), &settings, &counts, message, sizeof message);
  if (error) fprintf(stderr, "stub driver: %s\n", message);
  if (setting("STUB_PTX_TALK", 0))
    fprintf(stderr, "ptx: %s %u %u %zu %zu %zu\n", name, grid, block, counts.steps, counts.meetings, counts.barriers);
  return error;
}
// Returns a kernel of a module, or null.
inline Function *ptx_function(void *module, const char *name) {
  const void *kernel = interpreter().kernel(module, name);
  if (!kernel) return nullptr;
  return new Function{name, [=, name = std::string(name)](Device &device, unsigned grid, unsigned block,
                                                          const std::string &arguments) {
    return run_ptx(module, kernel, name.c_str(), device, grid, block, arguments);
  }};
}

}  // namespace stub
