// Decodes instructions: the opcode's parts and the operands become an Instruction, in which nothing is a string any more.
// An opcode that is not known is an error, so that no instruction is ever run as something that it is not.
#include <utility>

#include "parse.hpp"

namespace ptx {

const std::map<std::string, Parser::Decoder> &Parser::decoders() {
  static const std::map<std::string, Decoder> all = {
      {"mov", &Parser::move},          {"ld", &Parser::load},          {"ldu", &Parser::load},
      {"st", &Parser::store},          {"atom", &Parser::atomic},      {"red", &Parser::reduction},
      {"cvta", &Parser::window},       {"membar", &Parser::nothing},   {"fence", &Parser::nothing},
      {"nanosleep", &Parser::nothing}, {"prefetch", &Parser::nothing}, {"bra", &Parser::branch},
      {"brx", &Parser::table_branch},  {"call", &Parser::call},        {"ret", &Parser::leave},
      {"exit", &Parser::leave},        {"trap", &Parser::leave},       {"activemask", &Parser::active},
      {"shfl", &Parser::shuffle},      {"vote", &Parser::vote},        {"match", &Parser::match},
      {"redux", &Parser::reduce},      {"bar", &Parser::barrier},      {"barrier", &Parser::barrier}};
  return all;
}

void Parser::instruction(const std::string &text) {
  const Words words = words_of(text);
  Instruction made_now;
  made_now.number = (uint32_t)made.notes.size();
  made_now.used = std::exchange(used, ~0u);
  if (!words.guard.empty()) {
    made_now.negated = words.guard[0] == '!';
    made_now.guard = named(words.guard.substr(made_now.negated));
  }
  const auto found = decoders().find(words.parts[0]);
  (this->*(found == decoders().end() ? &Parser::compute : found->second))(made_now, words);
  function->code.push_back(made_now);
  made.notes.push_back({one_line(text), function->name, line, location});
}

// --- Operands ---
int Parser::new_place(uint64_t value) {
  function->places.push_back(value);
  return (int)function->places.size() - 1;
}
// ".reg .b32 %r<97>" declares %r0 to %r96, which get their places when they are named; ".reg .b32 t1, t2" two names in
// their scope.
void Parser::registers(const std::string &text) {
  const size_t type = text.find('.', 1), end = text.find_first_of(" \t", type);
  for (const std::string &name : split(trim(text.substr(end)), ',')) {
    const size_t bracket = name.find('<');
    if (bracket == std::string::npos) names.back()[name] = new_place(undefined_register);
    if (bracket != std::string::npos) ranges.insert(name.substr(0, bracket));
  }
}
int Parser::named(const std::string &name) {
  for (auto scope = names.rbegin(); scope != names.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return found->second;
  }
  if (!ranges.count(name.substr(0, name.find_last_not_of("0123456789") + 1)))
    throw NotUnderstood{name + " is not known here"};
  return names.front()[name] = new_place(undefined_register);
}
int Parser::constant(uint64_t value) {
  const auto found = constants.find(value);
  return found != constants.end() ? found->second : constants[value] = new_place(value);
}
// The place of a special register, or -1. Blocks and grids have one dimension.
int Parser::special(const std::string &name) {
  static const std::map<std::string, int> places = {
      {"%tid.x", TID},   {"%ntid.x", BLOCK_THREADS},    {"%ctaid.x", BLOCK},           {"%nctaid.x", BLOCKS},
      {"%laneid", LANE}, {"%lanemask_eq", LANES_EQUAL}, {"%lanemask_lt", LANES_BELOW}, {"%lanemask_gt", LANES_ABOVE}};
  const auto found = places.find(name);
  if (found != places.end()) return found->second;
  for (const char *zero : {"%tid.y", "%tid.z", "%ctaid.y", "%ctaid.z"})
    if (name == zero) return constant(0);
  for (const char *one : {"%ntid.y", "%ntid.z", "%nctaid.y", "%nctaid.z"})
    if (name == one) return constant(1);
  if (name.find('.') != std::string::npos) throw NotUnderstood{"the register " + name + " is not known here"};
  return -1;
}
int Parser::operand(const std::string &x) {
  if (x[0] == '%' && special(x) >= 0) return special(x);
  if (starts_with(x, "0d") || starts_with(x, "0f")) return constant(std::stoull(x.substr(2), nullptr, 16));
  if (isdigit((unsigned char)x[0])) return constant(std::stoull(x, nullptr, 0));
  if (x[0] == '-') return constant((uint64_t)std::stoll(x, nullptr, 0));
  if (slots.count(x)) return constant(slots[x].offset);
  const auto symbol = symbols.find(x);
  if (symbol != symbols.end() && symbol->second.space == Space::SHARED) return constant(symbol->second.offset);
  return named(x);
}
// "%r1", "%p1|%p2" or "{%r1, %r2}"; "_" is nowhere.
void Parser::results(Instruction &i, const std::string &text) {
  for (const std::string &name : text[0] == '{' ? split(inside(text), ',') : split(text, '|')) {
    if (i.results == 4) throw NotUnderstood{"more than four results"};
    i.result[i.results++] = name == "_" ? -1 : named(name);
  }
}
void Parser::sources(Instruction &i, const Words &words, size_t first) {
  for (size_t k = first; k < words.operands.size(); k++) {
    const std::string &text = words.operands[k];
    for (const std::string &one : text[0] == '{' ? split(inside(text), ',') : std::vector<std::string>{text}) {
      if (i.sources == 4) throw NotUnderstood{"more than four sources"};
      i.source[i.sources++] = operand(one);
    }
  }
}
// "[base+offset]"
void Parser::address(Instruction &i, const std::string &text) {
  if (text[0] != '[') throw NotUnderstood{"not an address: " + text};
  const std::string all = inside(text);
  const size_t plus = all.find('+');
  const std::string base = trim(all.substr(0, plus));
  if (plus != std::string::npos) i.offset = std::stoll(trim(all.substr(plus + 1)), nullptr, 0);
  const auto symbol = symbols.find(base);
  if (symbol != symbols.end() && symbol->second.space == Space::LOCAL) {
    i.base = LOCAL_BASE;
    i.offset += symbol->second.offset;
  } else {
    i.base = operand(base);
  }
}
// The type at the end of the opcode, whose bytes and sign the instruction takes.
std::string Parser::type(Instruction &i, const Words &words) {
  const std::string &last = words.parts.back();
  if (!width_of(last)) throw NotUnderstood{"no type at the end of " + words.opcode};
  i.bytes = (uint8_t)((width_of(last) + 7) / 8);
  i.is_signed = last[0] == 's';
  return last;
}

// --- Instructions ---
void Parser::compute(Instruction &i, const Words &words) {
  i.kind = Kind::COMPUTE;
  i.compute = computation(words.opcode);
  if (!i.compute) throw NotUnderstood{"the instruction " + words.opcode + " is not known here"};
  const bool whole = words.parts.back()[0] != 'f';
  if (whole && (words.parts[0] == "div" || words.parts[0] == "rem")) i.kind = Kind::DIVIDE, type(i, words);
  results(i, words.operands.at(0));
  sources(i, words, 1);
}
// Also of several registers to a wide one, and back, and of the address of a local variable.
void Parser::move(Instruction &i, const Words &words) {
  const std::string &to = words.operands.at(0), &from = words.operands.at(1);
  i.kind = Kind::COMPUTE;
  results(i, to);
  const auto symbol = symbols.find(from);
  if (symbol != symbols.end() && symbol->second.space == Space::LOCAL) {
    i.compute = computation("add.u64");
    i.source[0] = LOCAL_BASE, i.source[1] = constant(symbol->second.offset);
    return;
  }
  sources(i, words, 1);
  std::string name = words.opcode;
  if (to[0] == '{') name = "unpack" + std::to_string(i.results) + "." + words.parts.back();
  if (from[0] == '{') name = "pack" + std::to_string(i.sources) + "." + words.parts.back();
  i.compute = computation(name);
  if (!i.compute) throw NotUnderstood{"the move " + name + " is not known here"};
}
void Parser::memory_qualifiers(Instruction &i, const Words &words) {
  type(i, words);
  i.space = words.has("global")   ? Space::GLOBAL
            : words.has("shared") ? Space::SHARED
            : words.has("local")  ? Space::LOCAL
            : words.has("param")  ? Space::PARAM
                                  : Space::GENERIC;
  for (const char *order : {"volatile", "relaxed", "acquire", "release"}) i.strong |= words.has(order);
  i.whole_grid = i.strong && !words.has("cta");
  i.read_only = words.has("nc");
}
void Parser::load(Instruction &i, const Words &words) {
  i.kind = Kind::LOAD;
  memory_qualifiers(i, words);
  results(i, words.operands.at(0));
  address(i, words.operands.at(1));
}
void Parser::store(Instruction &i, const Words &words) {
  i.kind = Kind::STORE;
  memory_qualifiers(i, words);
  address(i, words.operands.at(0));
  sources(i, words, 1);
}
void Parser::atomic(Instruction &i, const Words &words) {
  results(i, words.operands.at(0));
  Words rest = words;
  rest.operands.erase(rest.operands.begin());
  reduction(i, rest);
}
// An atomic without a result.
void Parser::reduction(Instruction &i, const Words &words) {
  i.kind = Kind::ATOMIC;
  memory_qualifiers(i, words);
  i.strong = true;
  i.whole_grid = !words.has("cta");
  address(i, words.operands.at(0));
  sources(i, words, 1);
  i.combine = combination(words.parts.at(words.parts.size() - 2) + "." + words.parts.back());
  if (!i.combine) throw NotUnderstood{"the atomic " + words.opcode + " is not known here"};
}
// Global addresses are generic ones; shared and local ones count from 0.
void Parser::window(Instruction &i, const Words &words) {
  results(i, words.operands.at(0));
  sources(i, words, 1);
  i.kind = words.has("global") ? Kind::COMPUTE : Kind::WINDOW;
  i.compute = computation("mov.u64");
  i.space = words.has("shared") ? Space::SHARED : Space::LOCAL;
  i.mode = words.has("to") ? Mode::TO_SPACE : Mode::NONE;
  if (words.has("param") || words.has("const")) throw NotUnderstood{words.opcode + " is not known here"};
}
void Parser::nothing(Instruction &, const Words &) {}
void Parser::branch(Instruction &i, const Words &words) {
  i.kind = Kind::BRANCH;
  waiting.push_back({{function->code.size(), -1}, words.operands.at(0)});
}
void Parser::table_branch(Instruction &i, const Words &words) {
  i.kind = Kind::TABLE;
  i.source[i.sources++] = operand(words.operands.at(0));
  i.target = branch_tables.at(words.operands.at(1));
}
// call (result), name, (arguments): the result and the arguments may be missing.
void Parser::call(Instruction &i, const Words &words) {
  i.kind = Kind::CALL;
  i.target = (int)function->calls.size();
  Call call;
  for (const std::string &text : words.operands) {
    if (text[0] != '(') {
      call.name = text;
      continue;
    }
    for (const std::string &name : split(inside(text), ','))
      (call.name.empty() ? call.results : call.arguments).push_back(slots.at(name));
  }
  function->calls.push_back(call);
}
void Parser::leave(Instruction &i, const Words &words) {
  i.kind = words.parts[0] == "ret" ? Kind::RETURN : words.parts[0] == "exit" ? Kind::EXIT : Kind::TRAP;
}
void Parser::active(Instruction &i, const Words &words) {
  i.kind = Kind::ACTIVE;
  results(i, words.operands.at(0));
}
void Parser::shuffle(Instruction &i, const Words &words) {
  i.kind = Kind::SHUFFLE;
  i.mode = words.has("up")     ? Mode::UP
           : words.has("down") ? Mode::DOWN
           : words.has("bfly") ? Mode::BUTTERFLY
                               : Mode::INDEX;
  if (!words.has("sync")) throw NotUnderstood{words.opcode + " is not known here"};
  results(i, words.operands.at(0));
  sources(i, words, 1);
}
void Parser::vote(Instruction &i, const Words &words) {
  i.kind = Kind::VOTE;
  i.mode = words.has("all")   ? Mode::ALL
           : words.has("any") ? Mode::ANY
           : words.has("uni") ? Mode::UNIFORM
                              : Mode::BALLOT;
  if (!words.has("sync")) throw NotUnderstood{words.opcode + " is not known here"};
  results(i, words.operands.at(0));
  sources(i, words, 1);
}
void Parser::match(Instruction &i, const Words &words) {
  i.kind = Kind::MATCH;
  i.mode = words.has("all") ? Mode::ALL : Mode::ANY;
  type(i, words);
  results(i, words.operands.at(0));
  sources(i, words, 1);
}
void Parser::reduce(Instruction &i, const Words &words) {
  i.kind = Kind::REDUCE;
  i.combine = combination(words.parts.at(words.parts.size() - 2) + "." + words.parts.back());
  if (!i.combine) throw NotUnderstood{words.opcode + " is not known here"};
  results(i, words.operands.at(0));
  sources(i, words, 1);
}
// bar.sync 0; bar.red.popc.u32 d, 0, p; bar.red.and.pred d, 0, p; bar.warp.sync mask
void Parser::barrier(Instruction &i, const Words &words) {
  i.kind = words.has("warp") ? Kind::SYNC_WARP : Kind::SYNC_BLOCK;
  const bool reduces = words.has("red"), known = reduces || words.has("sync");
  if (reduces) results(i, words.operands.at(0));
  if (reduces) i.mode = words.has("popc") ? Mode::COUNT : words.has("and") ? Mode::AND : Mode::OR;
  sources(i, words, reduces ? 1 : 0);
  const bool whole = i.kind == Kind::SYNC_WARP || (i.sources == (reduces ? 2 : 1) && i.source[0] == constant(0));
  if (!known || !whole) throw NotUnderstood{"barriers of some threads of a block are not known here: " + words.opcode};
}

}  // namespace ptx
