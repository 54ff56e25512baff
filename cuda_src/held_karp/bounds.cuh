// What the tables of bounds share, by place (bounds.cu) and by time (timed_bounds.cu): a row of 2^slots values for each
// city, by what the city remembers, made of the rows of the cities that it may lead to.
//
// Slots. Every city has one of `slots` colours, and each city remembers one city of each colour, itself among them. So
// bit s of e stands for a city of colour s everywhere, and what is visited after a step to j is (e & keep) | put, with
// two masks for the arc: keep where both ends remember the same city, put where j remembers i. No bits are gathered; on
// a CPU a register of the next table is shuffled, on a GPU it is a plain read. A barred entry, with i itself or a city
// that must come after i, is infinite, so the inner loop has no test.
#pragma once
#include "device/group.cuh"
#include "device/masked.cuh"

constexpr uint32_t no_path = 0x7fffffffu;
constexpr int most_cities = 248;
constexpr int widest_tile = 4;  // registers of results at a time

struct memory_slots {
  int cities, slots;  // 2^slots is at least the lanes of a register
  const uint32_t *keep, *put;  // (cities, cities), from row to column
  const uint32_t *barred;  // of each city: entries with one of these bits are no_path
  const uint32_t *floors;  // (33, 32): no_path where row & column and in row 32, else 0
};
// The cities that one may lead to, in any order, each with the arc's cost and the row of its values.
struct next_cities {
  uint32_t count;
  uint8_t city[most_cities];
  uint32_t cost[most_cities];
  const uint32_t *row[most_cities];
};
// What a row depends on beside the next cities: the cost of ending here, and the range of its values. Smaller values
// are raised to `least`, those above `most` become no_path.
struct row_values {
  uint32_t end = no_path, least = 0, most = no_path;
};
DEVICE uint32_t within(uint32_t value, const row_values &row) {
  const uint32_t raised = value < row.least ? row.least : value;
  return raised > row.most ? no_path : raised;
}
// Adds a city, by any thread of the block.
DEVICE void add_next(next_cities &next, int city, uint32_t cost, const uint32_t *row) {
  const uint32_t n = atomicAdd_block(&next.count, 1u);
  next.city[n] = city, next.cost[n] = cost, next.row[n] = row;
}
// Computes `tile` registers of city i's row from number `first` on; the row has `registers`. own: the lowest of the
// city's barred bits above the lanes, or 0. Registers whose number has it are filled with no_path alone.
template <int tile>
DEVICE void relax_registers(const memory_slots &memory, int i, int first, int registers, const next_cities &next,
                            const row_values &values, uint32_t *to) {
  constexpr int bits = lane_bits<uint32_t>();
  const uint32_t bar = memory.barred[i], high = bar >> bits << bits, own = high & -high;
  lanes<uint32_t> best[tile];
  uint32_t e[tile];
  UNROLL for (int t = 0; t < tile; t++) {
    const uint32_t at = (uint32_t)(first + t < registers ? first + t : first) << bits;
    e[t] = (own ? (at & (own - 1)) | (at & ~(own - 1)) << 1 : at) + lane();
    best[t] = splat<uint32_t>(values.end);
  }
  const uint32_t *keep = memory.keep + i * memory.cities, *put = memory.put + i * memory.cities;
  for (uint32_t n = 0; n < next.count; n++) {
    const uint32_t j = next.city[n], k = keep[j], p = put[j], c = next.cost[n];
    const uint32_t *row = next.row[n];
    UNROLL for (int t = 0; t < tile; t++) best[t] = min_add(best[t], load_masked(row, e[t], k, p), splat<uint32_t>(c));
  }
  UNROLL for (int t = 0; t < tile; t++) {
    const lanes<uint32_t> floor = load(memory.floors + (e[t] & high ? 32 : bar & 31) * 32 + lane());
    const lanes<uint32_t> raised = max(best[t] + floor, splat<uint32_t>(values.least));
    store(to + e[t], unless_above(raised, splat<uint32_t>(values.most), splat<uint32_t>(no_path)));
    if (own) store(to + (e[t] | own), splat<uint32_t>(no_path));
  }
}
// to[e] = the least of values.end and, over the next cities j, cost[j] + row[j][(e & keep) | put], within its range:
// part number `part` of `parts` of city i's row.
DEVICE void relax_row(const memory_slots &memory, int i, int part, int parts, const next_cities &next,
                      const row_values &values, uint32_t *to) {
  const int registers =
      (1 << memory.slots >> lane_bits<uint32_t>()) >> (memory.barred[i] >> lane_bits<uint32_t>() != 0);
  if (registers < widest_tile) {
    for (int r = 2 * (part * warps() + warp()); r < registers; r += 2 * parts * warps())
      relax_registers<2>(memory, i, r, registers, next, values, to);
  } else {
    for (int r = widest_tile * (part * warps() + warp()); r < registers; r += widest_tile * parts * warps())
      relax_registers<widest_tile>(memory, i, r, registers, next, values, to);
  }
}
