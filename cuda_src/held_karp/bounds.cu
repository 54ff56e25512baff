// Lower bounds for Held-Karp's states: a relaxation in which a tour may visit a city again once it has forgotten it.
//
// Cities and places. m cities are visited at places 1 to m, and the depot at places 0 and m + 1. The arc of place k
// leads from place k to place k + 1 and has a cost of its own there, so that costs may depend on places. bound(k, i, e)
// is the least cost from city i at place k to the end, where e says which of the cities that i remembers have been
// visited. This is the ng-path relaxation (Baldacci, Mingozzi and Roberti 2011) indexed by place (Roberti and Mingozzi
// 2014).
//
// What a city remembers is told by slots (bounds.cuh).
//
// Proof. Costs have multipliers of the cities subtracted, are raised by an offset for each place until none is
// negative, and are integers in units of 1 / scale. Values saturate at `no_path`, so the sum of two never wraps.
// Whoever uses a bound must know that the cost of the tours that matter is below no_path.
//
// Work. A place takes (arcs left) * 2^slots min-adds, half of them if i's own bit is a register's number and not a
// lane. A block has one city's row of a place, or part of it. The tables of all places stay on the device. The rows of
// a place may be dealt to ranks: `first` is the first city of this rank.
#include "held_karp/bounds.cuh"

// The cost of the arc from a table's row i to its column j at place k is cost[k * place + i * row + j * column].
struct arc_costs {
  int64_t place, row, column;
  const uint32_t *cost;
};
// The ranges of the values of city i at place k, at number k * place + i, as `row_values` has them. With least =
// no_path the city never stands there. Without time windows they are 0 and no_path. With them a value is the time after
// which a path that begins here returns too late for a deadline, counted from the deadline back.
struct value_ranges {
  int64_t place;
  const uint32_t *least, *most;
};
DEVICE row_values range_of(const value_ranges &ranges, int place, int i) {
  const size_t at = place * ranges.place + i;
  return {no_path, ranges.least[at], ranges.most[at]};
}
// A table of one place has a row of 2^slots values for each city; `step` is the distance from place to place, or 0
// where `source` and `target` are single tables.
struct bound_tables {
  int64_t step;
  const uint32_t *source;
  uint32_t *target;
};
// to[i][e] = min over j of cost[i][j] + from[j][(e & keep) | put], for part number `part` of `parts` of city i's row.
DEVICE void relax_place(int place, int i, int part, int parts, const memory_slots &memory, const value_ranges &ranges,
                        const arc_costs &arcs, const bound_tables &tables, next_cities &next) {
  const uint32_t *cost = arcs.cost + place * arcs.place + i * arcs.row, *from = tables.source + place * tables.step;
  const uint32_t *next_least = ranges.least + (place + 1) * ranges.place;
  const row_values own = range_of(ranges, place, i);
  if (threadIdx.x == 0) next.count = 0;
  __syncthreads();
  for (int j = threadIdx.x; j < memory.cities; j += blockDim.x)
    if (own.least != no_path && next_least[j] != no_path && cost[j * arcs.column] != no_path)
      add_next(next, j, cost[j * arcs.column], from + ((size_t)j << memory.slots));
  __syncthreads();
  relax_row(memory, i, part, parts, next, own, tables.target + place * tables.step + ((size_t)i << memory.slots));
}
// The table of a place. `parts` blocks share a city's row.
KERNEL bounds_relax(int place, int first, int parts, memory_slots memory, value_ranges ranges, arc_costs arcs,
                    bound_tables tables) {
  __shared__ next_cities next;
  relax_place(place, first + blockIdx.x / parts, blockIdx.x % parts, parts, memory, ranges, arcs, tables, next);
}
EXPORT_KERNEL(bounds_relax)

// The tables of all places from `place` down, one from the other, by one block: for tables that take less time than a
// launch each.
KERNEL bounds_relax_small(int place, int places, memory_slots memory, value_ranges ranges, arc_costs arcs,
                          bound_tables tables) {
  __shared__ next_cities next;
  for (int k = place; k > place - places; k--)
    for (int i = 0; i < memory.cities; i++) {
      relax_place(k, i, 0, 1, memory, ranges, arcs, tables, next);
      __syncthreads();
    }
}
EXPORT_KERNEL(bounds_relax_small)

// The row of each city at this place, the last one, or the first one of a search from the depot on: its one arc's cost
// within the city's range, and no_path where an entry is barred. A block a city, or one for all.
KERNEL bounds_begin(int place, memory_slots memory, value_ranges ranges, int64_t step, const uint32_t *cost,
                    uint32_t *to) {
  for (int i = blockIdx.x; i < memory.cities; i += gridDim.x) {
    const uint32_t own = within(cost[i * step], range_of(ranges, place, i)), bar = memory.barred[i];
    for (uint32_t e = threadIdx.x; e < 1u << memory.slots; e += blockDim.x)
      to[((size_t)i << memory.slots) + e] = e & bar ? no_path : own;
  }
}
EXPORT_KERNEL(bounds_begin)

