// Who goes on: blocks that take turns, threads that wait for one another, barriers, and the end.
#include <algorithm>

#include "machine.hpp"

namespace ptx {

Machine::Machine(const Module &module, const Function &kernel, const Settings &settings,
                 const std::vector<Region> &regions, Counter *counter)
    : module(module),
      kernel(counter ? counter->compact(kernel) : kernel),
      settings(settings),
      regions(regions),
      last_region(module.notes.size()),
      random_state(settings.seed * 0x9E3779B97F4A7C15ull | 1),
      counter(counter),
      tally(counter ? &counter->of(module, kernel) : nullptr) {
  for (const Region &region : regions) shadows.emplace_back(settings.races ? region.bytes : 0);
}

Counts Machine::launch(unsigned blocks, unsigned block_threads, const char *parameters, size_t bytes) {
  grid = blocks, threads = block_threads;
  arguments.assign(parameters, parameters + std::min<size_t>(bytes, kernel.entry_bytes));
  arguments.resize(kernel.parameter_bytes);
  if (counter) return run_in_lockstep(), counts;
  std::vector<std::unique_ptr<Block>> active;
  for (unsigned next = 0; next < grid || !active.empty();) {
    while (next < grid && active.size() < settings.blocks) active.push_back(new_block(next++));
    auto &block = active[random() % active.size()];
    for (int turns = 0; turns < 64 && block->alive; turns++) take_turn(*block);
    if (!block->alive) std::swap(block, active.back()), active.pop_back();
  }
  return counts;
}
std::unique_ptr<Block> Machine::new_block(uint32_t number) {
  auto block = std::make_unique<Block>();
  block->number = number, block->alive = threads;
  block->shared.assign(kernel.shared_bytes, (char)0xCD), block->written.assign(kernel.shared_bytes, 0);
  block->shadow = Shadow(settings.races ? kernel.shared_bytes : 0);
  block->threads.resize(threads), block->warps.resize((threads + 31) / 32);
  for (uint32_t k = 0; k < threads; k++) {
    Thread &t = block->threads[k];
    t.number = k, t.turn = k, t.block = block.get();
    enter(t, kernel);
    std::copy(arguments.begin(), arguments.end(), t.parameters.begin());
    block->turns.push_back(k);
    block->warps[k / 32].alive |= 1u << k % 32, block->warps[k / 32].running |= 1u << k % 32;
  }
  return block;
}

// xorshift64
uint64_t Machine::random() {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return random_state >> 16;
}
// Some thread goes on, mostly for long, now and then for a few instructions only.
void Machine::take_turn(Block &block) {
  if (block.turns.empty()) deadlock(block);
  Thread &t = block.threads[block.turns[random() % block.turns.size()]];
  const uint64_t how = random();
  run(t, 1 + (unsigned)(how % 4 == 0 ? how / 4 % 8 : how / 4 % 400));
  if (t.state == State::AT_WARP) meet(t);
  if (t.state == State::AT_BARRIER) try_barrier(block);
  if (counts.steps > settings.steps)
    fail(Code::TIMEOUT, t, t.frames.back().function->code[t.frames.back().at], "the kernel does not end");
}
void Machine::stop(Thread &t, State state) {
  Block &block = *t.block;
  t.state = state;
  block.threads[block.turns.back()].turn = t.turn;
  block.turns[t.turn] = block.turns.back();
  block.turns.pop_back();
  block.warps[t.number / 32].running &= ~(1u << t.number % 32);
  block.at_barrier += state == State::AT_BARRIER;
}
void Machine::go_on(Thread &t) {
  Block &block = *t.block;
  t.state = State::RUNNING, t.waits_at = nullptr, t.turn = (uint32_t)block.turns.size();
  t.frames.back().at++;
  block.turns.push_back(t.number);
  block.warps[t.number / 32].running |= 1u << t.number % 32;
}
// The end of a thread, for which others may have waited.
void Machine::finish(Thread &t) {
  Block &block = *t.block;
  stop(t, State::DONE);
  block.alive--;
  block.warps[t.number / 32].alive &= ~(1u << t.number % 32);
  for (uint32_t k = t.number / 32 * 32; k < std::min(t.number / 32 * 32 + 32, threads); k++)
    if (block.threads[k].state == State::AT_WARP) meet(block.threads[k]);
  try_barrier(block);
}

// Threads that have ended are not waited for.
void Machine::try_barrier(Block &block) {
  if (block.at_barrier == 0 || block.at_barrier < block.alive) return;
  const Thread *first = nullptr;
  for (const Thread &t : block.threads) {
    if (t.state != State::AT_BARRIER) continue;
    if (first && first->waits_at != t.waits_at)
      fail(Code::FAILED, t, *t.waits_at,
           "the block has diverged: thread " + std::to_string(first->number) + " waits " +
               where(first->waits_at->number));
    first = &t;
  }
  release_barrier(block);
}
void Machine::release_barrier(Block &block) {
  uint32_t yes = 0, time = 0;
  const Instruction *at = nullptr;
  for (const Thread &t : block.threads) {
    if (t.state != State::AT_BARRIER) continue;
    at = t.waits_at, time = std::max(time, t.clock.time);
    if (at->mode != Mode::NONE) yes += places_of(t)[at->source[1]] & 1;
  }
  const uint64_t result = at->mode == Mode::COUNT ? yes : at->mode == Mode::AND ? yes == block.at_barrier : yes > 0;
  for (Thread &t : block.threads) {
    if (t.state != State::AT_BARRIER) continue;
    if (at->mode != Mode::NONE) places_of(t)[at->result[0]] = result;
    t.clock.time = t.clock.barrier = time + 1;
    go_on(t);
  }
  block.at_barrier = 0;
  counts.barriers++;
  if (counter) join_paces(block);
}
// Nobody can go on: told of a lane that waits for another, which waits elsewhere or with another mask.
void Machine::deadlock(const Block &block) const {
  for (const Thread &t : block.threads) {
    if (t.state != State::AT_WARP) continue;
    for (uint32_t lane = 0; lane < 32; lane++) {
      const uint32_t other = t.number / 32 * 32 + lane;
      if (!(mask_of(t) & block.warps[t.number / 32].alive & 1u << lane)) continue;
      if (block.threads[other].waits_at != t.waits_at)
        fail(Code::TIMEOUT, t, *t.waits_at, "the warp has diverged: lane " + std::to_string(lane) + " waits " +
                                                where(block.threads[other].waits_at->number));
      if (!together(t, 1u << lane))
        fail(Code::TIMEOUT, t, *t.waits_at, "lane " + std::to_string(lane) + " comes with another mask");
    }
  }
  for (const Thread &t : block.threads)
    if (t.state == State::AT_BARRIER) fail(Code::TIMEOUT, t, *t.waits_at, "deadlock: nobody can go on");
  __builtin_unreachable();
}

}  // namespace ptx
