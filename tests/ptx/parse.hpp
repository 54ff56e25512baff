// The parser of a module: parse.cpp reads declarations, decode.cpp instructions.
#pragma once
#include <cstring>
#include <set>

#include "text.hpp"

namespace ptx {

struct Symbol {
  Space space;
  uint32_t offset;
};
// A branch whose label comes later: an instruction, or an entry of a table of branches.
struct Branch {
  size_t at;
  int table;
};

class Parser {
 public:
  explicit Parser(const std::string &text) : reader(text) {}
  void module();

  Module made;
  uint32_t line = 0;  // the present line, for messages

 private:
  Reader reader;
  Function *function = nullptr;
  Location location;
  uint32_t used = ~0u;  // what ".pragma used_bytes_mask" says of the next load
  uint32_t module_shared = 0;
  std::map<std::string, Symbol> symbols;
  std::map<std::string, Slot> slots;                    // parameters, of the function and of its calls
  std::map<std::string, int> labels, branch_tables;
  std::string last_label;
  std::vector<std::pair<Branch, std::string>> waiting;
  std::map<uint64_t, int> constants;
  std::vector<std::map<std::string, int>> names;        // registers, by scope
  std::set<std::string> ranges;                         // names that a number follows

  void skip_scope();
  void directive(const std::string &);
  void variable(const std::string &);
  void header(const std::string &);
  std::vector<Slot> formal(const std::string &);
  void whole_function(const std::string &);
  int *branch_target(const Branch &);
  void statement(const Piece &);

  // decode.cpp
  using Decoder = void (Parser::*)(Instruction &, const Words &);
  static const std::map<std::string, Decoder> &decoders();
  void registers(const std::string &);
  void instruction(const std::string &);
  int new_place(uint64_t value);
  int named(const std::string &);
  int constant(uint64_t value);
  int special(const std::string &);
  int operand(const std::string &);
  void results(Instruction &, const std::string &);
  void sources(Instruction &, const Words &, size_t first);
  void address(Instruction &, const std::string &);
  void memory_qualifiers(Instruction &, const Words &);
  std::string type(Instruction &, const Words &);
  void compute(Instruction &, const Words &);
  void move(Instruction &, const Words &);
  void load(Instruction &, const Words &);
  void store(Instruction &, const Words &);
  void atomic(Instruction &, const Words &);
  void reduction(Instruction &, const Words &);
  void window(Instruction &, const Words &);
  void nothing(Instruction &, const Words &);
  void branch(Instruction &, const Words &);
  void table_branch(Instruction &, const Words &);
  void call(Instruction &, const Words &);
  void leave(Instruction &, const Words &);
  void active(Instruction &, const Words &);
  void shuffle(Instruction &, const Words &);
  void vote(Instruction &, const Words &);
  void match(Instruction &, const Words &);
  void reduce(Instruction &, const Words &);
  void barrier(Instruction &, const Words &);
};

// Bits of a type's values, or 0 if there is no such type.
unsigned width_of(const std::string &type);

}  // namespace ptx
