// A PTX module, decoded: what the parser makes of nvcc's text, and what the machine runs.
//
// A thread's frame has one 64-bit place for each register. The first places hold what PTX calls special registers, then
// come the function's constants, then its own registers, so that every operand is the index of a place. The bits of a
// place above a narrower value are undefined: a reader takes as many bits as the instruction's type has.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

enum class Kind : uint8_t {
  COMPUTE,  // registers to registers
  DIVIDE,  // the same, if the divisor is not 0
  LOAD,  // memory to registers
  STORE,  // registers to memory
  ATOMIC,  // reads, combines, writes
  WINDOW,  // an address of a space to a generic one, or back
  NOTHING,  // fences: the machine's memory is in order
  BRANCH,  // to `target`
  TABLE,  // to one of `tables[target]`, by index
  CALL,  // of `calls[target]`
  RETURN,  // from a function, or the end of a thread
  EXIT,  // the end of a thread
  TRAP,  // a failure that the kernel asks for
  ACTIVE,  // activemask
  SHUFFLE,  // from here on: instructions at which the lanes of a warp meet
  VOTE,
  MATCH,
  REDUCE,
  SYNC_WARP,
  SYNC_BLOCK,  // the threads of a block meet
};
enum class Space : uint8_t { GENERIC, GLOBAL, SHARED, LOCAL, PARAM };
// What SHUFFLE, VOTE, MATCH, WINDOW and SYNC_BLOCK do.
enum class Mode : uint8_t { NONE, UP, DOWN, BUTTERFLY, INDEX, ALL, ANY, UNIFORM, BALLOT, TO_SPACE, COUNT, AND, OR };

// The places of special registers.
enum Special : int {
  TID,
  BLOCK_THREADS,
  BLOCK,
  BLOCKS,
  LANE,
  LOCAL_BASE,
  LANES_EQUAL,
  LANES_BELOW,
  LANES_ABOVE,
  SPECIALS
};

struct Instruction;
using Compute = void (*)(uint64_t *places, const Instruction &);
using Combine = uint64_t (*)(uint64_t old, uint64_t value, uint64_t other);

struct Instruction {
  Kind kind = Kind::NOTHING;
  Space space = Space::GENERIC;
  Mode mode = Mode::NONE;
  uint8_t bytes = 0;  // of one element
  uint8_t results = 0, sources = 0;
  bool is_signed = false;  // a load that extends the sign
  bool strong = false;  // volatile, relaxed or atomic: two strong accesses are no race
  bool whole_grid = false;  // strong for all blocks, not for its own block only
  bool read_only = false;  // ld.global.nc: of memory that nobody changes in this launch
  bool negated = false;  // the guard is "if not"
  int guard = -1;  // the place of the predicate
  int result[4] = {-1, -1, -1, -1}, source[4] = {-1, -1, -1, -1};
  int base = -1;  // an address is base + offset; without a base, offset
  int64_t offset = 0;
  int target = -1;
  Compute compute = nullptr;
  Combine combine = nullptr;
  uint32_t used = ~0u;  // a mask of the loaded bytes that are used: the compiler may load more, and says so
  uint32_t number = 0;  // in its module
};

// A place in a source file; `caller` is where an inlined function was called.
struct Location {
  int file = 0, line = 0, caller_file = 0, caller_line = 0;
};
// For messages: an instruction's text, where it stands in the PTX, and where its source does.
struct Note {
  std::string text, function;
  uint32_t line = 0;
  Location source;
};
struct Slot {
  uint32_t offset = 0, bytes = 0;
};
struct Function;
// Copies of parameters: from the caller's bytes to the callee's, and of the result back.
struct Call {
  std::string name;
  const Function *callee = nullptr;
  std::vector<Slot> arguments, results;
};
struct Function {
  std::string name;
  bool entry = false;
  std::vector<Instruction> code;
  std::vector<uint64_t> places;  // what they hold when the function is entered
  std::vector<Call> calls;
  std::vector<std::vector<int>> tables;  // of branches by index
  std::vector<Slot> parameters, results;
  uint32_t parameter_bytes = 0;  // of the entry's own parameters, or of all that the function passes on
  uint32_t entry_bytes = 0;
  uint32_t shared_bytes = 0, local_bytes = 0;
};
struct Module {
  std::string text;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::vector<Note> notes;  // by number of an instruction
  std::map<int, std::string> files;
};

// What a register holds before it is written.
constexpr uint64_t undefined_register = 0xDEADBEEFDEADBEEFull;
// Shared and local memory begin here, so that address 0 is nobody's.
constexpr uint32_t first_shared = 1024, first_local = 64;

// What parse.cpp throws, for an unknown instruction, say.
struct NotUnderstood {
  std::string what;
};
Module parse(const std::string &text);

// The function of an opcode such as "add.s32", or null. Filled by compute_*.cpp.
Compute computation(const std::string &opcode);
// The function of an atomic operation such as "min.u64", or null.
Combine combination(const std::string &operation);

}  // namespace ptx
