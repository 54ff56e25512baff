// Ant System's update: every trail evaporates, every ant lays an amount on its arcs, and the tables of the next
// iteration's steps are made (ant_trails.cuh, ant_head_tail.cuh).
//
// No order of deposits shows, since they are integers; nor do they need atomics between blocks: `ant_system_beside`
// turns the tours into a table of each city's two neighbours, 16 ants to a cache line, and then a block is one city and
// adds up its own row. On a CPU the row stays in the first cache through all that is done with it.
//
// Bytes of an iteration: the trails read and written (16 n^2), heuristic (4 n^2), coarse weights (4 n^2), tours and
// neighbours (2 m n and 8 m n). n = m = 1002: 34 MB, 10 microseconds of an H200's memory (L2: less); 3 ms of one core.
#include "ants/ant_trails.cuh"

// Sums of all threads of a block, given to every thread.
DEVICE uint64_t block_sum(uint64_t *shared, uint64_t x) {
  if (threadIdx.x == 0) *shared = 0;
  __syncthreads();
  atomicAdd_block(shared, x);
  __syncthreads();
  const uint64_t sum = *shared;
  __syncthreads();
  return sum;
}

// beside[group][city][ant]: the city after (low half) and before (high half) each city, for groups of 16 ants.
KERNEL ant_system_beside(int n, int ants, int colonies, const uint16_t *__restrict__ tours,
                         uint32_t *__restrict__ beside) {
  const int groups = (ants + 15) / 16;
  for (int g = blockIdx.x; g < groups * colonies; g += gridDim.x) {
    const int colony = g / groups, first = g % groups * 16;
    uint32_t *out = beside + (size_t)g * n * 16;
    for (int a = 0; a < 16 && first + a < ants; a++) {
      const uint16_t *tour = tours + ((size_t)colony * ants + first + a) * n;
      for (int s = threadIdx.x; s < n; s += blockDim.x)
        out[tour[s] * 16 + a] = (uint32_t)tour[s ? s - 1 : n - 1] << 16 | tour[s + 1 < n ? s + 1 : 0];
    }
  }
}
EXPORT_KERNEL(ant_system_beside)

// A row of trails: what evaporation leaves, and each ant's amount on the arcs to its neighbours.
DEVICE void deposit(uint64_t *row, int city, int n, int stride, int ants, int symmetric, uint32_t keep,
                    const uint32_t *beside, const uint64_t *amounts) {
  for (int j = threadIdx.x; j < stride; j += blockDim.x) {
    const uint64_t x = scaled(row[j], keep, 0);
    row[j] = x > least_trail ? x : least_trail;
  }
  __syncthreads();
  for (int a = threadIdx.x; a < ants; a += blockDim.x) {
    const uint32_t two = beside[((size_t)(a / 16) * n + city) * 16 + a % 16];
    atomicAdd_block(row + (two & 0xffff), amounts[a]);
    if (symmetric) atomicAdd_block(row + (two >> 16), amounts[a]);
  }
  __syncthreads();
}
// The weights of a row's tail in 32 bits, and their running sums by blocks of 64. Returns their shift.
DEVICE int make_tail(uint64_t *shared, const uint64_t *trail, const uint32_t *heuristic, int stride, uint32_t *tail,
                     uint32_t *prefix) {
  uint64_t far = 0;
  for (int j = threadIdx.x; j < stride; j += blockDim.x) far += weight_of(trail[j], heuristic[j]);
  far = block_sum(shared, far);
  const int bits = bit_length(far), shift = bits > 30 ? bits - 30 : 0;
  const uint64_t half = (1ull << shift) >> 1;
  for (int j = threadIdx.x; j < stride; j += blockDim.x)
    tail[j] = (uint32_t)((weight_of(trail[j], heuristic[j]) + half) >> shift);
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
// Running sums of the head in 30 bits of the whole row, by one thread.
DEVICE void make_sums(head_row *row, const uint64_t *head, uint64_t near, int shift, uint32_t tail_sum) {
  row->tail = (uint64_t)tail_sum << shift;
  row->tail_sum = tail_sum;
  row->tail_shift = shift;
  const int bits = bit_length(near + row->tail), unit = bits > 30 ? bits - 30 : 0;
  uint64_t sum = 0;
  for (int k = 0; k < 32; k++) row->sums[k] = (uint32_t)((sum += head[k]) >> unit);
  row->total = (uint32_t)((near + row->tail) >> unit);
}
// A block is one city of one colony. Without ants only the tables are made, of the trails as they are.
KERNEL ant_system_update(int n, int stride, int ants, int colonies, int symmetric, uint32_t keep,
                         const uint32_t *__restrict__ beside, const uint64_t *__restrict__ amounts,
                         const uint32_t *__restrict__ heuristic, const uint32_t *__restrict__ head_heuristic,
                         uint64_t *__restrict__ trail, uint32_t *__restrict__ tail, uint32_t *__restrict__ tail_prefix,
                         uint64_t *__restrict__ head, uint32_t *__restrict__ rows) {
  __shared__ uint64_t sum;
  for (int block = blockIdx.x; block < n * colonies; block += gridDim.x) {
    const int colony = block / n, city = block % n;
    const size_t cells = (size_t)block * stride;
    const uint32_t *nearby = beside + (size_t)colony * ((ants + 15) / 16) * n * 16;
    if (ants) deposit(trail + cells, city, n, stride, ants, symmetric, keep, nearby, amounts + (size_t)colony * ants);
    head_row *row = (head_row *)rows + block;
    uint64_t *own = head + (size_t)block * 32, near = 0;
    for (int k = threadIdx.x; k < 32; k += blockDim.x)
      near += own[k] = weight_of(trail[cells + row->city[k]], head_heuristic[city * 32 + k]);
    near = block_sum(&sum, near);
    uint32_t *prefix = tail_prefix + cells / 64;
    const int shift = make_tail(&sum, trail + cells, heuristic + (size_t)city * stride, stride, tail + cells, prefix);
    if (threadIdx.x == 0) make_sums(row, own, near, shift, prefix[stride / 64 - 1]);
    __syncthreads();
  }
}
EXPORT_KERNEL(ant_system_update)
