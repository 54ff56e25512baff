// What is told of a fault: the kernel, the block and the thread, what is wrong, the instruction, and where it stands in
// the PTX and in the source.
#include "machine.hpp"

namespace ptx {

void Machine::fail(Code code, const Thread &t, const Instruction &i, const std::string &what) const {
  throw Fault{code, kernel.name + ", block " + std::to_string(t.block->number) + ", thread " +
                        std::to_string(t.number) + ": " + what + " " + where(i.number)};
}
void Machine::fail_race(const Thread &t, const Instruction &i, const Mark &earlier) const {
  const std::string other = "thread " + std::to_string(earlier.thread) +
                            (earlier.block == t.block->number ? "" : " of block " + std::to_string(earlier.block));
  const char *const what = earlier.read_only || i.read_only
                               ? "memory that ld.global.nc reads is written in the same launch"
                           : earlier.writes ? "a race with a write"
                                            : "a race with a read";
  fail(Code::FAILED, t, i, std::string(what) + " by " + other + " " + where(earlier.instruction) + ", here");
}
// "at "st.global.u32 [%rd1], %r2" (PTX line 52; near_far.cu:17, inlined at near_far.cu:90)"
std::string Machine::where(uint32_t instruction) const {
  const Note &note = module.notes[instruction];
  const auto place = [&](int file, int line) {
    const auto found = module.files.find(file);
    if (found == module.files.end()) return std::string("source unknown");
    return found->second.substr(found->second.rfind('/') + 1) + ":" + std::to_string(line);
  };
  std::string text = "at \"" + note.text + "\" (PTX line " + std::to_string(note.line) + "; " +
                     place(note.source.file, note.source.line);
  if (note.source.caller_file) text += ", inlined at " + place(note.source.caller_file, note.source.caller_line);
  if (note.function != kernel.name) text += ", in " + note.function;
  return text + ")";
}

}  // namespace ptx