// Lowers through[i][j], no_path at first, to the least cost of a relaxed tour that goes from i at `place` to j: past[i]
// of what e has not, cost[i][j], and next[j] of e as j remembers it, over all e. own[i] is the bit of i itself, which
// is in neither part. A block a city.
KERNEL bounds_through(int place, int first, memory_slots memory, const uint32_t *own, const uint32_t *costs,
                      const uint32_t *past, const uint32_t *next, uint32_t *through) {
  constexpr int bits = lane_bits<uint32_t>();
  const int i = first + blockIdx.x, m = memory.cities, slots = memory.slots;
  const uint32_t *cost = costs + ((size_t)place * m + i) * m;
  const uint32_t flip = ((1u << slots) - 1) & ~own[i];
  for (int j = warp(); j < m; j += warps()) {
    const uint32_t c = cost[j], k = memory.keep[i * m + j], p = memory.put[i * m + j];
    if (c == no_path) continue;
    lanes<uint32_t> best = splat<uint32_t>(no_path);
    for (uint32_t e = lane(); e < 1u << slots; e += 1u << bits) {
      const lanes<uint32_t> rest = load_masked(next + ((size_t)j << slots), e, k, p) + splat<uint32_t>(c);
      best = min_add(best, load_flipped(past + ((size_t)i << slots), e, flip), min(rest, splat<uint32_t>(no_path)));
    }
    lower_to(through + ((size_t)place * m + i) * m + j, best);
  }
}
EXPORT_KERNEL(bounds_through)

constexpr int64_t no_arc = INT64_C(1) << 61;  // so that no sum with it wraps

// Calls f(i, j) for the pairs of cities, those of a row for neighbouring threads.
template <class F>
DEVICE void for_each_pair(int cities, F f) {
  for (int i = warp(); i < cities; i += warps())
    for (int j = lane(); j < cities; j += warp_size) f(i, j);
}
// cost = scaled less the multiplier of the city that is reached, plus the offset of the place, the least that leaves no
// cost negative; no_path where there is no arc, or more would be. Both tables are (m + 1, m, m): row 0 of place 0 has
// the arcs from the depot, column 0 of place m those to it, which no multiplier changes. A block a place, or one for
// all.
KERNEL bounds_price(int cities, const int64_t *scaled, const int64_t *multiplier, uint32_t *cost, int64_t *offset) {
  constexpr int64_t bias = INT64_C(1) << 62;
  __shared__ uint64_t least;
  for (int place = blockIdx.x; place <= cities; place += gridDim.x) {
    const int64_t *from = scaled + (size_t)place * cities * cities;
    uint32_t *to = cost + (size_t)place * cities * cities;
    const int64_t counts = place < cities;
    if (threadIdx.x == 0) least = bias;
    __syncthreads();
    uint64_t mine = bias;
    for_each_pair(cities, [&](int i, int j) {
      const int64_t own = from[i * cities + j], reduced = own - counts * multiplier[j];
      const uint64_t biased = own == no_arc ? bias : reduced + bias;
      mine = biased < mine ? biased : mine;
    });
    atomicMin_block(&least, mine);
    __syncthreads();
    const int64_t lift = bias - (int64_t)least;
    for_each_pair(cities, [&](int i, int j) {
      const int64_t own = from[i * cities + j], raised = own - counts * multiplier[j] + lift;
      to[i * cities + j] = own == no_arc || raised >= no_path ? no_path : (uint32_t)raised;
    });
    if (threadIdx.x == 0) offset[place] = lift;
    __syncthreads();
  }
}
EXPORT_KERNEL(bounds_price)

// Follows a relaxed tour of least cost, at each place to the first city that leads on: found[k - 1] is the city at
// place k, found[m] the tour's cost, found[m + 1] the sum of the offsets. One block, whose first warp does all.
KERNEL bounds_walk(memory_slots memory, const uint32_t *costs, const uint32_t *bounds, const int64_t *offset,
                   int64_t *found) {
  if (warp()) return;
  const int m = memory.cities, slots = memory.slots;
  const size_t layer = (size_t)m << slots;
  uint64_t lifts = 0, least = (uint64_t)no_path << 32;
  for (int place = lane(); place <= m; place += warp_size) lifts += (uint64_t)offset[place];
  for (int j = lane(); j < m; j += warp_size) {
    const uint64_t x = (uint64_t)(costs[j] + bounds[layer + ((size_t)j << slots)]) << 32 | (uint32_t)j;
    least = x < least ? x : least;
  }
  least = group_min(least), lifts = group_sum(lifts);
  const uint32_t best = (uint32_t)(least >> 32);
  int i = (int)(uint32_t)least;
  uint32_t e = 0;
  if (group_leader()) found[m] = best, found[m + 1] = (int64_t)lifts;
  for (int k = 1; best < no_path; k++) {
    if (group_leader()) found[k - 1] = i;
    if (k == m) break;
    const uint32_t value = bounds[k * layer + ((size_t)i << slots) + e], *cost = costs + ((size_t)k * m + i) * m;
    const uint32_t *keep = memory.keep + i * m, *put = memory.put + i * m;
    int next = m;
    for (int j = lane(); j < m && next == m; j += warp_size) {
      const uint32_t there = bounds[(k + 1) * layer + ((size_t)j << slots) + ((e & keep[j]) | put[j])];
      if (cost[j] != no_path && cost[j] + there == value) next = j;
    }
    next = (int)group_min((uint64_t)next);
    e = (e & keep[next]) | put[next], i = next;
  }
}
EXPORT_KERNEL(bounds_walk)
