// The counting mode: warps in lockstep, and what their instructions cost. count.hpp says what that means.
#include <algorithm>

#include "machine.hpp"

namespace ptx {
namespace {

constexpr unsigned burst = 32;  // instructions of a warp before the next one goes on
constexpr size_t l1_bytes = 192 * 1024, resident_threads = 2048;

bool has(uint32_t lanes, unsigned lane) { return lanes >> lane & 1; }

}  // namespace

// Blocks that run at a time take turns, warp by warp.
void Machine::run_in_lockstep() {
  std::vector<std::unique_ptr<Block>> active;
  uint64_t longest = 0;
  const uint64_t written = counter->l2.written_back;
  for (unsigned next = 0; next < grid || !active.empty();) {
    while (next < grid && active.size() < settings.blocks) {
      active.push_back(new_block(next++));
      active.back()->l1 = std::make_unique<Cache>(l1_bytes * std::min<size_t>(resident_threads, threads) / resident_threads);
      active.back()->paces.resize(active.back()->warps.size());
    }
    for (auto &block : active) {
      const uint64_t before = counts.steps;
      for (size_t w = 0; w < block->warps.size(); w++) run_warp(*block, w);
      if (counts.steps == before && block->alive) deadlock(*block);
      if (block->alive) continue;
      uint64_t path = 0;
      for (const Pace &pace : block->paces) path = std::max(path, pace.time);
      tally->path += path, longest = std::max(longest, path);
      block.reset();
    }
    active.erase(std::remove(active.begin(), active.end(), nullptr), active.end());
  }
  tally->launches++, tally->blocks += grid, tally->threads += (uint64_t)grid * threads, tally->longest += longest;
  tally->barriers += counts.barriers, tally->written_back += counter->l2.written_back - written;
}

// The lanes that stand at the lowest instruction, those in the deepest call first; and up to where they go on alone.
Machine::Group Machine::next_group(Block &block, size_t w) {
  const uint32_t running = block.warps[w].running;
  Group group = {};
  const Frame *lowest = nullptr;
  size_t depth = 0;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(running, lane)) continue;
    const Thread &t = block.threads[w * 32 + lane];
    const Frame &frame = t.frames.back();
    if (!lowest || t.frames.size() > depth || (t.frames.size() == depth && frame.at < lowest->at)) {
      group.end = lowest && t.frames.size() == depth ? lowest->at : ~0u;
      group.count = 0, lowest = &frame, depth = t.frames.size();
    }
    if (t.frames.size() != depth) continue;
    if (frame.at == lowest->at && frame.function == lowest->function) group.lanes[group.count++] = (uint8_t)lane;
    else if (frame.at > lowest->at) group.end = std::min(group.end, frame.at);
  }
  return group;
}

void Machine::run_warp(Block &block, size_t w) {
  Thread *const warp = &block.threads[w * 32];
  uint64_t *places[32];
  for (unsigned left = burst; left > 0 && block.warps[w].running;) {
    const Group group = next_group(block, w);
    Frame &frame = warp[group.lanes[0]].frames.back();
    const Instruction *const code = frame.function->code.data();
    for (unsigned k = 0; k < group.count; k++) places[k] = places_of(warp[group.lanes[k]]);
    const size_t first_place = frame.places;
    const Instruction *other = nullptr;  // one that does more than compute
    uint32_t at = frame.at, acting = 0;
    while (left > 0 && at < group.end && !other) {
      const Instruction &i = code[at];
      acting = 0;
      for (unsigned k = 0; k < group.count; k++)
        if (i.guard < 0 || (places[k][i.guard] & 1) != i.negated) acting |= 1u << group.lanes[k];
      note_step(block, w, i, acting, first_place), left--;
      if (i.kind != Kind::COMPUTE) {
        other = &i;
      } else {
        for (unsigned k = 0; k < group.count; k++)
          if (has(acting, group.lanes[k])) i.compute(places[k], i);
        at++, counts.steps += group.count;
      }
    }
    for (unsigned k = 0; k < group.count; k++) warp[group.lanes[k]].frames.back().at = at;
    if (!other) continue;
    for (unsigned k = 0; k < group.count; k++) {
      Thread &t = warp[group.lanes[k]];
      run(t, 1);
      if (other->kind == Kind::ACTIVE && has(acting, group.lanes[k])) places[k][other->result[0]] = acting;
    }
    for (unsigned k = 0; k < group.count; k++)
      if (Thread &t = warp[group.lanes[k]]; t.state == State::AT_WARP) meet(t);
    if (other->kind == Kind::SYNC_BLOCK && acting) try_barrier(block);
    if (counts.steps > settings.steps) fail(Code::TIMEOUT, warp[0], *other, "the kernel does not end");
  }
}

