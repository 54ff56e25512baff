// Lower bounds for states of time and cost: bound(i, t, e) is the least cost from city i, where service begins at time
// t, to the end, and e says which of the cities that i remembers have been visited. Waiting costs nothing, unless the
// time at which service begins has a price.
//
// This is the (t, i)-path relaxation with ng-paths (Baldacci, Mingozzi and Roberti 2012: New state-space relaxations
// for solving the traveling salesman problem with time windows). An order need not visit all cities, so it has no
// place.
//
// Rows. Time goes in steps of `step` units. A city has a row of 2^slots values (bounds.cuh) for each step in which its
// service may begin, which is computed for the first time of the step within the city's window. A later time in the
// step has no cheaper completion, so the row is a lower bound for it. A run is the rows of one step or of several, so
// few that no row needs another one of its run: it is computed in one launch. Runs go back in time.
//
// Short arcs. Where an arc takes less than a step, a row may need another one of its own step. The rows of cities that
// short arcs join stand first in their run, which has one step, and are computed in `passes` more passes, from what the
// pass before has made of them. In the passes of odd numbers they go to `spare`, where a city has one row. Pass number
// p has the paths with at most p short arcs one after the other. In an order fewer of them follow one another than
// there are cities that they join.
//
// The same kernels compute bounds of beginnings, with time turned round: past(i, s, e) is the least cost from the depot
// to city i with service no later than step s, and e has the cities that i remembers and the completion visits. Steps
// are then counted from the last one, and windows are mirrored.
//
// Proof. Costs have multipliers subtracted, and may be negative. The arcs from the depot and to it are raised by
// `bias`, so that completions and beginnings are never negative: `least` tells the host the least value there is, which
// must be far above 0. Large values saturate at no_path, or a little below it, where a negative cost has been added.
#include "held_karp/bounds.cuh"

