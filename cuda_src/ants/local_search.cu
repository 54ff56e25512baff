// Local search of tours for the ant colonies, with neighbour lists and don't-look bits (Bentley, ORSA Journal on
// Computing 1992; Johnson and McGeoch 1997). A block improves one tour (tour_path.cuh).
//
// A tour without one of its edges is a path P[0..n-1], read in either direction; its last city is `city`. A move
// removes that edge and some others, and joins cities to neighbours:
//   flips        Join P[0] to P[c] and remove the edge from P[c - 1] to P[c]: this reverses the path's first c cities.
//                If the path is then closed, that is a 2-opt move. Else its new first city is joined in turn, as by Lin
//                and Kernighan (Operations Research 1973), up to three flips in all. Flips are tried without changing
//                the tour: a position is mapped through the flips that are pending, with one comparison each.
//   or-exchange  Join P[0] to P[b - 1] and remove the edge from there to P[b]. That leaves a path and a cycle, which is
//                broken where one of its cities is a neighbour of P[b]. So P[0..a-1] and P[a..b-1] change places
//                (or-3opt; with one short segment Or-opt, Or 1976). No segment is reversed, so this serves asymmetric
//                costs too; the path is then read backwards, so that neighbours are those by the arcs that leave P[0].
// A move is given up as soon as its gain so far is not positive. Every improving move passes this test if it is begun
// at the right one of its edges, and every city is tried as the last one, in both directions.
//
// Order. The cities that are still to be looked at are a set of bits. The next one is the first at or after the
// previous one, around. A city has a list of items (direction, neighbour, flips or or-exchange). The first item with an
// improving move is taken, with the best move in it; then the ends of its edges are to be looked at again. A CPU's one
// thread stops at that item; the threads of a GPU's block try one item each, and the least item with a move is taken.
// If there are at least twice as many threads as items, several threads share an item: each has some of the neighbours
// that the second city may be joined to. So the result depends on the tour alone. Little of the block's work is in
// vain: most cities have no move, and to find that out takes all items anyway. Sums of costs have 64 bits.
//
// If the tour's colony has an incumbent, which is improved already, the search begins only at the ends of edges that
// the incumbent does not have, because ants' tours differ little from it.
//
// Memory: the cost matrix (4 n^2 bytes, of which few are ever read), 6 bytes for each neighbour, 4 n bytes and n bits
// for each tour: at n = 4461 a tour stays in a CPU's L1 cache. jobs/benchmarks/gpu.md has estimates for a GPU.
#include "ants/tour_path.cuh"

constexpr uint32_t nothing = 0xffffffffu;
constexpr int most_cuts = 3;  // of a move
constexpr uint32_t most_parts = 8;  // threads that share an item at most

// A kind of search: the most flips in a move, and whether there are or-exchanges. A kind without flips keeps the
// direction of every arc, so costs may be asymmetric.
template <int most_flips, bool has_or_exchanges>
struct kind {
  static constexpr int flips = most_flips;
  static constexpr bool or_exchanges = has_or_exchanges, symmetric = flips > 0;
  static constexpr uint32_t items = symmetric + or_exchanges;  // for each neighbour in each direction
};
using two_opt = kind<1, false>;
using three_opt = kind<2, true>;
using four_opt = kind<3, true>;
using insertion = kind<0, true>;

// Flips of the first cut[k] cities for k < cuts, one after the other; or the or-exchange of the segments that end at
// cut[0] and cut[1].
struct move {
  int64_t gain;
  bool or_exchange;
  uint32_t cuts, cut[most_cuts];
};
// What the threads of a block share: how many words after the current one `awake` has its next bit, the least item with
// a move, that move, and what the best move of each part of that item gains.
struct shared_search {
  uint32_t word, item;
  move chosen;
  int64_t gain[most_parts];
};
// The part of an item that a thread tries: moves that go on with the neighbours `begin` to `end` - 1 of the second
// city. The first part also has the move that does not go on.
struct part_of_item {
  uint32_t begin, end;
};

