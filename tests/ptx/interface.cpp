// The C functions of libptx.so over the parser and the machine.
#include "interface.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "machine.hpp"

void *ptx_counter(const uint32_t *clocks, size_t l2_bytes) {
  ptx::Clocks all;
  static_assert(PTX_CLOCKS == std::tuple_size<ptx::Clocks>::value, "a number for each kind");
  std::copy(clocks, clocks + all.size(), all.begin());
  return new ptx::Counter(all, l2_bytes);
}
void ptx_write(const void *counter, const char *path) { static_cast<const ptx::Counter *>(counter)->write(path); }
void *ptx_load(const char *text, char *message, size_t room) {
  try {
    return new ptx::Module(ptx::parse(text));
  } catch (const ptx::NotUnderstood &error) {
    snprintf(message, room, "PTX %s", error.what.c_str());
  } catch (const std::exception &error) {
    snprintf(message, room, "PTX cannot be read: %s", error.what());
  }
  return nullptr;
}
const void *ptx_kernel(void *module, const char *name) {
  const auto &functions = static_cast<ptx::Module *>(module)->functions;
  const auto found = functions.find(name);
  return found != functions.end() && found->second->entry ? found->second.get() : nullptr;
}
int ptx_launch(void *module, const void *kernel, uint32_t grid, uint32_t block, const char *parameters, size_t bytes,
               const ptx_region *regions, size_t count, const ptx_settings *settings, ptx_counts *counts, char *message,
               size_t room) {
  std::vector<ptx::Region> memory;
  for (size_t k = 0; k < count; k++) memory.push_back({regions[k].start, regions[k].bytes});
  ptx::Settings chosen;
  chosen.seed = settings->seed, chosen.steps = settings->steps;
  chosen.blocks = settings->blocks, chosen.races = settings->races != 0;
  try {
    ptx::Machine machine(*static_cast<ptx::Module *>(module), *static_cast<const ptx::Function *>(kernel), chosen,
                         memory, static_cast<ptx::Counter *>(settings->counter));
    const ptx::Counts done = machine.launch(grid, block, parameters, bytes);
    *counts = {done.steps, done.meetings, done.barriers};
    return 0;
  } catch (const ptx::Fault &fault) {
    snprintf(message, room, "%s", fault.line.c_str());
    return (int)fault.code;
  }
}
