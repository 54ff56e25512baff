// Ant System's tours by roulette wheel, as papers on GPUs construct them: a block is one ant, and its threads share the
// row of the city that it leaves. The strategies are those of Zhou, He, Qiu (Dynamic Strategy based Parallel Ant Colony
// Optimization on GPUs for TSPs):
//
//   KE-ALL, KE-ONE   one launch for the whole tour, or for each step: a launch makes the steps `first` to `last` - 1
//   STC              the tour's array holds the tour so far, then the open (unvisited) cities, and the chosen one is
//                    swapped to its place; without STC a step goes through all cities, and a bit tells which are open
//   TR               tiled roulette: each thread sums one tile of the row, one random number falls into a tile, and the
//                    tile's thread finds the city; without TR one thread searches the row from the start
//   dynamic          the driver launches some steps at a time, in ever smaller blocks
//
// All choose among all open cities with probabilities proportional to exact 64-bit weights. They serve as oracles for
// head_tail.cu, and for study. The chosen city is the one where the running sum of the weights, in the array's order,
// passes the random number, whatever the block size and the tiles. STC changes that order, and so the tours, but not
// the distribution.
//
// A tour reads n^2 / 2 (STC) or n^2 weights, of 12 bytes each. jobs/benchmarks/gpu.md has estimates for a GPU.
#include "ants/construction.cuh"
#include "ants/pheromone.cuh"

constexpr int most_threads = 1024;

