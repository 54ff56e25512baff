// What the counting mode counts: how often the warps of a launch execute each instruction, with how many lanes, and what
// their accesses cost. With it a launch runs in lockstep (lockstep.cpp): of a warp's lanes those go on that stand at the
// lowest instruction, deepest call first, so that lanes which part meet again as they nearly do on a GPU.
//
// Memory. A warp's access to global memory asks for sectors of 32 bytes. A load looks for them in its block's part of the
// L1 cache, which begins empty and keeps what it reads; stores, atomics and strong accesses go to the L2. The L2 keeps what
// was used last, over launches too; what it lacks and a load needs comes from DRAM, and what a store left in it goes back to
// DRAM when it is replaced. Both caches hold lines of 128 bytes, of which they fill the sectors that are asked for, and
// replace the line that was not used for longest, whatever its address (so a run's addresses do not matter). Shared memory
// gives each of its 32 banks one word of 4 bytes a wavefront: the words of an access of 8 or 16 bytes come in halves or
// quarters of the warp, and atomics on one word one after the other.
//
// Time. `path` is the clocks that a block needs if it never waits for another one: a warp issues an instruction a clock, once
// what it reads is there. Up to the next branch or barrier the order is the best one, as if ptxas had known it; a branch
// waits until all before it is issued, but not until loads have come that nobody has read. Barriers join the warps' times.
#pragma once
#include <array>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "code.hpp"

namespace ptx {

// Kinds of instructions by what they wait for, in the order in which their clocks are given.
enum class Wait : uint8_t { NONE, ALU, SPECIAL, DIVISION, EXCHANGE, SHARED, L1, L2, DRAM, BARRIER, KINDS };
using Clocks = std::array<uint32_t, (size_t)Wait::KINDS>;

// An instruction's share of a kernel's counts. Sectors: `asked` of the L1 or L2, `l2` of the L2, `dram` of memory.
struct Spent {
  uint64_t warps = 0, lanes = 0, asked = 0, lines = 0, l2 = 0, dram = 0, wavefronts = 0;
};

class Cache {
 public:
  explicit Cache(size_t bytes) : most(bytes / 128) {}
  // Asks for a sector, by its number. Returns whether it was there; it is now.
  bool access(uint64_t sector, bool writes);
  uint64_t written_back = 0;  // sectors

 private:
  struct Line {
    uint64_t number;
    uint8_t here, changed;  // masks of sectors
  };
  size_t most;
  std::list<Line> lines;  // the last used first
  std::unordered_map<uint64_t, std::list<Line>::iterator> places;
};
// A set of sectors.
class Touched {
 public:
  void add(uint64_t sector) { pages[sector / 64] |= uint64_t(1) << sector % 64; }
  uint64_t count() const {
    uint64_t all = 0;
    for (const auto &page : pages) all += (uint64_t)__builtin_popcountll(page.second);
    return all;
  }

 private:
  std::unordered_map<uint64_t, uint64_t> pages;
};

struct KernelCounts {
  uint64_t launches = 0, blocks = 0, threads = 0, barriers = 0, path = 0, longest = 0, written_back = 0;
  Touched touched;
  std::vector<Spent> spent;  // by instruction
  std::vector<Wait> waits;
};
// The counts of all launches of a process.
class Counter {
 public:
  Counter(const Clocks &clocks, size_t l2_bytes) : clocks(clocks), l2(l2_bytes) {}
  KernelCounts &of(const Module &, const Function &);
  // The function with as few places as live registers need, so that a block's threads fit into this computer's caches.
  const Function &compact(const Function &);
  // Writes a file of lines: `kernel` with its name, the file of its PTX and its numbers, then `line` for each instruction
  // that was executed, with its line of the PTX. The PTX goes into files beside it.
  void write(const std::string &path) const;

  const Clocks clocks;
  Cache l2;

 private:
  struct Entry {
    const Module *module;
    KernelCounts counts;
  };
  std::map<std::string, Entry> kernels;
  std::map<const Function *, Function> compacted;
};

// What a block adds while it runs.
struct Pace {
  uint64_t time = 0, issued = 0;  // when the last instruction has begun; of the present piece of code, when the next may
  std::vector<uint64_t> ready;  // by place: when its value is there
};

}  // namespace ptx
