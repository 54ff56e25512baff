// Loads, stores and atomics. Every address is checked: that it lies in the memory that the instruction names, that it is
// aligned, that shared memory has been written before it is read, and that nobody races with it.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "machine.hpp"

namespace ptx {
namespace {

uint64_t read(const char *from, uint32_t bytes) {
  uint64_t x = 0;
  memcpy(&x, from, bytes);
  return x;
}
uint64_t with_sign(uint64_t x, uint32_t bytes) {
  const unsigned unused = 64 - 8 * bytes;
  return (uint64_t)((int64_t)(x << unused) >> unused);
}
std::string text(const char *format, uint64_t a, uint64_t b) {
  char line[120];
  snprintf(line, sizeof line, format, a, b);
  return line;
}

}  // namespace

void Machine::load(Thread &t, const Instruction &i) {
  const char *from = memory(t, i, i.bytes * i.results, Use::READ);
  uint64_t *places = places_of(t);
  for (int k = 0; k < i.results; k++, from += i.bytes) {
    const uint64_t x = read(from, i.bytes);
    if (i.result[k] >= 0) places[i.result[k]] = i.is_signed ? with_sign(x, i.bytes) : x;
  }
}
void Machine::store(Thread &t, const Instruction &i) {
  char *to = memory(t, i, i.bytes * i.sources, Use::WRITE);
  const uint64_t *places = places_of(t);
  for (int k = 0; k < i.sources; k++, to += i.bytes) memcpy(to, &places[i.source[k]], i.bytes);
}
void Machine::change(Thread &t, const Instruction &i) {
  char *at = memory(t, i, i.bytes, Use::CHANGE);
  uint64_t *places = places_of(t);
  const uint64_t old = read(at, i.bytes), other = i.sources > 1 ? places[i.source[1]] : 0;
  const uint64_t changed = i.combine(old, places[i.source[0]], other);
  memcpy(at, &changed, i.bytes);
  if (i.results && i.result[0] >= 0) places[i.result[0]] = old;
}

char *Machine::memory(Thread &t, const Instruction &i, uint32_t bytes, Use use) {
  const uint64_t address = (i.base >= 0 ? places_of(t)[i.base] : 0) + (uint64_t)i.offset;
  if (address % bytes)
    fail(Code::MISALIGNED, t, i, text("the address 0x%" PRIx64 " is no multiple of %" PRIu64, address, bytes));
  switch (i.space) {
    case Space::SHARED: return shared_memory(t, i, (uint32_t)address, bytes, use);
    case Space::LOCAL: return local_memory(t, i, (uint32_t)address, bytes);
    case Space::PARAM: return parameter_memory(t, i, address, bytes);
    case Space::GLOBAL: return global_memory(t, i, address, bytes, use);
    case Space::GENERIC: break;
  }
  const uint64_t window = window_of(address);
  if (window != shared_window && window != local_window) return global_memory(t, i, address, bytes, use);
  if (owner_of(address) != owner_number(t, window))
    fail(Code::WRONG_SPACE, t, i,
         window == shared_window ? "shared memory of another block" : "another thread's local memory");
  return window == shared_window ? shared_memory(t, i, (uint32_t)address, bytes, use)
                                 : local_memory(t, i, (uint32_t)address, bytes);
}

char *Machine::shared_memory(Thread &t, const Instruction &i, uint32_t address, uint32_t bytes, Use use) {
  Block &block = *t.block;
  const uint64_t offset = (uint64_t)address - first_shared;
  if (address < first_shared || offset + bytes > block.shared.size())
    fail(Code::ILLEGAL_ADDRESS, t, i,
         text("%" PRIu64 " bytes outside of shared memory, at offset %" PRId64, bytes, offset));
  char *written = &block.written[offset];
  if (use != Use::WRITE && memchr(written, 0, bytes))
    fail(Code::FAILED, t, i,
         text("reads %" PRIu64 " bytes of shared memory, at offset %" PRIu64 ", that nobody has written", bytes,
              offset));
  memset(written, 1, bytes);
  if (settings.races) note_access(t, i, block.shadow, offset, bytes, use);
  return &block.shared[offset];
}
char *Machine::local_memory(Thread &t, const Instruction &i, uint32_t address, uint32_t bytes) const {
  const uint64_t offset = (uint64_t)address - first_local;
  if (address < first_local || offset + bytes > t.local.size())
    fail(Code::ILLEGAL_ADDRESS, t, i,
         text("%" PRIu64 " bytes outside of local memory, at offset %" PRId64, bytes, offset));
  return &t.local[offset];
}
char *Machine::parameter_memory(Thread &t, const Instruction &i, uint64_t offset, uint32_t bytes) const {
  if (offset + bytes > t.frames.back().function->parameter_bytes)
    fail(Code::ILLEGAL_ADDRESS, t, i,
         text("%" PRIu64 " bytes outside of the parameters, at offset %" PRId64, bytes, offset));
  return &t.parameters[t.frames.back().parameters + offset];
}
char *Machine::global_memory(Thread &t, const Instruction &i, uint64_t address, uint32_t bytes, Use use) {
  if (window_of(address) == shared_window || window_of(address) == local_window)
    fail(Code::WRONG_SPACE, t, i, "an instruction for global memory has an address of shared or local memory");
  const size_t region = region_of(t, i, address, bytes), offset = address - (uint64_t)regions[region].start;
  if (settings.races) note_access(t, i, shadows[region], offset, bytes, use);
  return regions[region].start + offset;
}
// An instruction mostly finds its memory where it did last time.
size_t Machine::region_of(const Thread &t, const Instruction &i, uint64_t address, uint32_t bytes) {
  const auto holds = [&](const Region &r) {
    return address >= (uint64_t)r.start && address + bytes <= (uint64_t)r.start + r.bytes;
  };
  uint32_t &last = last_region[i.number];
  if (last < regions.size() && holds(regions[last])) return last;
  const auto starts_after = [](uint64_t a, const Region &r) { return a < (uint64_t)r.start; };
  const auto after = std::upper_bound(regions.begin(), regions.end(), address, starts_after);
  if (after == regions.begin() || !holds(*std::prev(after)))
    fail(Code::ILLEGAL_ADDRESS, t, i,
         text("0x%" PRIx64 " and the next %" PRIu64 " bytes are in no allocation", address, bytes));
  return last = (uint32_t)(after - regions.begin() - 1);
}
void Machine::note_access(Thread &t, const Instruction &i, Shadow &shadow, size_t offset, uint32_t bytes, Use use) {
  Mark now;
  now.block = t.block->number, now.thread = (uint16_t)t.number, now.time = t.clock.time, now.instruction = i.number;
  now.writes = use != Use::READ, now.strong = i.strong, now.whole_grid = i.whole_grid, now.read_only = i.read_only;
  now.used = true;
  if (const Mark *earlier = shadow.access(offset, bytes, now, t.clock)) fail_race(t, i, *earlier);
}

}  // namespace ptx
