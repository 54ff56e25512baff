// MAX-MIN Ant System (Stuetzle, Hoos 2000): construction of tours from candidate lists, and update of the pheromone. An
// ant goes to one of its city's candidates, or, only if all of these are visited, to the nearest other city that is
// open (not visited).
//
// Pheromone is kept only for the arcs to candidates, at most 32 for each city: O(n) memory and time per iteration. It
// stays between two bounds, which are at most a factor of 2^32 apart. So a row's weights are scaled to 32 bits: each is
// at least 1, and their running sums are below 2^31. A step draws four proposals from the running sums and takes the
// first that is open. If none is, it draws once more, among the open candidates alone, which leaves the probabilities
// exact (as in head_tail.cuh).
//
// A step reads 256 bytes, an update 640 for each city. jobs/benchmarks/gpu.md has estimates for a GPU.
#include "ants/construction.cuh"
#include "ants/pheromone.cuh"

// Lists of the nearest cities, `width` in each. The first 32 include all candidates, and have weights.
struct candidate_lists {
  int width;
  const uint16_t *nearest;  // (n, width): the nearest cities of each
  uint32_t *weights;  // (colonies, n, 32): 0 where there are fewer candidates
  uint32_t *sums;  // (colonies, n, 32): their running sums
};
// Returns the nearest open city of `here`, the first of equals: from its list, else from all cities.
RARELY int nearest_open(int n, int here, const uint16_t *list, int width, const int32_t *cost, const uint32_t *open) {
  for (int k = 0; k < width; k += 32)
    if (const uint32_t there = members(list + k, open)) return list[k + lowest(there)];
  uint64_t best = ~0ull;
  for (int city = lane(); city < n; city += warp_size) {
    const uint64_t key = (uint64_t)(uint32_t)cost[(size_t)here * n + city] << 32 | (uint32_t)city;
    if (has(open, city) && key < best) best = key;
  }
  return (int)(uint32_t)group_min(best);
}
// Returns the next city; at least one is open. `numbers` is what `draw` gives for this step.
DEVICE int choose(const candidate_lists &lists, const colony_city &here, const int32_t *cost, const uint32_t *open,
                  const draws &draw, int step, const four &numbers) {
  const uint16_t *list = lists.nearest + (size_t)here.city * lists.width;
  const uint32_t *row = lists.sums + (size_t)row_number(here) * 32;
  uint32_t ends = 0;
  int city[4];
  UNROLL for (int q = 0; q < 4; q++) {
    city[q] = list[first_above(row, (uint32_t)((uint64_t)numbers.v[q] * row[31] >> 32))];
    ends |= (uint32_t)has(open, city[q]) << q;
  }
  if (ends) return element(city, lowest(ends));
  const uint32_t *weight = lists.weights + (size_t)row_number(here) * 32, free = members(list, open);
  const uint32_t left = masked_sum(weight, free);
  if (left == 0) return nearest_open(here.n, here.city, list, lists.width, cost, open);
  return list[masked_pick(weight, free, (uint32_t)high_product(word_at(draw, step, 1), left))];
}
// A group (device/group.cuh) is an ant.
KERNEL max_min_construct(colony_sizes sizes, random_keys random, candidate_lists candidates,
                         const int32_t *__restrict__ cost, ant_tours out) {
  const int n = sizes.n;
  for (int ant = blockIdx.x * warps() + warp(); ant < sizes.ants * sizes.colonies; ant += gridDim.x * warps()) {
    const int colony = ant / sizes.ants;
    const draws draw = draws_of(random, colony, ant % sizes.ants);
    partial_tour tour = start_tour(n, out, ant);
    group_numbers numbers;
    for (int step = 0; step < n; step++) {
      if (step % 32 == 0) draw_steps(numbers, draw, step);
      const four number = step_numbers(numbers, step % 32);
      const colony_city here = {n, colony, tour.here};
      const int next =
          step ? choose(candidates, here, cost, tour.open, draw, step, number) : first_city(number.v[0], n);
      go_on(tour, next, step);
    }
    const uint64_t length = closed_length(tour, cost);
    if (group_leader()) out.lengths[ant] = length;
  }
}
EXPORT_KERNEL(max_min_construct)

