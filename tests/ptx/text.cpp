// Cuts PTX into pieces. A brace opens a scope where a statement could begin, and after a function's header; elsewhere it
// is part of an operand, such as {%r1, %r2}.
#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sstream>

namespace ptx {

std::string trim(const std::string &s) {
  const auto blank = [](char c) { return isspace((unsigned char)c) != 0; };
  const auto first = std::find_if_not(s.begin(), s.end(), blank);
  const auto last = std::find_if_not(s.rbegin(), std::make_reverse_iterator(first), blank).base();
  return std::string(first, last);
}
std::string one_line(const std::string &s) {
  std::istringstream words(s);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}
std::vector<std::string> split(const std::string &s, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : s) {
    depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (auto &part : parts) part = trim(part);
  if (parts.back().empty()) parts.pop_back();
  return parts;
}
std::string inside(const std::string &s) { return trim(s.substr(1, s.size() - 2)); }
bool starts_with(const std::string &s, const char *beginning) { return s.rfind(beginning, 0) == 0; }

bool Words::has(const char *part) const { return std::find(parts.begin(), parts.end(), part) != parts.end(); }

Words words_of(const std::string &statement) {
  Words words;
  std::string rest = statement;
  if (rest[0] == '@') {
    const size_t end = rest.find_first_of(" \t\n");
    words.guard = rest.substr(1, end - 1);
    rest = trim(rest.substr(end));
  }
  const size_t end = rest.find_first_of(" \t\n");
  words.opcode = rest.substr(0, end);
  words.parts = split(words.opcode, '.');
  if (end != std::string::npos) words.operands = split(trim(rest.substr(end)), ',');
  return words;
}

void Reader::skip_blanks() {
  for (; at < source.size(); at++) {
    if (source.compare(at, 2, "//") == 0) at = std::min(source.find('\n', at), source.size());
    if (source.compare(at, 2, "/*") == 0) at = source.find("*/", at) + 2;
    if (at >= source.size() || !isspace((unsigned char)source[at])) return;
    line += source[at] == '\n';
  }
}
std::string Reader::to_end_of_line() {
  const size_t begin = at;
  at = std::min(source.find('\n', at), source.size());
  return trim(source.substr(begin, at - begin));
}

static bool opens_scope(const std::string &before) {
  for (const char *header : {".visible", ".func", ".entry", ".weak"})
    if (starts_with(before, header)) return true;
  return trim(before).empty();
}
Piece Reader::next() {
  static const char *const lines[] = {".version", ".target", ".address_size", ".loc", ".file", ".section"};
  skip_blanks();
  Piece piece;
  piece.line = line;
  if (at >= source.size()) return piece;
  for (const char *directive : lines)
    if (source.compare(at, strlen(directive), directive) == 0 && isspace((unsigned char)source[at + strlen(directive)]))
      return {Piece::DIRECTIVE, to_end_of_line(), line};
  for (int depth = 0;; at++) {
    if (source.compare(at, 2, "//") == 0) at = source.find('\n', at);
    if (at >= source.size()) throw NotUnderstood{"the text ends within a statement"};
    const char c = source[at];
    line += c == '\n';
    const auto ends = [&](Piece::Type type) { return at++, Piece{type, trim(piece.text), piece.line}; };
    if (c == '{' && opens_scope(piece.text)) return ends(Piece::OPEN);
    if (c == '}' && depth == 0) return ends(Piece::CLOSE);
    if (c == ';') return ends(Piece::STATEMENT);
    if (c == ':' && depth == 0 && source[at + 1] != ':' && piece.text.back() != ':') return ends(Piece::LABEL);
    depth += (c == '{') - (c == '}');
    piece.text += c;
  }
}

}  // namespace ptx
