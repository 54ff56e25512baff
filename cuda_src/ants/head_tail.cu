// Construction of Ant System's tours (Dorigo, Maniezzo, Colorni 1996): each ant chooses among all cities, in nearly
// constant time (head_tail.cuh says how).
//
// Each group (device/group.cuh: a warp, or one CPU thread) is one ant. Its state is the set of open (unvisited) cities,
// one bit each, and the tour so far. Random numbers of 32 steps are made at once.
//
// The tour of an ant is a function of (seed, colony, iteration, ant) and the pheromone alone: any block size, any
// number of threads and any device give the same bits. A group constructs two tours, by turns a step of each, so that
// it works on one while it waits for the other's loads.
//
// A step reads a head_row of 256 bytes, fetched as soon as the city is known, 16 bytes of random numbers, and a bit;
// one step in five also the head's 256 bytes of exact weights, one in fifty the open part of the tail's row. One AVX2
// core takes 50 ns a step at 442 cities, 70 at 2392. jobs/benchmarks/gpu.md has estimates for a GPU.
#include "ants/head_tail.cuh"

KERNEL head_tail_construct(colony_sizes sizes, random_keys random, head_tail_tables tables,
                           const int32_t *__restrict__ cost, ant_tours out) {
  const int n = sizes.n, pairs = (sizes.ants + 1) / 2;
  for (int pair = blockIdx.x * warps() + warp(); pair < pairs * sizes.colonies; pair += gridDim.x * warps()) {
    const int colony = pair / pairs, first = pair % pairs * 2, count = first + 1 < sizes.ants ? 2 : 1;
    const size_t ant = (size_t)colony * sizes.ants + first;
    const head_tail_tables t = colony_tables(tables, n, colony);
    partial_tour tour[2];
    draws draw[2];
    group_numbers numbers[2];
    for (int a = 0; a < count; a++) {
      draw[a] = draws_of(random, colony, first + a);
      tour[a] = start_tour(n, out, ant + a);
    }
    for (int step = 0; step < n; step++) UNROLL for (int a = 0; a < 2; a++) {
        if (a == count) break;
        if (step % 32 == 0) draw_steps(numbers[a], draw[a], step);
        const four number = step_numbers(numbers[a], step % 32);
        const int next =
            step ? choose(t, n, tour[a].here, tour[a].open, draw[a], step, number) : first_city(number.v[0], n);
        go_on(tour[a], next, step);
        UNROLL for (int k = 0; k < 4; k++) prefetch((const char *)row_of(t, next) + 64 * k);
      }
    for (int a = 0; a < count; a++) {
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
    const int city = choose(tables, n, here, open, draw, 1, numbers_at(draw, 1, 0));
    if (group_leader()) chosen[sample] = (uint16_t)city;
  }
}
EXPORT_KERNEL(head_tail_sample)