// How the next city is found: `listed` is STC, `tiled` is TR.
struct roulette_rules {
  int listed, tiled;
};
struct roulette_tables {
  int stride;  // of a row of pheromone
  const uint64_t *pheromone;  // a row for each city of each colony
  const uint32_t *heuristic;  // (n, n)
};
// What one block works on.
struct block_ant {
  int n, step, listed, tiled;
  const uint64_t *pheromone;  // the row of the city that is left
  const uint32_t *heuristic;
  const uint32_t *open;
  const uint16_t *cities;  // the tour so far, then the unvisited
  uint64_t sums[most_threads];
  uint64_t all;
  int chosen;
};
// By one thread: prepares the step of an ant that leaves city `here` of a colony.
DEVICE void set_step(block_ant &ant, int n, int step, const roulette_rules &rules, const roulette_tables &t, int colony,
                     int here, const uint32_t *open, const uint16_t *cities) {
  ant.n = n, ant.step = step, ant.listed = rules.listed, ant.tiled = rules.tiled, ant.chosen = 0;
  ant.pheromone = t.pheromone + ((size_t)colony * n + here) * t.stride, ant.heuristic = t.heuristic + (size_t)here * n;
  ant.open = open, ant.cities = cities;
}
// Returns the weight of entry i: of the tour's array with STC, else of city i.
DEVICE uint64_t weight_at(const block_ant &ant, int i) {
  if (!ant.listed && !has(ant.open, i)) return 0;
  const int city = ant.listed ? ant.cities[i] : i;
  return weight_of(ant.pheromone[city], ant.heuristic[city]);
}
// Returns the entry, from i on, where the running sum passes r.
DEVICE int spin(const block_ant &ant, int i, uint64_t r) {
  for (;; i++) {
    const uint64_t w = weight_at(ant, i);
    if (r < w) return i;
    r -= w;
  }
}
// Returns the entry of the next city, to every thread.
DEVICE int choose(block_ant &ant, const draws &draw) {
  const int begin = ant.listed ? ant.step : 0, length = ant.n - begin;
  const int tile = (length + blockDim.x - 1) / blockDim.x;
  const int from = begin + threadIdx.x * tile, to = from + tile < ant.n ? from + tile : ant.n;
  uint64_t sum = 0;
  for (int i = from; i < to; i++) sum += weight_at(ant, i);
  ant.sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint64_t all = 0;
    for (unsigned t = 0; t < blockDim.x; t++) all += ant.sums[t];
    ant.all = all;
  }
  __syncthreads();
  uint64_t r = high_product(word_at(draw, ant.step, 0), ant.all), before = 0;
  for (unsigned t = 0; t < threadIdx.x; t++) before += ant.sums[t];
  const bool mine = ant.tiled ? before <= r && r - before < sum : threadIdx.x == 0;
  if (mine) ant.chosen = ant.tiled ? spin(ant, from, r - before) : spin(ant, begin, r);
  __syncthreads();
  const int chosen = ant.chosen;
  __syncthreads();
  return chosen;
}
// Makes an empty tour.
DEVICE void start(uint16_t *cities, uint32_t *open, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) cities[i] = (uint16_t)i;
  for (int word = threadIdx.x; word < (n + 31) / 32; word += blockDim.x) open[word] = low_bits(n - 32 * word);
  __syncthreads();
}
// By one thread: visits the city of an entry. Without the list the array holds the tour alone.
DEVICE void visit(uint16_t *cities, uint32_t *open, int step, int entry, int listed) {
  const uint16_t city = listed ? cities[entry] : (uint16_t)entry;
  if (listed) cities[entry] = cities[step];
  cities[step] = city;
  open[city >> 5] &= ~(1u << (city & 31));
}
// Returns the length of the closed tour, to all threads.
DEVICE uint64_t block_length(block_ant &ant, const uint16_t *cities, int n, const int32_t *cost) {
  uint64_t length = 0;
  for (int s = threadIdx.x; s < n; s += blockDim.x)
    length += (uint32_t)cost[(size_t)cities[s] * n + cities[s + 1 < n ? s + 1 : 0]];
  if (threadIdx.x == 0) ant.all = 0;
  __syncthreads();
  atomicAdd_block(&ant.all, length);
  __syncthreads();
  return ant.all;
}
// Steps `first` to `last` - 1 of every ant; after the last of all, the lengths.
KERNEL roulette_construct(colony_sizes sizes, random_keys random, int first, int last, roulette_rules rules,
                          roulette_tables tables, const int32_t *__restrict__ cost, ant_tours out) {
  __shared__ block_ant ant;
  const int n = sizes.n;
  for (int nth = blockIdx.x; nth < sizes.ants * sizes.colonies; nth += gridDim.x) {
    const int colony = nth / sizes.ants;
    const draws draw = draws_of(random, colony, nth % sizes.ants);
    uint16_t *cities = out.tours + (size_t)nth * n;
    uint32_t *open = out.open + (size_t)nth * ((n + 31) / 32);
    if (first == 0) start(cities, open, n);
    for (int step = first; step < last; step++) {
      const int here = step ? cities[step - 1] : 0;
      if (threadIdx.x == 0) set_step(ant, n, step, rules, tables, colony, here, open, cities);
      __syncthreads();
      const int entry = step ? choose(ant, draw) : first_city(numbers_at(draw, 0, 0).v[0], n);
      if (threadIdx.x == 0) visit(cities, open, step, entry, rules.listed);
      __syncthreads();
    }
    if (last < n) continue;
    const uint64_t length = block_length(ant, cities, n, cost);
    if (threadIdx.x == 0) out.lengths[nth] = length;
    __syncthreads();
  }
}
EXPORT_KERNEL(roulette_construct)

// For tests: makes one step of an ant of the first colony from the city `here`, `samples` times. `cities` (n) are the
// visited ones, then the `left` open ones. Tests compare how often each of these is chosen with its exact probability.
KERNEL roulette_sample(int n, int here, int left, int samples, uint32_t key, roulette_rules rules,
                       roulette_tables tables, const uint32_t *__restrict__ open, const uint16_t *__restrict__ cities,
                       uint16_t *__restrict__ chosen) {
  __shared__ block_ant ant;
  for (int sample = blockIdx.x; sample < samples; sample += gridDim.x) {
    if (threadIdx.x == 0) set_step(ant, n, n - left, rules, tables, 0, here, open, cities);
    __syncthreads();
    const int entry = choose(ant, draws{key, 0, 0, (uint32_t)sample});
    if (threadIdx.x == 0) chosen[sample] = rules.listed ? cities[entry] : (uint16_t)entry;
    __syncthreads();
  }
}
EXPORT_KERNEL(roulette_sample)
