// A detector of races. Two accesses to the same bytes by different threads are a race if one of them writes, and nothing
// orders them. What orders accesses:
//
//   bar.sync        those of all threads of the block before it come before all after it
//   bar.warp.sync   the same for the lanes of its mask, and for whatever these were ordered with
//   the launch      all of a launch comes before the next
//
// Shuffles, votes and matches order nothing (PTX says so). Accesses that are both strong (atomics, ld.relaxed,
// ld.volatile) are no race among themselves, but a change by an atomic of .cta scope and an access by another block are.
// A read of .cta scope beside another block's atomics is no race: kernels do that where an old value does no harm. Memory
// that is read through ld.global.nc must not be written in the same launch at all.
//
// Of each cell, which is as wide as the narrowest access that its page has seen, the last writer and the last two readers
// are remembered. So a race may be missed in one order of the threads, and found in another.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ptx {

// An access: who, how and when, and the number of its instruction.
struct Mark {
  uint32_t block = 0, time = 0, instruction = 0;
  uint16_t thread = 0;
  bool writes : 1, strong : 1, whole_grid : 1, read_only : 1, used : 1;
  Mark() : writes(false), strong(false), whole_grid(false), read_only(false), used(false) {}
};

// A thread's time, which advances at each synchronisation; the time of its block's last barrier, which comes after all
// that the block did before; and for each lane of its warp the time up to which the lane's accesses come before its own.
struct Clock {
  uint32_t time = 1, barrier = 0;
  std::array<uint32_t, 32> seen{};
};

// What is remembered of a range of memory.
class Shadow {
 public:
  explicit Shadow(size_t bytes = 0) : pages((bytes + page_bytes - 1) / page_bytes) {}
  // Notes an access. Returns the earlier one with which it races, or null.
  const Mark *access(size_t offset, uint32_t bytes, const Mark &now, const Clock &clock);

 private:
  struct Cell {
    Mark write, read, other_read;
  };
  struct Page {
    uint32_t grain = 0;
    std::vector<Cell> cells;
  };
  static constexpr size_t page_bytes = 512;
  std::vector<std::unique_ptr<Page>> pages;

  static void refine(Page &, uint32_t grain);
  static const Mark *conflict(const Cell &, const Mark &now, const Clock &);
  static void remember(Cell &, const Mark &now, const Clock &);
};

}  // namespace ptx