// Writes adjacent[colony][city]: the cities beside each city (`adjacent_cities`) in the colony's tour that deposits.
KERNEL max_min_adjacent(int n, int colonies, const uint16_t *__restrict__ tours, uint32_t *__restrict__ adjacent) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * colonies; i += gridDim.x * blockDim.x) {
    const uint16_t *tour = tours + (size_t)(i / n) * n;
    adjacent[i - i % n + tour[i % n]] = adjacent_cities(tour, n, i % n);
  }
}
EXPORT_KERNEL(max_min_adjacent)

// What changes the pheromone in an iteration. Evaporation leaves keep / 2^32; the colony's one tour deposits its amount
// on its arcs, in both directions if the costs are symmetric; and pheromone stays within the colony's two bounds.
struct best_deposits {
  uint32_t keep;
  int symmetric;
  const uint32_t *adjacent;
  const uint64_t *amounts;  // (colonies,)
  const uint64_t *bounds;  // (colonies, 2): the least and the largest
};
DEVICE uint64_t updated(uint64_t pheromone, uint32_t keep, uint64_t amount, const uint64_t *bounds) {
  const uint64_t x = scaled(pheromone, keep, 0) + amount;
  return x < bounds[0] ? bounds[0] : x > bounds[1] ? bounds[1] : x;
}
// A group (device/group.cuh) is a city of a colony. It updates the city's pheromone (colonies, n, 32), then its weights
// and their sums. `branches` (colonies, n) becomes the city's branching factor: the number of candidates whose
// pheromone is above the row's least by more than a twentieth of the row's range. With fewer than 32 candidates,
// weights of 0 follow.
KERNEL max_min_update(int n, int colonies, best_deposits ants, const uint32_t *__restrict__ heuristic,
                      candidate_lists candidates, uint64_t *__restrict__ pheromone, uint32_t *__restrict__ branches) {
  for (int row = blockIdx.x * warps() + warp(); row < n * colonies; row += gridDim.x * warps()) {
    const int colony = row / n, city = row % n;
    const uint16_t *list = candidates.nearest + (size_t)city * candidates.width;
    const uint32_t *h = heuristic + (size_t)city * 32;
    const uint32_t after = ants.adjacent[row] & 0xffff, before = ants.adjacent[row] >> 16;
    uint32_t *weights = candidates.weights + (size_t)row * 32, *sums = candidates.sums + (size_t)row * 32;
    uint64_t *own = pheromone + (size_t)row * 32, all = 0, least = ~0ull, most = 0;
    for (int k = lane(); k < 32; k += warp_size) {
      const bool in_tour = list[k] == after || (ants.symmetric && list[k] == before);
      own[k] = updated(own[k], ants.keep, in_tour ? ants.amounts[colony] : 0, ants.bounds + 2 * colony);
      all += weight_of(own[k], h[k]);
      if (h[k]) least = own[k] < least ? own[k] : least, most = own[k] > most ? own[k] : most;
    }
    const int bits = bit_length(group_sum(all)), shift = bits > 30 ? bits - 30 : 0;
    least = group_min(least), most = ~group_min(~most);
    uint64_t above = 0;
    for (int k = lane(); k < 32; k += warp_size) {
      const uint64_t w = weight_of(own[k], h[k]);
      weights[k] = (uint32_t)(w >> shift) + (w && !(w >> shift));
      above += h[k] && own[k] > least + (most - least) / 20;
    }
    above = group_sum(above);
    group_sync();
    if (group_leader()) {
      branches[row] = (uint32_t)above;
      uint32_t sum = 0;
      for (int k = 0; k < 32; k++) sums[k] = sum += weights[k];
    }
  }
}
EXPORT_KERNEL(max_min_update)

// For tests: makes one step of an ant of the first colony from the city `here`, `samples` times. Tests compare how
// often each open city is chosen with its exact probability.
KERNEL max_min_sample(int n, int here, int samples, uint32_t key, candidate_lists candidates,
                      const int32_t *__restrict__ cost, const uint32_t *__restrict__ open,
                      uint16_t *__restrict__ chosen) {
  for (int sample = blockIdx.x * warps() + warp(); sample < samples; sample += gridDim.x * warps()) {
    const draws draw{key, 0, 0, (uint32_t)sample};
    const int city = choose(candidates, {n, 0, here}, cost, open, draw, 1, numbers_at(draw, 1, 0));
    if (group_leader()) chosen[sample] = (uint16_t)city;
  }
}
EXPORT_KERNEL(max_min_sample)
