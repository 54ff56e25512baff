// MAX-MIN Ant System's tours and trails (Stuetzle, Hoos 2000) on candidate lists: an ant goes on to one of the nearest
// cities of where it is, and to the nearest of all others only where these are visited.
//
// Trails are kept for the arcs to the candidates alone, at most 32 a city: O(n) memory and time an iteration. They stay
// between two limits, which are at most 2^32 apart, so 32 bits of each row's weights are enough: at least 1, their
// running sums below 2^31. A step draws four proposals from the running sums and takes the first that is unvisited;
// else it draws from the sum of the unvisited (as in ant_head_tail.cuh).
//
// Bytes: a step reads 256; an update 640 a city. On an H200 latency will be the limit (not measured yet): about 0.2
// microseconds a step, so 0.5 ms for tours of 2392 cities, as many as there are warps; their local search takes longer.
#include "ants/ant_trails.cuh"

// The nearest open city of `here`: from its list, else from all; the first of equals.
RARELY int nearest_open(int n, int width, int here, const uint16_t *nearest, const int32_t *cost,
                        const uint32_t *open) {
  const uint16_t *list = nearest + (size_t)here * width;
  for (int k = 0; k < width; k += 32)
    if (const uint32_t there = members(list + k, open)) return list[k + lowest(there)];
  uint64_t best = ~0ull;
  for (int city = lane(); city < n; city += warp_size) {
    const uint64_t key = (uint64_t)(uint32_t)cost[(size_t)here * n + city] << 32 | (uint32_t)city;
    if (has(open, city) && key < best) best = key;
  }
  return (int)(uint32_t)group_min(best);
}
// The next city.
DEVICE int choose_candidate(int n, int width, int here, const uint16_t *nearest, const uint32_t *sums,
                            const uint32_t *weights, const int32_t *cost, const uint32_t *open, const draws &draw,
                            int step, const four &numbers) {
  const uint16_t *list = nearest + (size_t)here * width;
  const uint32_t *row = sums + (size_t)here * 32;
  uint32_t ends = 0;
  int city[4];
  UNROLL for (int q = 0; q < 4; q++) {
    city[q] = list[first_above(row, (uint32_t)((uint64_t)numbers.v[q] * row[31] >> 32))];
    ends |= (uint32_t)has(open, city[q]) << q;
  }
  if (ends) return city[lowest(ends)];
  const uint32_t *weight = weights + (size_t)here * 32, free = members(list, open);
  const uint32_t left = masked_sum(weight, free);
  if (left == 0) return nearest_open(n, width, here, nearest, cost, open);
  return list[masked_pick(weight, free, (uint32_t)high_product(word_at(draw, step, 1), left))];
}
// A group is an ant. `open` (ants of all colonies, words) is scratch; `tours` (ants, n), `lengths` (ants,) the result.
KERNEL ant_candidates_construct(int n, int width, int ants, int colonies, uint32_t iteration,
                                const uint32_t *__restrict__ keys, const uint16_t *__restrict__ nearest,
                                const uint32_t *__restrict__ sums, const uint32_t *__restrict__ weights,
                                const int32_t *__restrict__ cost, uint32_t *__restrict__ open,
                                uint16_t *__restrict__ tours, uint64_t *__restrict__ lengths) {
  const int words = (n + 31) / 32;
  for (int ant = blockIdx.x * warps() + warp(); ant < ants * colonies; ant += gridDim.x * warps()) {
    const int colony = ant / ants;
    const size_t rows = (size_t)colony * n * 32;
    const draws draw{keys[2 * colony], keys[2 * colony + 1], iteration, (uint32_t)(ant % ants)};
    tour_so_far tour = start_tour(n, open + (size_t)ant * words, tours + (size_t)ant * n);
    group_numbers numbers;
    for (int step = 0; step < n; step++) {
      if (step % 32 == 0) draw_steps(numbers, draw, step);
      const four number = step_numbers(numbers, step % 32);
      const int next = step ? choose_candidate(n, width, tour.here, nearest, sums + rows, weights + rows, cost,
                                               tour.open, draw, step, number)
                            : (int)((uint64_t)number.v[0] * n >> 32);
      go_on(tour, next, step);
    }
    const uint64_t length = closed_length(tour, cost);
    if (group_leader()) lengths[ant] = length;
  }
}
EXPORT_KERNEL(ant_candidates_construct)

