// Ant System's tours as papers on GPUs build them: a block is one ant, its threads share the row of the city that it
// leaves. After the strategies of Zhou, He, Qiu (Dynamic Strategy based Parallel Ant Colony Optimization on GPUs for
// TSPs):
//
//   KE-ALL, KE-ONE   the whole tour in one launch, or one step a launch: `first` to `last` are the steps of this one
//   STC              the tour's array holds the tour so far, then the unvisited: the chosen one is swapped to the
//                    cursor; without it every city is looked at in every step, and a bit tells whether it is open
//   TR               tiled roulette: each thread adds up a tile, one random number points into a tile, and its thread
//                    walks on alone; without it one thread walks from the start
//   dynamic          the driver launches some steps at a time, in ever smaller blocks
//
// All choose among all unvisited cities in proportion to exact 64-bit weights, which makes them the oracle of
// ant_head_tail.cu, and the study. The choice is the city where the running sum of the weights, in the array's order,
// passes the random number: block size and tiles do not show. STC changes that order, so the tours, not the
// distribution.
//
// n^2 / 2 (STC) or n^2 weights of 12 bytes a tour: at n = m = 1002 6 or 12 GB an iteration. That is 1.1 or 2.2 ms out
// of an H200's second cache (not measured yet), and 1.5 s on one core.
#include "ants/ant_trails.cuh"

constexpr int most_threads = 1024;

// What one block works on.
struct group_ant {
  int n, step, listed, tiled;
  const uint64_t *trail;  // the row of the city that is left
  const uint32_t *heuristic;
  const uint32_t *open;
  const uint16_t *cities;  // the tour so far, then the unvisited
  uint64_t sums[most_threads];
  uint64_t all;
  int chosen;
};
// The weight of the i-th place to look at: of the array, or of all cities.
DEVICE uint64_t weight_at(const group_ant &ant, int i) {
  if (!ant.listed && !has(ant.open, i)) return 0;
  const int city = ant.listed ? ant.cities[i] : i;
  return weight_of(ant.trail[city], ant.heuristic[city]);
}
// Walks from place i on to where the running sum passes r.
DEVICE int walk(const group_ant &ant, int i, uint64_t r) {
  for (;; i++) {
    const uint64_t w = weight_at(ant, i);
    if (r < w) return i;
    r -= w;
  }
}
// Every thread gets the place of the next city.
DEVICE int choose(group_ant &ant, const draws &draw) {
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
  if (mine) ant.chosen = ant.tiled ? walk(ant, from, r - before) : walk(ant, begin, r);
  __syncthreads();
  const int chosen = ant.chosen;
  __syncthreads();
  return chosen;
}
DEVICE void start(uint16_t *cities, uint32_t *open, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) cities[i] = (uint16_t)i;
  for (int word = threadIdx.x; word < (n + 31) / 32; word += blockDim.x) open[word] = low_bits(n - 32 * word);
  __syncthreads();
}
// By one thread: the place's city is visited. Without the list the array is the tour alone.
DEVICE void visit(uint16_t *cities, uint32_t *open, int step, int place, int listed) {
  const uint16_t city = listed ? cities[place] : (uint16_t)place;
  if (listed) cities[place] = cities[step];
  cities[step] = city;
  open[city >> 5] &= ~(1u << (city & 31));
}
// Steps `first` to `last` - 1 of every ant; after the last of all, the lengths.
KERNEL ant_group_construct(int n, int stride, int ants, int colonies, uint32_t iteration, int first, int last,
                           int listed, int tiled, const uint32_t *__restrict__ keys, const uint64_t *__restrict__ trail,
                           const uint32_t *__restrict__ heuristic, const int32_t *__restrict__ cost,
                           uint32_t *__restrict__ open, uint16_t *__restrict__ tours, uint64_t *__restrict__ lengths) {
  __shared__ group_ant ant;
  for (int nth = blockIdx.x; nth < ants * colonies; nth += gridDim.x) {
    const int colony = nth / ants;
    const draws draw{keys[2 * colony], keys[2 * colony + 1], iteration, (uint32_t)(nth % ants)};
    uint16_t *cities = tours + (size_t)nth * n;
    uint32_t *unvisited = open + (size_t)nth * ((n + 31) / 32);
    if (first == 0) start(cities, unvisited, n);
    for (int step = first; step < last; step++) {
      const int here = step ? cities[step - 1] : 0;
      if (threadIdx.x == 0) {
        ant.n = n, ant.step = step, ant.listed = listed, ant.tiled = tiled, ant.chosen = 0;
        ant.trail = trail + ((size_t)colony * n + here) * stride, ant.heuristic = heuristic + (size_t)here * n;
        ant.open = unvisited, ant.cities = cities;
      }
      __syncthreads();
      const int place = step ? choose(ant, draw) : (int)((uint64_t)numbers_at(draw, 0, 0).v[0] * n >> 32);
      if (threadIdx.x == 0) visit(cities, unvisited, step, place, listed);
      __syncthreads();
    }
    if (last < n) continue;
    uint64_t length = 0;
    for (int s = threadIdx.x; s < n; s += blockDim.x)
      length += (uint32_t)cost[(size_t)cities[s] * n + cities[s + 1 < n ? s + 1 : 0]];
    if (threadIdx.x == 0) ant.all = 0;
    __syncthreads();
    atomicAdd_block(&ant.all, length);
    __syncthreads();
    if (threadIdx.x == 0) lengths[nth] = ant.all;
    __syncthreads();
  }
}
EXPORT_KERNEL(ant_group_construct)

// One step, `samples` times, from one city: `rest` (n) holds the visited, then the `left` open ones. What tests compare
// with exact probabilities.
KERNEL ant_group_sample(int n, int stride, int here, int left, int samples, int listed, int tiled, uint32_t key,
                        const uint32_t *__restrict__ open, const uint16_t *__restrict__ rest,
                        const uint64_t *__restrict__ trail, const uint32_t *__restrict__ heuristic,
                        uint16_t *__restrict__ chosen) {
  __shared__ group_ant ant;
  for (int sample = blockIdx.x; sample < samples; sample += gridDim.x) {
    if (threadIdx.x == 0) {
      ant.n = n, ant.step = n - left, ant.listed = listed, ant.tiled = tiled, ant.chosen = 0;
      ant.trail = trail + (size_t)here * stride, ant.heuristic = heuristic + (size_t)here * n;
      ant.open = open, ant.cities = rest;
    }
    __syncthreads();
    const int place = choose(ant, draws{key, 0, 0, (uint32_t)sample});
    if (threadIdx.x == 0) chosen[sample] = listed ? rest[place] : (uint16_t)place;
    __syncthreads();
  }
}
EXPORT_KERNEL(ant_group_sample)
