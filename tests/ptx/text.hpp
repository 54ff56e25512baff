// PTX as text, cut into pieces: statements, scopes, labels, directives that end with their line. parse.cpp says what they
// mean.
#pragma once
#include <string>
#include <vector>

#include "code.hpp"

namespace ptx {

struct Piece {
  enum Type { STATEMENT, OPEN, CLOSE, LABEL, DIRECTIVE, END } type = END;
  std::string text;  // without ';', '{', '}' or ':'; of OPEN, what stands before the brace
  uint32_t line = 0;  // where it begins
};

class Reader {
 public:
  explicit Reader(const std::string &source) : source(source) {}
  Piece next();

 private:
  const std::string &source;
  size_t at = 0;
  uint32_t line = 1;

  void skip_blanks();
  std::string to_end_of_line();
};

// An instruction's words: "@!%p1 st.global.u32 [%rd1+4], %r2" has guard "!%p1", opcode "st.global.u32" with three parts,
// and two operands.
struct Words {
  std::string guard, opcode;
  std::vector<std::string> parts, operands;

  bool has(const char *part) const;
};
Words words_of(const std::string &statement);

std::string trim(const std::string &);
std::string one_line(const std::string &);  // with one blank where there were several, or tabs
// Parts between separators that stand in no brackets.
std::vector<std::string> split(const std::string &, char separator);
// What stands between the first and the last character.
std::string inside(const std::string &);
bool starts_with(const std::string &, const char *);

}  // namespace ptx
