// Construction of Ant System's tours (Dorigo, Maniezzo, Colorni 1996): each ant chooses among all cities, in nearly
// constant time (head_tail.cuh says how).
//
// Each group (device/group.cuh: a warp, or one CPU thread) is one ant. Its state is the set of open (unvisited) cities,
// one bit each, and the tour so far. Random numbers of 32 steps are made at once.
//
// The tour of an ant is a function of (seed, colony, iteration, ant) and the pheromone alone: any block size, any
// number of threads and any device give the same bits. A CPU's thread constructs two tours, by turns a step of each, so
// that it works on one while it waits for the other's loads. On a GPU other warps do.
//
// A step reads a head_row of 256 bytes, fetched as soon as the city is known, 16 bytes of random numbers, and a bit;
// one step in five also the head's 256 bytes of exact weights, one in fifty the open part of the tail's row. One AVX2
// core takes 50 ns a step at 442 cities, 70 at 2392. jobs/benchmarks/gpu.md has estimates for a GPU.
#include "ants/head_tail.cuh"

constexpr int tours_at_once = one_thread_blocks ? 2 : 1;

KERNEL head_tail_construct(colony_sizes sizes, random_keys random, head_tail_tables tables,
                           const int32_t *__restrict__ cost, ant_tours out) {
  const int n = sizes.n, teams = (sizes.ants + tours_at_once - 1) / tours_at_once;
  for (int team = blockIdx.x * warps() + warp(); team < teams * sizes.colonies; team += gridDim.x * warps()) {
    const int colony = team / teams, first = team % teams * tours_at_once, left = sizes.ants - first;
    const int count = left < tours_at_once ? left : tours_at_once;
    const size_t ant = (size_t)colony * sizes.ants + first;
    partial_tour tour[tours_at_once];
    draws draw[tours_at_once];
    group_numbers numbers[tours_at_once];
    UNROLL for (int a = 0; a < tours_at_once; a++) {
      if (a == count) break;
      draw[a] = draws_of(random, colony, first + a);
      tour[a] = start_tour(n, out, ant + a);
    }
    for (int step = 0; step < n; step++) UNROLL for (int a = 0; a < tours_at_once; a++) {
        if (a == count) break;
        if (step % 32 == 0) draw_steps(numbers[a], draw[a], step);
        const four number = step_numbers(numbers[a], step % 32);
        const colony_city here = {n, colony, tour[a].here};
        const int next = step ? choose(tables, here, tour[a].open, draw[a], step, number) : first_city(number.v[0], n);
        go_on(tour[a], next, step);
        UNROLL for (int k = 0; k < 4; k++) prefetch((const char *)row_of(tables, {n, colony, next}) + 64 * k);
      }
    UNROLL for (int a = 0; a < tours_at_once; a++) {
      if (a == count) break;
      const uint64_t length = closed_length(tour[a], cost);
      if (group_leader()) out.lengths[ant + a] = length;
    }
  }
}
EXPORT_KERNEL(head_tail_construct)

// For tests: makes one step of an ant of the first colony from the city `here`, `samples` times. Tests compare how
// often each open city is chosen with its exact probability.
KERNEL head_tail_sample(int n, int here, int samples, uint32_t key, head_tail_tables tables,
                        const uint32_t *__restrict__ open, uint16_t *__restrict__ chosen) {
  for (int sample = blockIdx.x * warps() + warp(); sample < samples; sample += gridDim.x * warps()) {
    const draws draw{key, 0, 0, (uint32_t)sample};
    const int city = choose(tables, {n, 0, here}, open, draw, 1, numbers_at(draw, 1, 0));
    if (group_leader()) chosen[sample] = (uint16_t)city;
  }
}
EXPORT_KERNEL(head_tail_sample)
