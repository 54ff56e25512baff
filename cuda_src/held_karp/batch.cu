// Many small problems at once: each block solves one instance after the other, with a table of all its states that no
// other block touches (order_sets.cuh has the recurrence, orders.cu the same layout for one large problem). For m cities
// a table has m 2^(m - 1) values: 56 KiB for 12 cities of a tour, 448 KiB for 15, which the caches of a CPU core hold.
#include "held_karp/order_sets.cuh"

constexpr int batch_columns = 16;  // costs of an instance come as (cities + 1, cities + 1), the depot last

// What a block's threads share of one instance.
struct small_problem {
  uint32_t cost[cost_stride * cost_stride];
  uint32_t open[cost_stride], never[cost_stride], zero[cost_stride];  // no windows, no precedence, no weights
};

DEVICE void copy_problem(small_problem &p, int cities, const uint32_t *cost) {
  for (int at = threadIdx.x; at < cost_stride * cost_stride; at += blockDim.x) {
    const int i = at / cost_stride, j = at % cost_stride, row = i == depot_costs ? cities : i;
    p.cost[at] = row <= cities && j < cities && (i < cities || i == depot_costs) ? cost[row * (cities + 1) + j]
                                                                                 : no_path<uint32_t>();
  }
  for (int j = threadIdx.x; j < cost_stride; j += blockDim.x) {
    p.open[j] = p.zero[j] = 0;
    p.never[j] = no_path<uint32_t>() - 1;
  }
}
// Returns g(S - i, i) of a table.
DEVICE uint32_t state(const uint32_t *table, int cities, uint32_t without, int i) {
  const uint32_t mask = (1u << (cities - 1)) - 1;
  return table[((size_t)i << (cities - 1)) + ((without >> (cities - 1) & 1 ? ~without : without) & mask)];
}
// Writes the best order of a filled table, from its last city to its first, of equal ones by the tie rule (`tie` in
// hpcsolve/algorithms/held_karp/problem.py). Returns its cost, no path if there is none.
DEVICE uint32_t walk_back(int cities, const uint32_t *cost, const uint32_t *table, int *order) {
  uint32_t left = (1u << cities) - 1, limit = no_path<uint32_t>();
  for (uint32_t from = left; from; from &= from - 1) {
    const int i = lowest(from);
    const uint32_t path = state(table, cities, left & ~(1u << i), i) + cost[i * (cities + 1) + cities];
    limit = path < limit ? path : limit;
  }
  const uint32_t best = limit;
  for (int place = cities, city = cities; place-- > 0;) {
    int last = -1;
    for (uint32_t from = best < no_path<uint32_t>() ? left : 0; from && last < 0; from &= from - 1) {
      const int i = lowest(from);
      if (state(table, cities, left & ~(1u << i), i) + cost[i * (cities + 1) + city] <= limit) last = i;
    }
    order[place] = last;
    if (last < 0) continue;
    limit -= cost[last * (cities + 1) + city];
    left &= ~(1u << last);
    city = last;
  }
  return best;
}
// Solves `instances` problems of so many cities beside the depot; block b has table number b for its own.
KERNEL batch_solve(int instances, int cities, const int *binomial, const uint32_t *costs, uint32_t *tables, int *orders,
                   uint32_t *values) {
  __shared__ small_problem p;
  const size_t plane = (size_t)1 << (cities - 1);
  uint32_t *table = tables + blockIdx.x * cities * plane;
  const order_rules<uint32_t> rules = {p.cost, p.open, p.never, p.zero, p.zero, 1};
  for (int nth = blockIdx.x; nth < instances; nth += gridDim.x) {
    const uint32_t *cost = costs + (size_t)nth * (cities + 1) * (cities + 1);
    copy_problem(p, cities, cost);
    __syncthreads();
    for_each_subset<1>(cities, binomial, [&](const uint64_t *sets) {
      const uint32_t set = (uint32_t)sets[0];
      const size_t row = (set >> (cities - 1) & 1 ? ~set : set) & (plane - 1);
      if (set == (1u << cities) - 1) return;
      solve_row<add_costs, batch_columns>(rules, cities, set, table + row, plane,
                                          [&](int i) { return state(table, cities, set & ~(1u << i), i); });
    });
    if (threadIdx.x == 0) values[nth] = walk_back(cities, cost, table, orders + (size_t)nth * cities);
    __syncthreads();
  }
}
EXPORT_KERNEL(batch_solve)