// The arcs that leave city i are those from begin[i] on.
struct timed_arcs {
  const uint32_t *begin;
  const uint8_t *head;
  const uint32_t *cost, *time;
};
// A city's window, the number of its row at step 0, if there were one, and what ending there costs up to time `until`.
// With prices of time each unit of the time at which service begins costs `rate`, and of the time at which the depot is
// reached `home_rate`: `back` after the last service begins, but not before `home`. Otherwise `rate` is null.
struct timed_cities {
  uint32_t step;
  const uint32_t *earliest, *latest;
  const int32_t *row;
  const uint32_t *end;
  const int32_t *until;
  NULLABLE const uint32_t *rate;
  const uint32_t *back;
  uint32_t home, home_rate;
};
// Rows in the order of their runs. Those of run k are rows begin[k] to begin[k + 1], of which the ones before again[k]
// may need rows of their own step.
struct timed_runs {
  const uint32_t *begin, *again;
  const uint8_t *city;
  const uint32_t *step;
};
struct timed_tables {
  uint32_t *table, *spare, *least;
};
DEVICE uint32_t begins_at(const timed_cities &cities, int i, uint32_t step) {
  const uint32_t t = step * cities.step, open = cities.earliest[i];
  return t < open ? open : t;
}
// What ending at city i costs, where service begins at a time.
DEVICE uint32_t end_at(const timed_cities &cities, int i, uint32_t time) {
  if ((int32_t)time > cities.until[i]) return no_path;
  const uint32_t there = time + cities.back[i];
  return cities.end[i] + cities.home_rate * (there < cities.home ? cities.home : there);
}
// Calls f(j, number of the arc, its cost, step at j) for the arcs from city i at a time, every `stride`-th from number
// `first` on.
template <class F>
DEVICE void for_each_arc(const timed_arcs &arcs, const timed_cities &cities, int i, uint32_t time, uint32_t first,
                         uint32_t stride, F f) {
  for (uint32_t n = arcs.begin[i] + first; n < arcs.begin[i + 1]; n += stride) {
    const int j = arcs.head[n];
    const uint32_t there = time + arcs.time[n], open = cities.earliest[j];
    if (there > cities.latest[j]) continue;
    const uint32_t begin = there < open ? open : there;
    f(j, n, arcs.cost[n] + (cities.rate ? cities.rate[j] * begin : 0), begin / cities.step);
  }
}
DEVICE size_t row_at(const memory_slots &memory, const timed_cities &cities, int i, uint32_t step) {
  return (size_t)(cities.row[i] + (int32_t)step) << memory.slots;
}
// Row number r in the order of runs, in a pass.
DEVICE void relax_at(uint32_t r, int pass, int part, int parts, const memory_slots &memory, const timed_arcs &arcs,
                     const timed_cities &cities, const timed_runs &runs, const timed_tables &tables,
                     next_cities &next) {
  const int i = runs.city[r];
  const uint32_t step = runs.step[r], time = begins_at(cities, i, step);
  if (threadIdx.x == 0) next.count = 0;
  __syncthreads();
  for_each_arc(arcs, cities, i, time, threadIdx.x, blockDim.x, [&](int j, uint32_t, uint32_t cost, uint32_t there) {
    if (there > step) {
      add_next(next, j, cost, tables.table + row_at(memory, cities, j, there));
    } else if (pass) {
      const uint32_t *row = tables.table + row_at(memory, cities, j, there);
      add_next(next, j, cost, pass & 1 ? row : tables.spare + ((size_t)j << memory.slots));
    }
  });
  __syncthreads();
  uint32_t *to = pass & 1 ? tables.spare + ((size_t)i << memory.slots) : tables.table + row_at(memory, cities, i, step);
  relax_row(memory, i, part, parts, next, {end_at(cities, i, time)}, to);
  if (part == 0 && threadIdx.x == 0) atomicMin(tables.least, to[0]);  // this thread's own value, the least of the row
}
// Pass number `again` over a run. `parts` blocks share a row, and a block may have none.
KERNEL timed_relax(int run, int again, int parts, memory_slots memory, timed_arcs arcs, timed_cities cities,
                   timed_runs runs, timed_tables tables) {
  __shared__ next_cities next;
  const uint32_t r = runs.begin[run] + blockIdx.x / parts;
  if (r < (again ? runs.again[run] : runs.begin[run + 1]))
    relax_at(r, again, blockIdx.x % parts, parts, memory, arcs, cities, runs, tables, next);
}
EXPORT_KERNEL(timed_relax)

// All runs with all their passes, by one block: for runs that take less time than a launch each.
KERNEL timed_relax_small(int count, int passes, memory_slots memory, timed_arcs arcs, timed_cities cities,
                         timed_runs runs, timed_tables tables) {
  __shared__ next_cities next;
  for (int run = 0; run < count; run++)
    for (int pass = 0; pass <= passes; pass++)
      for (uint32_t r = runs.begin[run]; r < (pass ? runs.again[run] : runs.begin[run + 1]); r++) {
        relax_at(r, pass, 0, 1, memory, arcs, cities, runs, tables, next);
        __syncthreads();
      }
}
EXPORT_KERNEL(timed_relax_small)

