// A thread's instructions one by one, until it has used up its turn or must wait; and calls of functions.
#include <cstring>

#include "machine.hpp"

namespace ptx {

void Machine::run(Thread &t, unsigned budget) {
  Frame *frame = &t.frames.back();
  const Instruction *code = frame->function->code.data();
  uint64_t *places = places_of(t);
  const auto refresh = [&] { frame = &t.frames.back(), code = frame->function->code.data(), places = places_of(t); };
  for (; budget > 0; budget--) {
    counts.steps++;
    const Instruction &i = code[frame->at];
    if (i.guard >= 0 && (places[i.guard] & 1) == i.negated) {
      frame->at++;
      continue;
    }
    switch (i.kind) {
      case Kind::DIVIDE: check_divisor(t, i); [[fallthrough]];
      case Kind::COMPUTE: i.compute(places, i); break;
      case Kind::LOAD: load(t, i); break;
      case Kind::STORE: store(t, i); break;
      case Kind::ATOMIC: change(t, i); break;
      case Kind::WINDOW: convert_address(t, i); break;
      case Kind::NOTHING: break;
      case Kind::BRANCH: frame->at = (uint32_t)i.target; continue;
      case Kind::TABLE:
        frame->at = (uint32_t)frame->function->tables[i.target].at((uint32_t)places[i.source[0]]);
        continue;
      case Kind::CALL: call(t, frame->function->calls[i.target]), refresh(); continue;
      case Kind::RETURN:
        if (!leave(t)) return finish(t);
        refresh();
        continue;
      case Kind::EXIT: return finish(t);
      case Kind::TRAP: fail(Code::ILLEGAL_INSTRUCTION, t, i, "the kernel stops itself");
      case Kind::ACTIVE: places[i.result[0]] = 1u << t.number % 32; break;  // alone, as a thread may be
      case Kind::SYNC_BLOCK: t.waits_at = &i; return stop(t, State::AT_BARRIER);
      default: t.waits_at = &i; return stop(t, State::AT_WARP);
    }
    frame->at++;
  }
}

// A new frame above the others. Registers hold rubbish, and so does local memory.
void Machine::enter(Thread &t, const Function &function) {
  t.frames.push_back({&function, 0, t.places.size(), t.parameters.size(), t.local.size()});
  t.places.insert(t.places.end(), function.places.begin(), function.places.end());
  t.parameters.resize(t.parameters.size() + (function.parameter_bytes + 15) / 16 * 16, (char)0xCD);
  t.local.resize(t.local.size() + (function.local_bytes + 15) / 16 * 16, (char)0xCD);
  const uint32_t lane = t.number % 32;
  uint64_t *places = places_of(t);
  places[TID] = t.number, places[BLOCK_THREADS] = threads, places[BLOCK] = t.block->number, places[BLOCKS] = grid;
  places[LANE] = lane, places[LOCAL_BASE] = first_local + t.frames.back().local;
  places[LANES_EQUAL] = 1u << lane, places[LANES_BELOW] = (1u << lane) - 1, places[LANES_ABOVE] = ~1u << lane;
}
void Machine::call(Thread &t, const Call &call) {
  const size_t own = t.frames.back().parameters;
  enter(t, *call.callee);
  const size_t its = t.frames.back().parameters;
  for (size_t k = 0; k < call.arguments.size(); k++)
    memcpy(&t.parameters[its + call.callee->parameters.at(k).offset], &t.parameters[own + call.arguments[k].offset],
           call.callee->parameters[k].bytes);
}
// Back to the caller, if there is one.
bool Machine::leave(Thread &t) {
  if (t.frames.size() == 1) return false;
  const Frame gone = t.frames.back();
  t.frames.pop_back();
  Frame &frame = t.frames.back();
  const Call &call = frame.function->calls[frame.function->code[frame.at].target];
  for (size_t k = 0; k < call.results.size(); k++)
    memcpy(&t.parameters[frame.parameters + call.results[k].offset],
           &t.parameters[gone.parameters + gone.function->results.at(k).offset], call.results[k].bytes);
  t.places.resize(gone.places), t.parameters.resize(gone.parameters), t.local.resize(gone.local);
  frame.at++;
  return true;
}

void Machine::check_divisor(const Thread &t, const Instruction &i) const {
  const uint64_t divisor = places_of(t)[i.source[1]];
  const bool zero = i.bytes == 2 ? (uint16_t)divisor == 0 : i.bytes == 4 ? (uint32_t)divisor == 0 : divisor == 0;
  if (zero) fail(Code::FAILED, t, i, "division by 0");
}
// cvta: a shared or local address to a generic one, or with .to back.
void Machine::convert_address(Thread &t, const Instruction &i) const {
  const uint64_t window = i.space == Space::SHARED ? shared_window : local_window;
  uint64_t *places = places_of(t);
  const uint64_t address = places[i.source[0]];
  if (i.mode != Mode::TO_SPACE) {
    places[i.result[0]] = generic_address(t, window, (uint32_t)address);
  } else if (window_of(address) != window || owner_of(address) != owner_number(t, window)) {
    fail(Code::WRONG_SPACE, t, i, "converts the address of another memory");
  } else {
    places[i.result[0]] = (uint32_t)address;
  }
}

}  // namespace ptx