// Takes over a move if it gains more than the best one.
template <int cuts>
DEVICE void offer(move &best, int64_t gain, bool or_exchange, const uint32_t *cut) {
  if (gain <= best.gain) return;
  best.gain = gain, best.or_exchange = or_exchange, best.cuts = cuts;
  UNROLL for (int k = 0; k < cuts; k++) best.cut[k] = cut[k];
}
// Tries the moves of a part whose next flip joins the path's first city to `near`. The cost of that arc is already
// subtracted from `gain`.
template <int most, int flips>
DEVICE void try_flip(const tour &t, const path &p, int64_t gain, uint32_t near, part_of_item part, uint32_t *cut,
                     move &best) {
  cut[flips] = position_of<flips>(t, p, cut, near);
  if (cut[flips] < 2) return;
  const uint32_t first = city_at<flips>(t, p, cut, cut[flips] - 1);
  gain += cost_of(t, first, near);
  if (part.begin == 0) offer<flips + 1>(best, gain - cost_of(t, first, p.city), false, cut);
  if constexpr (flips + 1 < most)
    for (uint32_t k = part.begin; k < part.end; k++) {
      const int64_t left = gain - t.near_cost[first * t.breadth + k];
      if (left <= 0) break;
      try_flip<most, flips + 1>(t, p, left, t.neighbours[first * t.stride + k], {0, t.breadth}, cut, best);
    }
}
// Tries the or-exchanges of a part that join the path's first city to `near`. The cost of that arc is already
// subtracted from `gain`.
template <class Kind>
DEVICE void try_or_exchange(const tour &t, const path &p, int64_t gain, uint32_t near, part_of_item part, move &best) {
  uint32_t cut[2] = {0, position_of<0>(t, p, nullptr, near) + 1};
  if ((Kind::symmetric && cut[1] < 3) || cut[1] >= t.n) return;
  const uint32_t beyond = city_at<0>(t, p, nullptr, cut[1]);
  gain += cost_of(t, beyond, near);
  for (uint32_t k = part.begin; k < part.end; k++) {
    const int64_t left = gain - t.near_cost[beyond * t.breadth + k];
    if (left <= 0) break;
    const uint32_t broken = t.neighbours[beyond * t.stride + k], at = position_of<0>(t, p, nullptr, broken);
    if (at + 1 >= cut[1]) continue;
    const uint32_t after = city_at<0>(t, p, nullptr, at + 1);
    cut[0] = at + 1;
    offer<2>(best, left + cost_of(t, after, broken) - cost_of(t, after, p.city), true, cut);
  }
}
// Returns how many threads share an item.
template <class Kind>
DEVICE uint32_t parts(const tour &t) {
  const uint32_t items = (1 + Kind::symmetric) * Kind::items * t.breadth;
  if (one_thread_blocks || !items || blockDim.x < 2 * items) return 1;
  return blockDim.x / items < most_parts ? blockDim.x / items : most_parts;
}
// Returns the first of this thread's items with an improving move, or `nothing`; `best` is the best move in its part.
template <class Kind>
DEVICE uint32_t first_item(const tour &t, uint32_t city, move &best) {
  const uint32_t of_side = Kind::items * t.breadth, shared = parts<Kind>(t), step = blockDim.x / shared;
  const uint32_t own = threadIdx.x % shared;
  const part_of_item part = {own * t.breadth / shared, (own + 1) * t.breadth / shared};
  best.gain = 0;
  for (uint32_t item = threadIdx.x / shared; item < (1 + Kind::symmetric) * of_side; item += step) {
    const bool second = item >= of_side;
    const path p = path_to(t, city, !Kind::symmetric || second);
    const uint32_t first = t.order[p.start], k = (item - second * of_side) / Kind::items;
    const int64_t left = cost_of(t, first, city) - t.near_cost[first * t.breadth + k];
    if (left <= 0) {  // farther neighbours gain even less: on to this thread's last item of the direction
      item += ((1 + second) * of_side - 1 - item) / step * step;
      continue;
    }
    const uint32_t near = t.neighbours[first * t.stride + k];
    if (Kind::or_exchanges && item % Kind::items == 0) {
      try_or_exchange<Kind>(t, p, left, near, part, best);
    } else if constexpr (Kind::symmetric) {
      uint32_t cut[most_cuts];
      try_flip<Kind::flips, 0>(t, p, left, near, part, cut, best);
    }
    if (best.gain > 0) return item;
  }
  return nothing;
}
// Sets s.chosen to the best move in item s.item, of equally good ones to that of the first part. `best` is the thread's
// own best move, in item `found`.
template <class Kind>
DEVICE void choose(const tour &t, shared_search &s, uint32_t found, const move &best) {
  const uint32_t shared = parts<Kind>(t), own = threadIdx.x % shared;
  bool chosen = found == s.item;
  if (shared > 1) {  // then a thread has one item
    if (threadIdx.x / shared == s.item) s.gain[own] = best.gain;
    __syncthreads();
    for (uint32_t other = 0; chosen && other < shared; other++)
      chosen = best.gain > s.gain[other] || (best.gain == s.gain[other] && own <= other);
  }
  if (chosen) s.chosen = best;
  __syncthreads();
}
// Swaps the first two of the three segments that end at cut[0], cut[1] and n. In a cycle any two may be swapped, so the
// longest stays.
template <class Kind>
DEVICE void swap_segments(const tour &t, path &p, const uint32_t *cut) {
  const uint32_t first = cut[0], second = cut[1] - cut[0], third = t.n - cut[1];
  const bool first_stays = first >= second && first >= third, second_stays = !first_stays && second >= third;
  const uint32_t one = first_stays ? cut[0] : second_stays ? cut[1] : 0;
  const uint32_t other = first_stays ? cut[1] : second_stays ? 0 : cut[0];
  const uint32_t length = first_stays ? second : second_stays ? third : first;
  const uint32_t both = t.n - (first_stays ? first : second_stays ? second : third);
  reverse<Kind::symmetric>(t, p, one, length);
  reverse<Kind::symmetric>(t, p, other, both - length);
  reverse<Kind::symmetric>(t, p, one, both);
}
template <class Kind>
DEVICE void apply_move(const tour &t, uint32_t city, bool backwards, const move &m) {
  path p = path_to(t, city, backwards);
  if (m.or_exchange) return swap_segments<Kind>(t, p, m.cut);
  for (uint32_t k = 0; k < m.cuts; k++) reverse<Kind::symmetric>(t, p, 0, m.cut[k]);
}
// Returns the first awake city at or after `from`, around, and puts it to sleep; `nothing` if there is none.
DEVICE uint32_t next_awake(const tour &t, shared_search &s, uint32_t from) {
  const uint32_t words = (t.n + 63) / 64;
  if (threadIdx.x == 0) s.word = nothing;
  __syncthreads();
  for (uint32_t k = threadIdx.x; k <= words; k += blockDim.x) {  // the word of `from` comes first and last
    const uint64_t word = t.awake[(from / 64 + k) % words];
    if (k ? word : word >> from % 64) {
      atomicMin_block(&s.word, k);
      break;
    }
  }
  __syncthreads();
  if (s.word == nothing) return nothing;
  const uint32_t word = (from / 64 + s.word) % words;
  const uint64_t bits = s.word ? t.awake[word] : t.awake[word] >> from % 64 << from % 64;
  if (threadIdx.x == 0) s.item = nothing;
  __syncthreads();
  if (threadIdx.x == 0) t.awake[word] &= ~(bits & (~bits + 1));
  return 64 * word + lowest(bits);
}
// Fills `position`, and wakes the cities with an edge that the incumbent has not; all of them without an incumbent.
template <class Kind>
DEVICE void begin_search(const tour &t, const uint16_t *incumbent) {
  for (uint32_t w = threadIdx.x; w < (t.n + 63) / 64; w += blockDim.x) t.awake[w] = 0;
  for (uint32_t i = threadIdx.x; incumbent && i < t.n; i += blockDim.x) t.position[incumbent[i]] = i;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < t.n; i += blockDim.x) {
    const uint32_t city = t.order[i], next = t.order[around(t, i + 1)];
    const uint32_t ahead = incumbent ? around(t, t.position[next] + t.n - t.position[city]) : 0;
    if (ahead != 1 && !(Kind::symmetric && ahead == t.n - 1)) wake(t, city), wake(t, next);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < t.n; i += blockDim.x) t.position[t.order[i]] = i;
  __syncthreads();
}
template <class Kind>
DEVICE void search(const tour &t, shared_search &s) {
  for (uint32_t city = 0; (city = next_awake(t, s, city)) != nothing;) {
    move best;
    const uint32_t item = first_item<Kind>(t, city, best);
    atomicMin_block(&s.item, item);
    __syncthreads();
    if (s.item == nothing) continue;
    choose<Kind>(t, s, item, best);
    apply_move<Kind>(t, city, !Kind::symmetric || s.item >= Kind::items * t.breadth, s.chosen);
  }
}
// Improves `tours` tours in place, and writes their lengths. Each colony has tours / groups consecutive tours, and an
// incumbent that is improved already, in `incumbents` (groups, n); with 0 groups there are no incumbents. `position`
// and `awake` are scratch.
template <class Kind>
DEVICE void improve(uint32_t tours, uint32_t groups, const tour &all, const uint16_t *incumbents, uint64_t *lengths) {
  __shared__ shared_search s;
  tour t = all;
  for (uint32_t one = blockIdx.x; one < tours; one += gridDim.x) {
    t.order = all.order + (size_t)one * t.n, t.position = all.position + (size_t)one * t.n;
    t.awake = all.awake + (size_t)one * ((t.n + 63) / 64);
    begin_search<Kind>(t, groups ? incumbents + (size_t)(one / (tours / groups)) * t.n : nullptr);
    search<Kind>(t, s);
    uint64_t length = 0;
    for (uint32_t i = threadIdx.x; i < t.n; i += blockDim.x)
      length += cost_of(t, t.order[i], t.order[around(t, i + 1)]);
    if (threadIdx.x == 0) lengths[one] = 0;
    __syncthreads();
    atomicAdd_block(&lengths[one], length);
    __syncthreads();
  }
}
#define SEARCH_KERNEL(Kind)                                                                         \
  KERNEL local_search_##Kind(uint32_t tours, uint32_t groups, tour all, const uint16_t *incumbents, \
                             uint64_t *lengths) {                                                   \
    improve<Kind>(tours, groups, all, incumbents, lengths);                                         \
  }                                                                                                 \
  EXPORT_KERNEL(local_search_##Kind)
SEARCH_KERNEL(two_opt)
SEARCH_KERNEL(three_opt)
SEARCH_KERNEL(four_opt)
SEARCH_KERNEL(insertion)

// Fills near_cost (n, breadth) with the costs from each city to its first `breadth` neighbours.
KERNEL local_search_prepare(uint32_t n, uint32_t stride, uint32_t breadth, const int32_t *cost,
                            const uint16_t *neighbours, int32_t *near_cost) {
  for (uint32_t city = blockIdx.x; city < n; city += gridDim.x)
    for (uint32_t k = threadIdx.x; k < breadth; k += blockDim.x)
      near_cost[(size_t)city * breadth + k] = cost[(size_t)city * n + neighbours[(size_t)city * stride + k]];
}
EXPORT_KERNEL(local_search_prepare)