// What is left of arcs and windows within a limit. through[n], no_path at first, is lowered to the least cost of a
// relaxed tour with arc n, and first[i] and last[i] to the first step, and the last one counted from step `turn` back,
// in which such a tour may begin service at city i. A tour from i at a step is a beginning, past[i] of what e has not,
// and a completion of e. own[i] is the bit of i itself, which is in neither. `past` has its steps counted from `turn`
// back, with rows by past_row. A block a row.
KERNEL timed_through(uint32_t limit, uint32_t turn, memory_slots memory, timed_arcs arcs, timed_cities cities,
                     timed_runs runs, const uint32_t *own, const uint32_t *table, const int32_t *past_row,
                     const uint32_t *past, uint32_t *through, uint32_t *first, uint32_t *last) {
  constexpr int bits = lane_bits<uint32_t>();
  __shared__ uint32_t least;
  const int i = runs.city[blockIdx.x], m = memory.cities, slots = memory.slots;
  const uint32_t step = runs.step[blockIdx.x], flip = ((1u << slots) - 1) & ~own[i];
  const uint32_t *here = table + row_at(memory, cities, i, step);
  const uint32_t *beginning = past + ((size_t)(past_row[i] + (int32_t)(turn - step)) << slots);
  if (threadIdx.x == 0) least = no_path;
  __syncthreads();
  lanes<uint32_t> best = splat<uint32_t>(no_path);
  for (uint32_t e = ((uint32_t)warp() << bits) + lane(); e < 1u << slots; e += (uint32_t)warps() << bits)
    best = min_add(best, load_flipped(beginning, e, flip), load(here + e));
  lower_to(&least, best);
  __syncthreads();
  if (least > limit) return;
  if (threadIdx.x == 0) atomicMin(first + i, step), atomicMin(last + i, turn - step);
  const uint32_t time = begins_at(cities, i, step);
  for_each_arc(arcs, cities, i, time, warp(), warps(), [&](int j, uint32_t n, uint32_t c, uint32_t there) {
    const uint32_t *row = table + row_at(memory, cities, j, there);
    const uint32_t k = memory.keep[i * m + j], p = memory.put[i * m + j];
    lanes<uint32_t> together = splat<uint32_t>(no_path);
    for (uint32_t e = lane(); e < 1u << slots; e += 1u << bits) {
      const lanes<uint32_t> rest = load_masked(row, e, k, p) + splat<uint32_t>(c);
      together = min_add(together, load_flipped(beginning, e, flip), min(rest, splat<uint32_t>(no_path)));
    }
    lower_to(through + n, together);
  });
}
EXPORT_KERNEL(timed_through)

// Follows a relaxed tour of least cost, at each city to the first arc that leads on: found[0] is the tour's cost,
// found[1] the number of cities on it, at most `room`, and from found[2] on are these. The depot is left at time 0 by
// the arcs of `leave`, whose costs have the prices of times in them. Where short arcs have been cut off after the last
// pass, the tour may end early. One block, whose first warp does all.
KERNEL timed_walk(int room, memory_slots memory, timed_arcs arcs, timed_cities cities, timed_arcs leave,
                  const uint32_t *table, int32_t *found) {
  if (warp()) return;
  const int m = memory.cities;
  uint64_t best = (uint64_t)no_path << 32;
  for_each_arc(leave, cities, 0, 0, lane(), warp_size, [&](int j, uint32_t n, uint32_t, uint32_t there) {
    const uint64_t x = (uint64_t)(leave.cost[n] + table[row_at(memory, cities, j, there)]) << 32 | n;
    best = x < best ? x : best;
  });
  best = group_min(best);
  if (group_leader()) found[0] = (int32_t)(best >> 32);
  int i = 0, length = 0;
  uint32_t e = 0, step = 0, arc = (uint32_t)best;
  if (best >> 32 < no_path) {
    i = leave.head[arc];
    const uint32_t there = leave.time[arc], open = cities.earliest[i];
    step = (there < open ? open : there) / cities.step;
  }
  while (best >> 32 < no_path && length < room) {
    if (group_leader()) found[2 + length] = i;
    length++;
    const uint32_t value = table[row_at(memory, cities, i, step) + e], time = begins_at(cities, i, step);
    if (end_at(cities, i, time) == value) break;
    uint64_t next = ~(uint64_t)0;
    for_each_arc(arcs, cities, i, time, lane(), warp_size, [&](int j, uint32_t n, uint32_t cost, uint32_t there) {
      const uint32_t k = memory.keep[i * m + j], p = memory.put[i * m + j];
      const bool leads = cost + table[row_at(memory, cities, j, there) + ((e & k) | p)] == value;
      if (leads && n < next >> 32) next = (uint64_t)n << 32 | there;
    });
    next = group_min(next);
    if (next == ~(uint64_t)0) break;
    const int j = arcs.head[next >> 32];
    e = (e & memory.keep[i * m + j]) | memory.put[i * m + j], i = j, step = (uint32_t)next;
  }
  if (group_leader()) found[1] = length;
}
EXPORT_KERNEL(timed_walk)