// beside[colony][city]: the city after (low half) and before (high half) it in the colony's one tour that lays.
KERNEL ant_candidates_beside(int n, int colonies, const uint16_t *__restrict__ tours, uint32_t *__restrict__ beside) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * colonies; i += gridDim.x * blockDim.x) {
    const uint16_t *tour = tours + (size_t)(i / n) * n;
    const int s = i % n;
    beside[i - s + tour[s]] = (uint32_t)tour[s ? s - 1 : n - 1] << 16 | tour[s + 1 < n ? s + 1 : 0];
  }
}
EXPORT_KERNEL(ant_candidates_beside)

// One trail after an iteration: what evaporation leaves, with the amount if the arc is in the tour, between the limits.
DEVICE uint64_t changed(uint64_t trail, uint32_t keep, uint64_t amount, const uint64_t *limits) {
  const uint64_t x = scaled(trail, keep, 0) + amount;
  return x < limits[0] ? limits[0] : x > limits[1] ? limits[1] : x;
}
// A group is a city of a colony: its trails change, and its weights and their sums are made. `limits` (colonies, 2) are
// the least and the largest trail; `branches` (colonies, n) becomes the number of candidates whose trail is above the
// row's least by more than a twentieth of the range. Weights of 0 fill up lists of fewer than 32 candidates.
KERNEL ant_candidates_update(int n, int width, int colonies, int symmetric, uint32_t keep,
                             const uint16_t *__restrict__ nearest, const uint32_t *__restrict__ heuristic,
                             const uint32_t *__restrict__ beside, const uint64_t *__restrict__ amounts,
                             const uint64_t *__restrict__ limits, uint64_t *__restrict__ trail,
                             uint32_t *__restrict__ weights, uint32_t *__restrict__ sums,
                             uint32_t *__restrict__ branches) {
  for (int row = blockIdx.x * warps() + warp(); row < n * colonies; row += gridDim.x * warps()) {
    const int colony = row / n, city = row % n;
    const uint16_t *list = nearest + (size_t)city * width;
    const uint32_t *h = heuristic + (size_t)city * 32, after = beside[row] & 0xffff, before = beside[row] >> 16;
    uint64_t *own = trail + (size_t)row * 32, all = 0, least = ~0ull, most = 0;
    for (int k = lane(); k < 32; k += warp_size) {
      const bool laid = list[k] == after || (symmetric && list[k] == before);
      own[k] = changed(own[k], keep, laid ? amounts[colony] : 0, limits + 2 * colony);
      all += weight_of(own[k], h[k]);
      if (h[k]) least = own[k] < least ? own[k] : least, most = own[k] > most ? own[k] : most;
    }
    const int bits = bit_length(group_sum(all)), shift = bits > 30 ? bits - 30 : 0;
    least = group_min(least), most = ~group_min(~most);
    uint64_t above = 0;
    for (int k = lane(); k < 32; k += warp_size) {
      const uint64_t w = weight_of(own[k], h[k]);
      weights[(size_t)row * 32 + k] = (uint32_t)(w >> shift) + (w && !(w >> shift));
      above += h[k] && own[k] > least + (most - least) / 20;
    }
    above = group_sum(above);
    group_sync();
    if (group_leader()) {
      branches[row] = (uint32_t)above;
      uint32_t sum = 0;
      for (int k = 0; k < 32; k++) sums[(size_t)row * 32 + k] = sum += weights[(size_t)row * 32 + k];
    }
  }
}
EXPORT_KERNEL(ant_candidates_update)

// One step, `samples` times, from one city with the same cities open: what tests compare with exact probabilities.
KERNEL ant_candidates_sample(int n, int width, int here, int samples, uint32_t key, const uint32_t *__restrict__ open,
                             const uint16_t *__restrict__ nearest, const uint32_t *__restrict__ sums,
                             const uint32_t *__restrict__ weights, const int32_t *__restrict__ cost,
                             uint16_t *__restrict__ chosen) {
  for (int sample = blockIdx.x * warps() + warp(); sample < samples; sample += gridDim.x * warps()) {
    const draws draw{key, 0, 0, (uint32_t)sample};
    const four numbers = numbers_at(draw, 1, 0);
    const int city = choose_candidate(n, width, here, nearest, sums, weights, cost, open, draw, 1, numbers);
    if (group_leader()) chosen[sample] = (uint16_t)city;
  }
}
EXPORT_KERNEL(ant_candidates_sample)
