// Local search of orders whose arcs cost differently at different places, with precedences: upper bounds for Held-Karp.
//
// A block improves one order. A move takes a segment elsewhere, perhaps turned round, or exchanges two cities. The best
// of all moves whose segment begins at one position is made if it gains anything; the search goes from position to
// position and ends when none gains. Then the order is kicked (two neighbouring segments change places) and improved
// again, `rounds` times (iterated local search; Lourenco, Martin and Stuetzle 2003). Ties go to the move with the
// smallest number, so the result does not depend on the number of threads.
//
// Costs are (cities + 1, cities, cities) by place as in bounds.cu, none negative. A missing arc costs `penalty`; so does
// each city that is visited before one that must precede it, so that the search goes from orders that break constraints
// to orders that do not. The new cost of a move is summed over the positions that it changes, until it reaches the old
// one.
#include "device/philox.cuh"

constexpr int most_cities = 121;
constexpr int64_t penalty = INT64_C(1) << 36, no_gain = INT64_C(1) << 43;
constexpr int item_bits = 16;
constexpr int longest_turned = 3;  // of segments that are turned round and taken elsewhere

struct order_problem {
  int cities;
  int longest;  // the longest segment that is taken elsewhere
  int rounds;
  uint32_t key;  // of the random numbers
  const int64_t *cost;
  const uint64_t *before;  // (cities, 2): what must come before a city
};
// A set of cities: bits 0 to 63, and 64 on.
struct city_set {
  uint64_t low, high;
};
DEVICE city_set joined(city_set set, int city) {
  set.low |= (uint64_t)(city < 64) << (city & 63);
  set.high |= (uint64_t)(city >= 64) << (city & 63);
  return set;
}
// The order that a block works on. seen[p] has the cities before position p, upto[p] the cost of the arcs before arc p.
struct order_block {
  int order[most_cities], spare[most_cities], kept[most_cities];
  int64_t upto[most_cities + 2], kept_value;
  city_set seen[most_cities + 1];
  uint64_t best;
};
// A segment of `length` positions from `first` on that comes to begin at `to`; a length of 0 exchanges `first` and `to`.
struct move {
  int first, length, to;
  bool turned;
};
DEVICE int64_t arc_value(const order_problem &p, int k, int i, int j, const city_set &seen) {
  const int64_t cost = p.cost[((size_t)k * p.cities + i) * p.cities + j];
  if (k == p.cities) return cost;
  const uint64_t missing = (p.before[2 * j] & ~seen.low) | (p.before[2 * j + 1] & ~seen.high);
  return cost + (missing ? penalty : 0);
}
DEVICE int lowest_changed(const move &m) { return m.to < m.first ? m.to : m.first; }
DEVICE int highest_changed(const move &m) {
  if (!m.length) return m.to < m.first ? m.first : m.to;
  return (m.to < m.first ? m.first : m.to) + m.length - 1;
}
// The position whose city comes to position k.
DEVICE int origin(const move &m, int k) {
  if (!m.length) return k == m.first ? m.to : k == m.to ? m.first : k;
  if (k >= m.to && k < m.to + m.length) return m.turned ? m.first + m.length - 1 - (k - m.to) : m.first + k - m.to;
  return m.to < m.first ? k - m.length : k + m.length;
}
// What a move costs more, or `no_gain` where it gains nothing.
DEVICE int64_t change(const order_problem &p, const order_block &b, const move &m) {
  const int low = lowest_changed(m), high = highest_changed(m);
  const int64_t old = b.upto[high + 2] - b.upto[low];
  city_set seen = b.seen[low];
  int64_t sum = 0;
  int last = low ? b.order[low - 1] : 0;
  for (int k = low; k <= high + 1; k++) {
    const int city = k <= high ? b.order[origin(m, k)] : k < p.cities ? b.order[k] : 0;
    sum += arc_value(p, k, last, city, seen);
    if (sum >= old) return no_gain;
    seen = joined(seen, city);
    last = city;
  }
  return sum - old;
}
// The moves from one position have numbers: exchanges first, then by length, target and direction.
DEVICE bool numbered_move(const order_problem &p, int first, int number, move &m) {
  m = {first, 0, number, false};
  if (number < p.cities) return number > first;
  const int rest = number - p.cities;
  m = {first, rest / (2 * p.cities) + 1, rest / 2 % p.cities, (bool)(rest & 1)};
  if (m.first + m.length > p.cities || m.to + m.length > p.cities) return false;
  if (m.to == m.first) return m.turned && m.length > 1;
  return !m.turned || (m.length > 1 && m.length <= longest_turned);
}
DEVICE void add_up(const order_problem &p, order_block &b) {
  if (threadIdx.x) return;
  city_set seen{0, 0};
  int64_t sum = 0;
  for (int k = 0; k <= p.cities; k++) {
    b.upto[k] = sum, b.seen[k] = seen;
    const int city = k < p.cities ? b.order[k] : 0;
    sum += arc_value(p, k, k ? b.order[k - 1] : 0, city, seen);
    if (k < p.cities) seen = joined(seen, city);
  }
  b.upto[p.cities + 1] = sum;
}
DEVICE void rearrange(const order_problem &p, order_block &b, const move &m) {
  for (int k = threadIdx.x; k < p.cities; k += blockDim.x) {
    const bool moved = k >= lowest_changed(m) && k <= highest_changed(m);
    b.spare[k] = b.order[moved ? origin(m, k) : k];
  }
  __syncthreads();
  for (int k = threadIdx.x; k < p.cities; k += blockDim.x) b.order[k] = b.spare[k];
  __syncthreads();
  add_up(p, b);
  __syncthreads();
}
DEVICE void descend(const order_problem &p, order_block &b) {
  const int moves = p.cities + 2 * p.cities * p.longest;
  for (int first = 0, idle = 0; idle < p.cities;) {
    if (threadIdx.x == 0) b.best = UINT64_MAX;
    __syncthreads();
    uint64_t mine = UINT64_MAX;
    move m;
    for (int number = threadIdx.x; number < moves; number += blockDim.x)
      if (numbered_move(p, first, number, m)) {
        const int64_t more = change(p, b, m);
        const uint64_t value = (uint64_t)(more + no_gain) << item_bits | (uint32_t)number;
        if (more < 0 && value < mine) mine = value;
      }
    atomicMin_block(&b.best, mine);
    __syncthreads();
    const uint64_t best = b.best;
    __syncthreads();
    if (best == UINT64_MAX) {
      first = (first + 1) % p.cities, idle++;
      continue;
    }
    numbered_move(p, first, (int)(best & ((1 << item_bits) - 1)), m);
    rearrange(p, b, m);
    idle = 0;
  }
}
// Exchanges two neighbouring segments that begin and end at random positions.
DEVICE move random_kick(const order_problem &p, int round) {
  const four x = philox({{(uint32_t)round, blockIdx.x, 0, 0}}, p.key, 0);
  int cut[3];
  UNROLL for (int c = 0; c < 3; c++) cut[c] = (int)(((uint64_t)x.v[c] * (uint32_t)(p.cities + 1)) >> 32);
  UNROLL for (int c = 0; c < 3; c++) {  // sorts three
    const int a = c == 1, low = cut[a] < cut[a + 1] ? cut[a] : cut[a + 1];
    cut[a + 1] += cut[a] - low, cut[a] = low;
  }
  return {cut[0], cut[1] - cut[0], cut[0] + cut[2] - cut[1], false};
}
// Improves orders (tours, cities) and sets values[t] to the cost of each.
KERNEL descent_improve(order_problem problem, int *orders, int64_t *values) {
  __shared__ order_block b;
  int *mine = orders + (size_t)blockIdx.x * problem.cities;
  for (int k = threadIdx.x; k < problem.cities; k += blockDim.x) b.order[k] = mine[k];
  __syncthreads();
  add_up(problem, b);
  __syncthreads();
  for (int round = 0; round <= problem.rounds; round++) {
    if (round) {
      const move kick = random_kick(problem, round);
      if (kick.length && kick.to != kick.first) rearrange(problem, b, kick);
    }
    descend(problem, b);
    const bool better = !round || b.upto[problem.cities + 1] <= b.kept_value;
    __syncthreads();
    const int *from = better ? b.order : b.kept;
    int *to = better ? b.kept : b.order;
    for (int k = threadIdx.x; k < problem.cities; k += blockDim.x) to[k] = from[k];
    if (threadIdx.x == 0 && better) b.kept_value = b.upto[problem.cities + 1];
    __syncthreads();
    if (!better) add_up(problem, b);
    __syncthreads();
  }
  for (int k = threadIdx.x; k < problem.cities; k += blockDim.x) mine[k] = b.kept[k];
  if (threadIdx.x == 0) values[blockIdx.x] = b.kept_value;
}
EXPORT_KERNEL(descent_improve)
