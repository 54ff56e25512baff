// Reads a PTX module: functions with their parameters, variables, labels and instructions (decode.cpp), and the lines of
// the source that the instructions come from.
#include "parse.hpp"

#include <sstream>

namespace ptx {
namespace {

// What ".param .align 8 .b8 name[24]" declares.
struct Declared {
  std::string name;
  uint32_t bytes = 0, align = 1;
};
Declared declared(const std::string &statement) {
  Declared one;
  uint32_t element = 1;
  bool next_is_align = false;
  std::string last;
  std::istringstream words(statement);
  for (std::string word; words >> word;) {
    if (next_is_align) one.align = (uint32_t)std::stoul(word);
    next_is_align = word == ".align";
    if (word[0] == '.' && width_of(word.substr(1))) element = (width_of(word.substr(1)) + 7) / 8;
    last = word;
  }
  const size_t bracket = last.find('[');
  one.name = last.substr(0, bracket);
  const std::string count = bracket == std::string::npos ? "1" : last.substr(bracket + 1, last.find(']') - bracket - 1);
  one.bytes = element * (count.empty() ? 0 : (uint32_t)std::stoul(count));
  if (one.align == 1) one.align = element;
  return one;
}
Slot place(uint32_t &size, const Declared &one) {
  const Slot slot{(size + one.align - 1) / one.align * one.align, one.bytes};
  size = slot.offset + slot.bytes;
  return slot;
}

}  // namespace

unsigned width_of(const std::string &type) {
  static const std::map<std::string, unsigned> widths = {
      {"u8", 8},   {"s8", 8},   {"b8", 8},   {"u16", 16}, {"s16", 16}, {"b16", 16}, {"u32", 32}, {"s32", 32},
      {"b32", 32}, {"f32", 32}, {"u64", 64}, {"s64", 64}, {"b64", 64}, {"f64", 64}, {"pred", 1}, {"b128", 128}};
  const auto found = widths.find(type);
  return found == widths.end() ? 0 : found->second;
}

void Parser::module() {
  for (Piece piece = reader.next(); piece.type != Piece::END; piece = reader.next()) {
    line = piece.line;
    if (piece.type == Piece::DIRECTIVE) directive(piece.text);
    if (piece.type == Piece::STATEMENT) variable(piece.text);
    if (piece.type == Piece::OPEN && piece.text.empty()) skip_scope();
    if (piece.type == Piece::OPEN && !piece.text.empty()) whole_function(piece.text);
  }
  for (auto &[name, one] : made.functions) {
    for (Call &call : one->calls) {
      const auto found = made.functions.find(call.name);
      if (found == made.functions.end()) throw NotUnderstood{"call of " + call.name + ", which has no body"};
      call.callee = found->second.get();
    }
  }
}
void Parser::skip_scope() {
  for (int depth = 1; depth > 0;) {
    const Piece piece = reader.next();
    if (piece.type == Piece::END) throw NotUnderstood{"the text ends within a scope"};
    depth += (piece.type == Piece::OPEN) - (piece.type == Piece::CLOSE);
  }
}
// ".loc file line column, function_name ..., inlined_at file line column" and ".file number "name"".
void Parser::directive(const std::string &text) {
  int file, number, caller_file, caller_line;
  char name[500];
  if (sscanf(text.c_str(), ".loc %d %d", &file, &number) == 2) {
    const size_t inlined = text.find("inlined_at");
    location = {file, number, 0, 0};
    if (inlined != std::string::npos && sscanf(&text[inlined], "inlined_at %d %d", &caller_file, &caller_line) == 2)
      location.caller_file = caller_file, location.caller_line = caller_line;
  }
  if (sscanf(text.c_str(), ".file %d \"%499[^\"]\"", &file, name) == 2) made.files[file] = name;
}
// A variable of the module, or of the function that is being read.
void Parser::variable(const std::string &text) {
  std::string plain = text;
  for (const char *prefix : {".visible ", ".extern ", ".weak "})
    if (starts_with(plain, prefix)) plain = plain.substr(strlen(prefix));
  if (starts_with(plain, ".shared")) {
    auto &size = function ? function->shared_bytes : module_shared;
    symbols[declared(plain).name] = {Space::SHARED, first_shared + place(size, declared(plain)).offset};
  } else if (starts_with(plain, ".local")) {
    symbols[declared(plain).name] = {Space::LOCAL, place(function->local_bytes, declared(plain)).offset};
  } else if (starts_with(plain, ".param")) {
    slots[declared(plain).name] = place(function->parameter_bytes, declared(plain));
  } else if (starts_with(plain, ".global") || starts_with(plain, ".const")) {
    throw NotUnderstood{"variables in global and constant memory are not known here: " + plain};
  }
}

// ".visible .entry name(parameters)" or ".func (result) name(parameters)".
void Parser::header(const std::string &text) {
  const bool entry = text.find(".entry") != std::string::npos;
  std::string rest = trim(text.substr(entry ? text.find(".entry") + 6 : text.find(".func") + 5));
  auto made_now = std::make_unique<Function>();
  function = made_now.get();
  function->entry = entry;
  function->shared_bytes = module_shared;
  if (rest[0] == '(') {
    const size_t end = rest.find(')');
    function->results = formal(rest.substr(1, end - 1));
    rest = trim(rest.substr(end + 1));
  }
  const size_t open = rest.find('(');
  function->name = trim(rest.substr(0, open));
  if (open != std::string::npos) function->parameters = formal(rest.substr(open + 1, rest.find(')') - open - 1));
  function->entry_bytes = function->parameter_bytes;
  made.functions[function->name] = std::move(made_now);
}
std::vector<Slot> Parser::formal(const std::string &list) {
  std::vector<Slot> all;
  for (const std::string &one : split(list, ',')) {
    all.push_back(place(function->parameter_bytes, declared(one)));
    slots[declared(one).name] = all.back();
  }
  return all;
}

void Parser::whole_function(const std::string &text) {
  const auto outer_symbols = symbols;
  slots.clear(), labels.clear(), waiting.clear(), constants.clear(), ranges.clear();
  names.assign(1, {});
  header(text);
  function->places.assign(SPECIALS, 0);
  while (!names.empty()) statement(reader.next());
  for (const auto &[branch, label] : waiting) {
    if (!labels.count(label)) throw NotUnderstood{"no label " + label};
    *branch_target(branch) = labels[label];
  }
  function = nullptr;
  symbols = outer_symbols;
}
int *Parser::branch_target(const Branch &branch) {
  return branch.table < 0 ? &function->code[branch.at].target : &function->tables[branch.table][branch.at];
}
void Parser::statement(const Piece &piece) {
  line = piece.line;
  switch (piece.type) {
    case Piece::END: throw NotUnderstood{"the text ends within " + function->name};
    case Piece::DIRECTIVE: return directive(piece.text);
    case Piece::OPEN: return names.emplace_back(), void();
    case Piece::CLOSE: return names.pop_back();
    case Piece::LABEL: return labels[last_label = piece.text] = (int)function->code.size(), void();
    case Piece::STATEMENT: break;
  }
  if (starts_with(piece.text, ".reg")) {
    registers(piece.text);
  } else if (starts_with(piece.text, ".branchtargets")) {
    auto &table = branch_tables[last_label] = (int)function->tables.size();
    function->tables.emplace_back();
    for (const std::string &label : split(trim(piece.text.substr(14)), ',')) {
      waiting.push_back({{function->tables[table].size(), table}, label});
      function->tables[table].push_back(-1);
    }
  } else if (sscanf(piece.text.c_str(), ".pragma \"used_bytes_mask %u\"", &used) == 1) {
    return;
  } else if (piece.text[0] == '.') {
    variable(piece.text);
  } else if (!piece.text.empty()) {
    instruction(piece.text);
  }
}

Module parse(const std::string &text) {
  Parser parser(text);
  try {
    parser.module();
  } catch (const NotUnderstood &error) {
    throw NotUnderstood{"line " + std::to_string(parser.line) + ": " + error.what};
  }
  parser.made.text = text;
  return std::move(parser.made);
}

}  // namespace ptx
