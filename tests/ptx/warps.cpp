// Instructions at which the lanes of a warp meet. All lanes of the mask that have not ended must come to the same
// instruction with the same mask; then it is done for all of them at once.
#include "machine.hpp"

namespace ptx {
namespace {

bool has(uint32_t lanes, unsigned lane) { return lanes >> lane & 1; }
uint64_t source(const Thread &t, const Instruction &i, int k) { return places_of(t)[i.source[k]]; }
void set(Thread &t, const Instruction &i, int k, uint64_t value) {
  if (k < i.results && i.result[k] >= 0) places_of(t)[i.result[k]] = value;
}

}  // namespace

uint32_t Machine::mask_of(const Thread &t) const { return (uint32_t)source(t, *t.waits_at, t.waits_at->sources - 1); }

void Machine::meet(Thread &t) {
  Block &block = *t.block;
  const unsigned first = t.number / 32 * 32;
  const Warp &warp = block.warps[t.number / 32];
  const Instruction &i = *t.waits_at;
  const uint32_t mask = mask_of(t), lanes = mask & warp.alive;
  if (!has(mask, t.number % 32)) fail(Code::FAILED, t, i, "the thread's own lane is not in the mask");
  if (lanes & warp.running || !together(t, lanes)) return;
  switch (i.kind) {
    case Kind::SHUFFLE: shuffle(block, first, lanes, i); break;
    case Kind::VOTE: vote(block, first, lanes, i); break;
    case Kind::MATCH: match(block, first, lanes, i); break;
    case Kind::REDUCE: reduce(block, first, lanes, i); break;
    default: join_clocks(block, first, lanes); break;
  }
  counts.meetings++;
  for (unsigned lane = 0; lane < 32; lane++)
    if (has(lanes, lane)) go_on(block.threads[first + lane]);
}
bool Machine::together(const Thread &t, uint32_t lanes) const {
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(lanes, lane)) continue;
    const Thread &other = t.block->threads[t.number / 32 * 32 + lane];
    if (other.waits_at != t.waits_at || other.frames.size() != t.frames.size() || mask_of(other) != mask_of(t))
      return false;
  }
  return true;
}
// shfl: PTX's rule for the lane to read from, and whether it is in range; who is not reads itself.
void Machine::shuffle(Block &block, unsigned first, uint32_t lanes, const Instruction &i) {
  uint64_t values[32], taken[32];
  bool in_range[32];
  for (unsigned lane = 0; lane < 32; lane++)
    if (has(lanes, lane)) values[lane] = (uint32_t)source(block.threads[first + lane], i, 0);
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(lanes, lane)) continue;
    const Thread &t = block.threads[first + lane];
    const int b = (int)source(t, i, 1) & 31, c = (int)source(t, i, 2), segment = c >> 8 & 31, clamp = c & 31;
    const int own = (int)lane, highest = (own & segment) | (clamp & ~segment), lowest = own & segment;
    int from = i.mode == Mode::UP          ? own - b
               : i.mode == Mode::DOWN      ? own + b
               : i.mode == Mode::BUTTERFLY ? own ^ b
                                           : lowest | (b & ~segment);
    in_range[lane] = i.mode == Mode::UP ? from >= highest : from <= highest;
    if (!in_range[lane]) from = own;
    if (!has(lanes, (unsigned)from))
      fail(Code::FAILED, t, i, "reads lane " + std::to_string(from) + ", which does not take part");
    taken[lane] = values[from];
  }
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(lanes, lane)) continue;
    set(block.threads[first + lane], i, 0, taken[lane]);
    set(block.threads[first + lane], i, 1, in_range[lane]);
  }
}
void Machine::vote(Block &block, unsigned first, uint32_t lanes, const Instruction &i) {
  uint32_t yes = 0;
  for (unsigned lane = 0; lane < 32; lane++)
    if (has(lanes, lane)) yes |= (uint32_t)(source(block.threads[first + lane], i, 0) & 1) << lane;
  const uint32_t result = i.mode == Mode::BALLOT ? yes
                          : i.mode == Mode::ANY  ? yes != 0
                          : i.mode == Mode::ALL  ? yes == lanes
                                                 : yes == lanes || yes == 0;
  for (unsigned lane = 0; lane < 32; lane++)
    if (has(lanes, lane)) set(block.threads[first + lane], i, 0, result);
}
// The lanes with the same value; of match.all the mask if all have it, else 0.
void Machine::match(Block &block, unsigned first, uint32_t lanes, const Instruction &i) {
  uint32_t same[32] = {};
  const auto value = [&](unsigned lane) {
    const uint64_t x = source(block.threads[first + lane], i, 0);
    return i.bytes == 4 ? (uint32_t)x : x;
  };
  for (unsigned a = 0; a < 32; a++)
    for (unsigned b = 0; b < 32; b++)
      if (has(lanes, a) && has(lanes, b) && value(a) == value(b)) same[a] |= 1u << b;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(lanes, lane)) continue;
    const bool all = same[lane] == lanes;
    set(block.threads[first + lane], i, 0, i.mode == Mode::ANY || all ? same[lane] : 0);
    set(block.threads[first + lane], i, 1, all);
  }
}
void Machine::reduce(Block &block, unsigned first, uint32_t lanes, const Instruction &i) {
  bool any = false;
  uint64_t result = 0;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(lanes, lane)) continue;
    const uint64_t x = (uint32_t)source(block.threads[first + lane], i, 0);
    result = any ? i.combine(result, x, 0) : x;
    any = true;
  }
  for (unsigned lane = 0; lane < 32; lane++)
    if (has(lanes, lane)) set(block.threads[first + lane], i, 0, (uint32_t)result);
}
// bar.warp.sync: each lane has now seen what any of them had seen.
void Machine::join_clocks(Block &block, unsigned first, uint32_t lanes) {
  std::array<uint32_t, 32> seen{};
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(lanes, lane)) continue;
    Clock &clock = block.threads[first + lane].clock;
    for (unsigned k = 0; k < 32; k++) seen[k] = std::max(seen[k], clock.seen[k]);
    seen[lane] = std::max(seen[lane], clock.time++);
  }
  for (unsigned lane = 0; lane < 32; lane++)
    if (has(lanes, lane)) block.threads[first + lane].clock.seen = seen;
}

}  // namespace ptx
