// Ant System's update of the pheromone: it evaporates, every ant deposits an amount on its arcs, and the tables for the
// next iteration's choices are made (head_tail_tables.cuh).
//
// Deposits are integers, so their order does not matter. Nor do they need atomics between blocks: `ant_system_adjacent`
// turns the tours into a table of the two cities beside each city, 16 ants to a cache line; then a block is one city
// and adds up its own row. On a CPU the row stays in the L1 cache until the block has finished.
//
// Memory traffic of an iteration, in bytes: pheromone read and written (16 n^2), heuristic (4 n^2), coarse weights (4
// n^2), tours and adjacent cities (2 m n and 8 m n for m ants). n = m = 1002: 34 MB, 3 ms of one core.
// jobs/benchmarks/gpu.md has estimates for a GPU.
#include "ants/construction.cuh"
#include "ants/head_tail_tables.cuh"
#include "ants/pheromone.cuh"

// Returns the sum over all threads of a block, to every thread.
DEVICE uint64_t block_sum(uint64_t *shared, uint64_t x) {
  if (threadIdx.x == 0) *shared = 0;
  __syncthreads();
  add_to(shared, x);
  __syncthreads();
  const uint64_t sum = *shared;
  __syncthreads();
  return sum;
}

constexpr int line_ants = 16;  // ants whose cities stand in one cache line

// adjacent[colony][line][city][ant]: the cities beside each city in the tours of a line's ants (`adjacent_cities`).
KERNEL ant_system_adjacent(colony_sizes sizes, const uint16_t *__restrict__ tours, uint32_t *__restrict__ adjacent) {
  const int n = sizes.n, lines = (sizes.ants + line_ants - 1) / line_ants;
  for (int line = blockIdx.x; line < lines * sizes.colonies; line += gridDim.x) {
    const int colony = line / lines, first = line % lines * line_ants;
    uint32_t *out = adjacent + (size_t)line * n * line_ants;
    for (int a = 0; a < line_ants && first + a < sizes.ants; a++) {
      const uint16_t *tour = tours + ((size_t)colony * sizes.ants + first + a) * n;
      for (int s = threadIdx.x; s < n; s += blockDim.x) out[tour[s] * line_ants + a] = adjacent_cities(tour, n, s);
    }
  }
}
EXPORT_KERNEL(ant_system_adjacent)

// What changes the pheromone in an iteration. Evaporation leaves keep / 2^32; then each ant deposits its amount
// (colonies, ants) on the arcs of its tour, in both directions if the costs are symmetric.
struct deposits {
  uint32_t keep;
  int symmetric;
  const uint32_t *adjacent;
  const uint64_t *amounts;
};
// Applies evaporation to a row of pheromone, and adds each ant's deposit on the arcs to the cities beside this one.
DEVICE void deposit(uint64_t *row, int city, const colony_sizes &sizes, int colony, int stride, const deposits &d) {
  const uint32_t *adjacent =
      d.adjacent + (size_t)colony * ((sizes.ants + line_ants - 1) / line_ants) * sizes.n * line_ants;
  const uint64_t *amounts = d.amounts + (size_t)colony * sizes.ants;
  for (int j = threadIdx.x; j < stride; j += blockDim.x) {
    const uint64_t x = scaled(row[j], d.keep, 0);
    row[j] = x > least_pheromone ? x : least_pheromone;
  }
  __syncthreads();
  for (int a = threadIdx.x; a < sizes.ants; a += blockDim.x) {
    const uint32_t two = adjacent[((size_t)(a / line_ants) * sizes.n + city) * line_ants + a % line_ants];
    atomicAdd_block(row + (two & 0xffff), amounts[a]);
    if (d.symmetric) atomicAdd_block(row + (two >> 16), amounts[a]);
  }
  __syncthreads();
}
// Makes the weights of a row's tail, in units of 2^shift, and the running sums of every 64 of them. Returns the shift.
DEVICE int make_tail(uint64_t *shared, const uint64_t *pheromone, const uint32_t *heuristic, int stride, uint32_t *tail,
                     uint32_t *prefix) {
  uint64_t far = 0;
  for (int j = threadIdx.x; j < stride; j += blockDim.x) far += weight_of(pheromone[j], heuristic[j]);
  far = block_sum(shared, far);
  const int bits = bit_length(far), shift = bits > 30 ? bits - 30 : 0;
  const uint64_t half = (1ull << shift) >> 1;
  for (int j = threadIdx.x; j < stride; j += blockDim.x)
    tail[j] = (uint32_t)((weight_of(pheromone[j], heuristic[j]) + half) >> shift);
  __syncthreads();
  for (int b = threadIdx.x; b < stride / 64; b += blockDim.x) {
    uint32_t sum = 0;
    for (int k = 0; k < 64; k++) sum += tail[64 * b + k];
    prefix[b] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    for (int b = 1; b < stride / 64; b++) prefix[b] += prefix[b - 1];
  __syncthreads();
  return shift;
}
// By one thread: fills in a row from the exact weights of its head, their sum `near`, and the sum of its tail.
DEVICE void make_sums(head_row *row, const uint64_t *head, uint64_t near, int shift, uint32_t tail_sum) {
  row->tail = (uint64_t)tail_sum << shift;
  row->tail_sum = tail_sum;
  row->tail_shift = shift;
  const int bits = bit_length(near + row->tail), unit = bits > 30 ? bits - 30 : 0;
  uint64_t sum = 0;
  for (int k = 0; k < 32; k++) row->sums[k] = (uint32_t)((sum += head[k]) >> unit);
  row->total = (uint32_t)((near + row->tail) >> unit);
}
// A block is one city of one colony. If `first` is set, nothing evaporates and no ant deposits; only the tables are
// made from the initial pheromone. `head_heuristic` (n, 32) is the heuristic of the head's cities.
KERNEL ant_system_update(colony_sizes sizes, int first, deposits ants, const uint32_t *__restrict__ head_heuristic,
                         head_tail_tables tables) {
  __shared__ uint64_t sum;
  const int stride = tables.stride;
  for (int block = blockIdx.x; block < sizes.n * sizes.colonies; block += gridDim.x) {
    const int colony = block / sizes.n, city = block % sizes.n;
    uint64_t *__restrict__ pheromone = tables.pheromone + (size_t)block * stride;
    if (!first) deposit(pheromone, city, sizes, colony, stride, ants);
    head_row *row = row_of(tables, {sizes.n, colony, city});
    uint64_t *head = tables.head + (size_t)block * 32, near = 0;
    for (int k = threadIdx.x; k < 32; k += blockDim.x)
      near += head[k] = weight_of(pheromone[row->city[k]], head_heuristic[city * 32 + k]);
    near = block_sum(&sum, near);
    uint32_t *prefix = tables.tail_prefix + (size_t)block * (stride / 64);
    const uint32_t *heuristic = tables.heuristic + (size_t)city * stride;
    const int shift = make_tail(&sum, pheromone, heuristic, stride, tables.tail + (size_t)block * stride, prefix);
    if (threadIdx.x == 0) make_sums(row, head, near, shift, prefix[stride / 64 - 1]);
    __syncthreads();
  }
}
EXPORT_KERNEL(ant_system_update)
