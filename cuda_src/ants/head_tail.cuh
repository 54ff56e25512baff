// One step of an ant: the next city, with a probability exactly proportional to its weight among the unvisited.
//
// Head and tail (head_tail_tables.cuh). Within an iteration weights are constant, and only the set of visited cities
// differs from ant to ant. So the tables have, of the head's 32 cities, exact weights and running sums in 30 bits; and
// of the tail's cities 32-bit weights in a unit of the row's own, running sums of every 64 of them, and their sum. Open
// cities are those that the ant has not visited.
//
// 1. Four proposals are drawn at once from the whole row, visited or not, by comparing random numbers with the head's
//    running sums. The first that hits an open city of the head is taken. To reject the others leaves the probabilities
//    exact, and nothing is summed. If a proposal hits the tail first, one city of the tail is drawn, and taken if it is
//    open.
// 2. Else the exact weights of the head's open cities are summed, and r is drawn below that sum plus the whole tail. If
//    r hits a city of the head, it is taken; a city of the tail is taken if it is open. Else r is drawn again, three
//    times at the most.
// 3. Else, and always when the head has no open city, the tail's open cities are summed too, in its 32-bit units. If
//    the sum is so small that rounding would show, exact weights are summed instead.
// On average 4 steps of 5 end in 1, and one in fifty comes to 3.
#pragma once
#include "ants/construction.cuh"
#include "ants/head_tail_tables.cuh"
#include "ants/pheromone.cuh"

constexpr uint64_t enough = 1 << 18;  // sums of fewer units are formed again from exact weights

// The weights of one row's tail: in its 32-bit units, or exactly.
struct coarse_weights {
  const uint32_t *row;
};
struct exact_weights {
  const uint64_t *pheromone;
  const uint32_t *heuristic;
};
DEVICE uint32_t weight_at(const coarse_weights &w, int city) { return w.row[city]; }
DEVICE uint64_t weight_at(const exact_weights &w, int city) { return weight_of(w.pheromone[city], w.heuristic[city]); }
// The sums of the open cities' weights, one for each city % 32.
DEVICE lane_sums<uint32_t> open_lane_sums(const coarse_weights &w, const uint32_t *open, int words) {
  return masked_lane_sums(w.row, open, words);
}
DEVICE lane_sums<uint64_t> open_lane_sums(const exact_weights &w, const uint32_t *open, int words) {
  lane_sums<uint64_t> sums;
  for (int word = 0; word < words; word++)
    if (open[word]) add_masked(sums, [&](int k) { return weight_at(w, 32 * word + k); }, open[word]);
  return sums;
}
// Returns the open city at x, 0 <= x < the sum of all, where cities are in the order of (city % 32, city / 32).
template <class W, class T>
DEVICE int open_city_at(const W &weights, const uint32_t *open, const lane_sums<T> &sums, T x) {
  for (int city = pick_lane(sums, x);; city += 32) {
    if (!has(open, city)) continue;
    const T here = weight_at(weights, city);
    if (x < here) return city;
    x -= here;
  }
}
// Step 3. `free` has a bit for each open city of the head; `near` is the sum of their weights.
RARELY int choose_by_scan(const head_tail_tables &t, const colony_city &here, const uint32_t *open, uint32_t free,
                          uint64_t near, const draws &draw, int step) {
  const head_row *row = row_of(t, here);
  const size_t base = (size_t)row_number(here) * t.stride;
  const int words = (here.n + 31) / 32;
  const coarse_weights coarse{t.tail + base};
  const auto sums = open_lane_sums(coarse, open, words);
  const uint64_t far = (uint64_t)total_of(sums) << row->tail_shift;
  if ((near + far) >> row->tail_shift >= enough) {
    const uint64_t r = high_product(word_at(draw, step, 8), near + far);
    if (r < near) return row->city[masked_pick(t.head + 32 * (size_t)row_number(here), free, r)];
    return open_city_at(coarse, open, sums, (uint32_t)((r - near) >> row->tail_shift));
  }
  const exact_weights exact{t.pheromone + base, t.heuristic + (size_t)here.city * t.stride};
  const auto exact_sums = open_lane_sums(exact, open, words);
  const uint64_t r = high_product(word_at(draw, step, 9), near + total_of(exact_sums));
  if (r < near) return row->city[masked_pick(t.head + 32 * (size_t)row_number(here), free, r)];
  return open_city_at(exact, open, exact_sums, r - near);
}
// Returns the city of the whole tail at x, in the units of the row's tail.
DEVICE int tail_city(const head_tail_tables &t, const colony_city &here, uint32_t x) {
  const int blocks = t.stride / 64;
  const uint32_t *prefix = t.tail_prefix + (size_t)row_number(here) * blocks;
  int b = 0;
  for (int k = lane(); k - lane() < blocks; k += warp_size) b += group_count(k < blocks && prefix[k] <= x);
  if (b) x -= prefix[b - 1];
  const uint32_t *p = t.tail + (size_t)row_number(here) * t.stride + 64 * b;
  const uint32_t half = masked_sum(p, ~0u);
  if (x < half) return 64 * b + masked_pick(p, ~0u, x);
  return 64 * b + 32 + masked_pick(p + 32, ~0u, x - half);
}
// The end of step 1, if a proposal hit the tail (`far`), and steps 2 and 3.
RARELY int choose_after_rejection(const head_tail_tables &t, const colony_city &here, const uint32_t *open, bool far,
                                  const draws &draw, int step) {
  const head_row *row = row_of(t, here);
  if (far) {
    const int city = tail_city(t, here, (uint32_t)high_product(word_at(draw, step, 1), row->tail_sum));
    if (has(open, city)) return city;
  }
  const uint64_t *head = t.head + 32 * (size_t)row_number(here);
  const uint32_t free = members(row->city, open);
  const uint64_t near = masked_sum(head, free);
  for (int attempt = 2; attempt < 5 && free; attempt++) {
    const uint64_t r = high_product(word_at(draw, step, attempt), near + row->tail);
    if (r < near) return row->city[masked_pick(head, free, r)];
    const int city = tail_city(t, here, (uint32_t)((r - near) >> row->tail_shift));
    if (has(open, city)) return city;
  }
  return choose_by_scan(t, here, open, free, near, draw, step);
}
// Returns the next city; at least one is open. `numbers` is what `draw` gives for this step.
DEVICE int choose(const head_tail_tables &t, const colony_city &here, const uint32_t *open, const draws &draw, int step,
                  const four &numbers) {
  const head_row *row = row_of(t, here);
  uint32_t ends = 0, far = 0;
  int city[4];
  UNROLL for (int q = 0; q < 4; q++) {
    const int place = first_above(row->sums, (uint32_t)((uint64_t)numbers.v[q] * row->total >> 32));
    const uint32_t beyond = place == 32;
    city[q] = row->city[place - beyond];
    far |= beyond << q;
    ends |= ((uint32_t)has(open, city[q]) | beyond) << q;
  }
  const int q = ends ? lowest(ends) : 4;
  if (q < 4 && !(far >> q & 1)) return element(city, q);
  return choose_after_rejection(t, here, open, q < 4, draw, step);
}
