// The detector of races; races.hpp says what a race is.
#include "races.hpp"

namespace ptx {
namespace {

bool comes_before(const Mark &earlier, const Mark &now, const Clock &clock) {
  if (earlier.block != now.block) return false;
  if (earlier.thread == now.thread || earlier.time < clock.barrier) return true;
  return earlier.thread / 32 == now.thread / 32 && clock.seen[earlier.thread % 32] >= earlier.time;
}
bool reaches(const Mark &one, const Mark &other) { return one.block == other.block || !one.writes || one.whole_grid; }

bool races(const Mark &earlier, const Mark &now, const Clock &clock) {
  if (!earlier.used || !(earlier.writes || now.writes)) return false;
  if (earlier.read_only || now.read_only) return true;
  if (earlier.strong && now.strong && reaches(earlier, now) && reaches(now, earlier)) return false;
  return !comes_before(earlier, now, clock);
}

}  // namespace

const Mark *Shadow::access(size_t offset, uint32_t bytes, const Mark &now, const Clock &clock) {
  auto &page = pages[offset / page_bytes];
  if (!page) page = std::make_unique<Page>();
  if (!page->grain || bytes < page->grain) refine(*page, bytes);
  const size_t first = offset % page_bytes / page->grain, cells = bytes / page->grain;
  for (size_t k = first; k < first + cells; k++) {
    Cell &cell = page->cells[k];
    if (const Mark *found = conflict(cell, now, clock)) return found;
    remember(cell, now, clock);
  }
  return nullptr;
}
// Splits the cells, each of which hands on what it knows.
void Shadow::refine(Page &page, uint32_t grain) {
  std::vector<Cell> finer(page_bytes / grain);
  for (size_t k = 0; page.grain && k < finer.size(); k++) finer[k] = page.cells[k * grain / page.grain];
  page.cells = std::move(finer);
  page.grain = grain;
}
const Mark *Shadow::conflict(const Cell &cell, const Mark &now, const Clock &clock) {
  for (const Mark *earlier : {&cell.write, &cell.read, &cell.other_read})
    if (races(*earlier, now, clock)) return earlier;
  return nullptr;
}
// A reader takes the place of one that comes before it, else the second place.
void Shadow::remember(Cell &cell, const Mark &now, const Clock &clock) {
  if (now.writes) {
    cell.write = now;
  } else if (cell.read.read_only && !now.read_only) {
    cell.other_read = now;
  } else {
    (!cell.read.used || comes_before(cell.read, now, clock) ? cell.read : cell.other_read) = now;
  }
}

}  // namespace ptx
