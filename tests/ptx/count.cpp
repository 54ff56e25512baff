// Caches, registers that share places, and the file of counts. count.hpp says what is counted.
#include "count.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "text.hpp"

namespace ptx {
namespace {

// By the opcode; of loads and atomics, which cache or memory had the data decides.
Wait wait_of(const std::string &text) {
  const Words words = words_of(text);
  const std::string &name = words.parts[0];
  const auto is = [&](std::initializer_list<const char *> names) {
    return std::any_of(names.begin(), names.end(), [&](const char *one) { return name == one; });
  };
  if (is({"mov", "cvta", "bra", "brx", "ret", "exit", "membar", "fence", "prefetch", "st", "red"})) return Wait::NONE;
  if (is({"ld", "ldu", "atom"})) return words.has("param") ? Wait::NONE : words.has("shared") ? Wait::SHARED : Wait::L1;
  if (is({"shfl", "vote", "match", "redux"})) return Wait::EXCHANGE;
  if (is({"bar", "barrier"})) return words.has("warp") ? Wait::ALU : Wait::BARRIER;
  if (is({"div", "rem"})) return Wait::DIVISION;
  if (is({"popc", "clz", "bfind", "brev", "rcp", "sqrt", "rsqrt", "ex2", "lg2"})) return Wait::SPECIAL;
  const bool real = words.opcode.find(".f64") != std::string::npos || words.opcode.find(".f32") != std::string::npos;
  if (name == "cvt") return real ? Wait::SPECIAL : Wait::NONE;
  // Parts of an address, of which ptxas makes one instruction with the addition that follows.
  return words.has("wide") || words.opcode == "shl.b64" ? Wait::NONE : Wait::ALU;
}

// From the first to the last instruction at which a place holds a value that may still be read.
struct Life {
  int place, first, last;
  bool round;  // whether it may have a value that comes round a loop
};
// Of each instruction the straight piece of code that it is in.
std::vector<int> pieces_of(const Function &function) {
  std::vector<int> begins(function.code.size() + 1), piece(function.code.size());
  for (size_t at = 0; at < function.code.size(); at++) {
    const Instruction &i = function.code[at];
    if (i.kind == Kind::BRANCH || i.kind == Kind::TABLE || i.kind == Kind::CALL) begins[at + 1] = 1;
    if (i.kind == Kind::BRANCH) begins[i.target] = 1;
    if (i.kind == Kind::TABLE)
      for (int target : function.tables[i.target]) begins[target] = 1;
  }
  for (size_t at = 1; at < piece.size(); at++) piece[at] = piece[at - 1] + begins[at];
  return piece;
}
// The lives of a function's registers. One that is named in several pieces of code, or read before it is written, lives
// in the whole of each loop that names it.
std::vector<Life> lives(const Function &function) {
  std::vector<Life> found(function.places.size(), {-1, -1, -1, false});
  const std::vector<int> piece = pieces_of(function);
  const auto name = [&](int place, int at, bool reads) {
    if (place < SPECIALS || function.places[place] != undefined_register) return;
    Life &life = found[place];
    if (life.place < 0) life = {place, at, at, reads};
    life.last = at, life.round |= piece[at] != piece[life.first];
  };
  std::vector<std::pair<int, int>> loops;
  for (int at = 0; at < (int)function.code.size(); at++) {
    const Instruction &i = function.code[at];
    for (int place : i.source) name(place, at, true);
    name(i.base, at, true), name(i.guard, at, true);
    for (int place : i.result) name(place, at, i.guard >= 0);
    if (i.kind == Kind::BRANCH && i.target <= at) loops.push_back({i.target, at});
    if (i.kind == Kind::TABLE)
      for (int target : function.tables[i.target])
        if (target <= at) loops.push_back({target, at});
  }
  found.erase(std::remove_if(found.begin(), found.end(), [](const Life &l) { return l.place < 0; }), found.end());
  for (bool changed = true; changed;) {
    changed = false;
    for (Life &life : found)
      for (const auto &[begin, end] : loops) {
        if (!life.round || life.first > end || life.last < begin || (life.first <= begin && life.last >= end)) continue;
        life.first = std::min(life.first, begin), life.last = std::max(life.last, end), changed = true;
      }
  }
  std::sort(found.begin(), found.end(), [](const Life &a, const Life &b) { return a.first < b.first; });
  return found;
}

}  // namespace

bool Cache::access(uint64_t sector, bool writes) {
  const uint64_t number = sector / 4;
  const uint8_t bit = (uint8_t)(1u << sector % 4);
  if (lines.empty() || lines.front().number != number) {
    const auto found = places.find(number);
    if (found != places.end()) {
      lines.splice(lines.begin(), lines, found->second);
    } else {
      if (lines.size() < most || lines.empty()) {
        lines.push_front({number, 0, 0});
      } else {
        written_back += (uint64_t)__builtin_popcount(lines.back().changed);
        places.erase(lines.back().number);
        lines.splice(lines.begin(), lines, std::prev(lines.end()));
        lines.front() = {number, 0, 0};
      }
      places[number] = lines.begin();
    }
  }
  Line &line = lines.front();
  const bool there = line.here & bit;
  line.here |= bit;
  if (writes) line.changed |= bit;
  return there;
}

KernelCounts &Counter::of(const Module &module, const Function &kernel) {
  Entry &entry = kernels[kernel.name];
  if (!entry.module) {
    entry.module = &module;
    entry.counts.spent.resize(module.notes.size());
    for (const Note &note : module.notes) entry.counts.waits.push_back(wait_of(note.text));
  }
  return entry.counts;
}

const Function &Counter::compact(const Function &function) {
  const auto known = compacted.find(&function);
  if (known != compacted.end()) return known->second;
  std::vector<int> renamed(function.places.size(), -1);
  std::vector<uint64_t> places;
  for (size_t k = 0; k < function.places.size(); k++)
    if (k < SPECIALS || function.places[k] != undefined_register) renamed[k] = (int)places.size(), places.push_back(function.places[k]);
  std::vector<std::pair<int, int>> busy;  // a heap: until when, which place
  const auto later = std::greater<std::pair<int, int>>();
  for (const Life &life : lives(function)) {
    if (!busy.empty() && busy.front().first < life.first) {
      std::pop_heap(busy.begin(), busy.end(), later);
      renamed[life.place] = busy.back().second, busy.pop_back();
    } else {
      renamed[life.place] = (int)places.size(), places.push_back(undefined_register);
    }
    busy.push_back({life.last, renamed[life.place]}), std::push_heap(busy.begin(), busy.end(), later);
  }
  Function &made = compacted[&function] = function;
  made.places = places;
  const auto rename = [&](int &place) { if (place >= 0) place = renamed[place]; };
  for (Instruction &i : made.code) {
    rename(i.guard), rename(i.base);
    for (int &place : i.result) rename(place);
    for (int &place : i.source) rename(place);
  }
  return made;
}

void Counter::write(const std::string &path) const {
  std::map<const Module *, std::string> files;
  FILE *file = fopen(path.c_str(), "w");
  if (!file) return;
  for (const auto &[name, entry] : kernels) {
    std::string &text = files[entry.module];
    if (text.empty()) {
      text = path + "." + std::to_string(files.size()) + ".ptx";
      if (FILE *out = fopen(text.c_str(), "w")) fwrite(entry.module->text.data(), 1, entry.module->text.size(), out), fclose(out);
    }
    const KernelCounts &c = entry.counts;
    fprintf(file, "kernel\t%s\t%s\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\n", name.c_str(), text.c_str(), c.launches,
            c.blocks, c.threads, c.barriers, c.path, c.longest, c.written_back, c.touched.count());
    for (size_t k = 0; k < c.spent.size(); k++) {
      const Spent &s = c.spent[k];
      if (s.warps)
        fprintf(file, "line\t%u\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\n", entry.module->notes[k].line, s.warps, s.lanes,
                s.asked, s.lines, s.l2, s.dram, s.wavefronts);
    }
  }
  fclose(file);
}

}  // namespace ptx