// Counts an instruction of a warp, and lets its time pass.
void Machine::note_step(Block &block, size_t w, const Instruction &i, uint32_t acting, size_t places) {
  Spent &spent = tally->spent[i.number];
  spent.warps++, spent.lanes += (unsigned)__builtin_popcount(acting);
  Pace &pace = block.paces[w];
  auto &ready = pace.ready;
  if (ready.size() < places + 1) ready.resize(places + 1);
  const auto when = [&](int place) {
    return place >= 0 && places + place < ready.size() ? ready[places + place] : 0;
  };
  uint64_t start = ++pace.issued;
  for (int place : {i.guard, i.base, i.source[0], i.source[1], i.source[2], i.source[3]}) start = std::max(start, when(place));
  pace.time = std::max(pace.time, start);
  Wait wait = tally->waits[i.number];
  uint64_t more = 0;
  const bool moves = i.kind == Kind::LOAD || i.kind == Kind::STORE || i.kind == Kind::ATOMIC;
  if (moves && acting && i.space != Space::PARAM) wait = note_memory(block, w, i, acting, wait, more);
  const uint64_t done = start + (wait == Wait::NONE ? 0 : counter->clocks[(size_t)wait]) + more;
  if (wait == Wait::BARRIER) pace.time += counter->clocks[(size_t)wait];
  if (wait == Wait::BARRIER || (i.kind >= Kind::BRANCH && i.kind <= Kind::TRAP)) pace.issued = pace.time;
  for (int place : i.result) {
    if (place < 0) continue;
    if (places + place >= ready.size()) ready.resize(places + place + 64);
    ready[places + place] = done;
  }
}

// Counts an access, and returns which memory it waits for; `more` is the clocks that its later parts take.
Wait Machine::note_memory(Block &block, size_t w, const Instruction &i, uint32_t acting, Wait wait, uint64_t &more) {
  const uint32_t bytes = i.bytes * std::max<uint32_t>(1, i.kind == Kind::LOAD ? i.results : i.kind == Kind::STORE ? i.sources : 1);
  uint64_t addresses[32];
  unsigned count = 0;
  Space space = i.space;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!has(acting, lane)) continue;
    const Thread &t = block.threads[w * 32 + lane];
    const uint64_t address = (i.base >= 0 ? places_of(t)[i.base] : 0) + (uint64_t)i.offset;
    if (i.space == Space::GENERIC)
      space = window_of(address) == shared_window ? Space::SHARED : window_of(address) == local_window ? Space::LOCAL : Space::GLOBAL;
    addresses[count++] = i.space == Space::GENERIC && space != Space::GLOBAL ? (uint32_t)address : address;
  }
  if (space == Space::SHARED) return note_shared(i, acting, addresses, bytes, more);
  if (space == Space::LOCAL) {
    // A word of all lanes lies together: 128 bytes that the L1 has.
    tally->spent[i.number].lines += (bytes + 3) / 4;
    return i.kind == Kind::LOAD ? Wait::L1 : Wait::NONE;
  }
  return note_global(block, i, addresses, count, bytes, wait, more);
}
Wait Machine::note_shared(const Instruction &i, uint32_t acting, const uint64_t *addresses, uint32_t bytes, uint64_t &more) {
  const unsigned parts = std::max(1u, bytes / 4), width = 32 / parts;  // lanes that are served together
  uint64_t wavefronts = 0;
  unsigned next = 0;
  for (unsigned part = 0; part < parts; part++) {
    uint64_t words[128];
    unsigned count = 0;
    for (unsigned lane = part * width; lane < (part + 1) * width; lane++) {
      if (!has(acting, lane)) continue;
      for (uint32_t k = 0; k < std::max(4u, bytes); k += 4) words[count++] = addresses[next] / 4 + k / 4;
      next++;
    }
    if (i.kind != Kind::ATOMIC) {
      std::sort(words, words + count);
      count = (unsigned)(std::unique(words, words + count) - words);
    }
    unsigned banks[32] = {}, most = 0;
    for (unsigned k = 0; k < count; k++) most = std::max(most, ++banks[words[k] % 32]);
    wavefronts += most;
  }
  tally->spent[i.number].wavefronts += wavefronts;
  more = wavefronts ? wavefronts - 1 : 0;
  return i.kind == Kind::STORE ? Wait::NONE : Wait::SHARED;
}
Wait Machine::note_global(Block &block, const Instruction &i, uint64_t *addresses, unsigned count, uint32_t bytes, Wait wait,
                          uint64_t &more) {
  Spent &spent = tally->spent[i.number];
  std::array<uint64_t, 64> sectors;
  unsigned found = 0;
  for (unsigned k = 0; k < count; k++) sectors[found++] = addresses[k] / 32;
  std::sort(sectors.begin(), sectors.begin() + found);
  found = (unsigned)(std::unique(sectors.begin(), sectors.begin() + found) - sectors.begin());
  unsigned lines = 0;
  for (unsigned k = 0; k < found; k++) lines += k == 0 || sectors[k] / 4 != sectors[k - 1] / 4;
  spent.asked += found, spent.lines += lines;
  more = lines - 1;
  const bool reads = i.kind != Kind::STORE, cached = i.kind == Kind::LOAD && !i.strong;
  Wait slowest = Wait::L1;
  for (unsigned k = 0; k < found; k++) {
    tally->touched.add(sectors[k]);
    if (cached && block.l1->access(sectors[k], false)) continue;
    spent.l2++;
    if (slowest == Wait::L1) slowest = Wait::L2;
    const bool there = counter->l2.access(sectors[k], i.kind != Kind::LOAD);
    if (there || !reads) continue;
    spent.dram++;
    slowest = Wait::DRAM;
  }
  (void)bytes;
  return i.kind == Kind::STORE || wait == Wait::NONE ? Wait::NONE : slowest;
}
// The barrier's clocks begin when the last warp has come.
void Machine::join_paces(Block &block) {
  uint64_t last = 0;
  for (const Pace &pace : block.paces) last = std::max(last, pace.time);
  for (size_t w = 0; w < block.paces.size(); w++)
    if (block.warps[w].alive) block.paces[w].time = block.paces[w].issued = last;
}

}  // namespace ptx
