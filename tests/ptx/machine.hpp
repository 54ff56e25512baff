// The machine that runs a launch. Each thread has its own program counter, as on GPUs since Volta; a random scheduler
// picks the thread that goes on, and for how long, and several blocks take turns. So the threads of a warp drift apart as
// far as instructions with .sync and barriers allow, and a kernel that relies on more order than it asks for fails.
//
//   run.cpp        a thread's instructions one by one, and calls
//   memory.cpp     loads, stores, atomics, and the checks of their addresses
//   warps.cpp      instructions at which lanes meet
//   schedule.cpp   blocks, barriers, and the choice of the thread that goes on
//   lockstep.cpp   the same with warps in lockstep, and what that costs a GPU
//   fault.cpp      messages
#pragma once
#include <string>

#include "code.hpp"
#include "count.hpp"
#include "races.hpp"

namespace ptx {

// Results of a launch: numbers of CUDA's driver.
enum class Code {
  ILLEGAL_ADDRESS = 700,
  TIMEOUT = 702,
  ILLEGAL_INSTRUCTION = 715,
  MISALIGNED = 716,
  WRONG_SPACE = 717,
  FAILED = 719
};
struct Fault {
  Code code;
  std::string line;
};

// Memory that a launch may use.
struct Region {
  char *start;
  size_t bytes;
};
// STUB_PTX_SEED and so on, see interpreter.hpp of the stub driver.
struct Settings {
  uint64_t seed, steps;  // of the scheduler; instructions after which a launch counts as endless
  unsigned blocks;       // that take turns
  bool races;            // whether to look for races
};
struct Counts {
  uint64_t steps = 0, meetings = 0, barriers = 0;
};

enum class State : uint8_t { RUNNING, AT_WARP, AT_BARRIER, DONE };
// A function that is being executed, and where its parts of the thread's memory begin.
struct Frame {
  const Function *function;
  uint32_t at;  // the instruction that is next; of a caller, the call
  size_t places, parameters, local;
};
struct Block;
struct Thread {
  State state = State::RUNNING;
  uint32_t number = 0, turn = 0;  // in its block; among those that can go on
  Block *block = nullptr;
  const Instruction *waits_at = nullptr;
  std::vector<Frame> frames;
  std::vector<uint64_t> places;
  std::vector<char> parameters, local;
  Clock clock;
};
struct Warp {
  uint32_t alive = 0, running = 0;  // masks of lanes
};
struct Block {
  uint32_t number = 0, alive = 0, at_barrier = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<uint32_t> turns;  // the threads that can go on
  std::vector<char> shared, written;  // written: whether a byte has been
  Shadow shadow;
  std::unique_ptr<Cache> l1;  // of the counting mode
  std::vector<Pace> paces;  // of its warps
};

class Machine {
 public:
  // With a counter, the launch runs in lockstep and is counted.
  Machine(const Module &module, const Function &kernel, const Settings &settings, const std::vector<Region> &regions,
          Counter *counter);
  // Runs all blocks. Throws Fault.
  Counts launch(unsigned grid, unsigned threads, const char *parameters, size_t bytes);

 private:
  const Module &module;
  const Function &kernel;
  const Settings settings;
  const std::vector<Region> regions;  // by address
  std::vector<Shadow> shadows;  // of the regions
  std::vector<uint32_t> last_region;  // by instruction: where it found its memory
  unsigned grid = 0, threads = 0;
  std::vector<char> arguments;
  uint64_t random_state;
  Counts counts;
  Counter *const counter;
  KernelCounts *const tally;

  // run.cpp
  void run(Thread &, unsigned budget);
  void enter(Thread &, const Function &);
  void call(Thread &, const Call &);
  bool leave(Thread &);
  void convert_address(Thread &, const Instruction &) const;
  void check_divisor(const Thread &, const Instruction &) const;

  // memory.cpp
  enum class Use { READ, WRITE, CHANGE };
  void load(Thread &, const Instruction &);
  void store(Thread &, const Instruction &);
  void change(Thread &, const Instruction &);
  char *memory(Thread &, const Instruction &, uint32_t bytes, Use);
  char *shared_memory(Thread &, const Instruction &, uint32_t offset, uint32_t bytes, Use);
  char *local_memory(Thread &, const Instruction &, uint32_t offset, uint32_t bytes) const;
  char *parameter_memory(Thread &, const Instruction &, uint64_t offset, uint32_t bytes) const;
  char *global_memory(Thread &, const Instruction &, uint64_t address, uint32_t bytes, Use);
  size_t region_of(const Thread &, const Instruction &, uint64_t address, uint32_t bytes);
  void note_access(Thread &, const Instruction &, Shadow &, size_t offset, uint32_t bytes, Use);

  // warps.cpp
  void meet(Thread &);
  uint32_t mask_of(const Thread &) const;
  bool together(const Thread &, uint32_t lanes) const;
  void shuffle(Block &, unsigned first, uint32_t lanes, const Instruction &);
  void vote(Block &, unsigned first, uint32_t lanes, const Instruction &);
  void match(Block &, unsigned first, uint32_t lanes, const Instruction &);
  void reduce(Block &, unsigned first, uint32_t lanes, const Instruction &);
  void join_clocks(Block &, unsigned first, uint32_t lanes);

  // schedule.cpp
  uint64_t random();
  std::unique_ptr<Block> new_block(uint32_t number);
  void take_turn(Block &);
  void stop(Thread &, State);
  void go_on(Thread &);
  void finish(Thread &);
  void try_barrier(Block &);
  void release_barrier(Block &);
  [[noreturn]] void deadlock(const Block &) const;

  // lockstep.cpp
  void run_in_lockstep();
  struct Group {
    uint8_t lanes[32];
    unsigned count;
    uint32_t end;  // where other lanes wait
  };
  Group next_group(Block &, size_t warp);
  void run_warp(Block &, size_t warp);
  void note_step(Block &, size_t warp, const Instruction &, uint32_t acting, size_t places);
  Wait note_memory(Block &, size_t warp, const Instruction &, uint32_t acting, Wait, uint64_t &more);
  Wait note_shared(const Instruction &, uint32_t acting, const uint64_t *addresses, uint32_t bytes, uint64_t &more);
  Wait note_global(Block &, const Instruction &, uint64_t *addresses, unsigned count, uint32_t bytes, Wait, uint64_t &more);
  void join_paces(Block &);

  // fault.cpp
  [[noreturn]] void fail(Code, const Thread &, const Instruction &, const std::string &what) const;
  [[noreturn]] void fail_race(const Thread &, const Instruction &, const Mark &earlier) const;
  std::string where(uint32_t instruction) const;
};

inline uint64_t *places_of(Thread &t) { return t.places.data() + t.frames.back().places; }
inline const uint64_t *places_of(const Thread &t) { return t.places.data() + t.frames.back().places; }

// Generic addresses of shared and local memory: a window's number above, then the number of the owner (a block or a
// thread), then the offset. Those of global memory are the host's.
constexpr uint64_t shared_window = 1, local_window = 2;
inline uint64_t window_of(uint64_t address) { return address >> 60; }
inline uint32_t owner_of(uint64_t address) { return (uint32_t)(address >> 32 & 0xFFFFFFF); }
inline uint32_t owner_number(const Thread &t, uint64_t window) {
  return (window == shared_window ? t.block->number : t.block->number * 1024 + t.number) & 0xFFFFFFF;
}
inline uint64_t generic_address(const Thread &t, uint64_t window, uint32_t offset) {
  return window << 60 | (uint64_t)owner_number(t, window) << 32 | offset;
}

}  // namespace ptx
