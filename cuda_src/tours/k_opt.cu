// Kernels that improve tours by sequential k-exchanges (tours/k_opt.cuh), a block each. The tours are words of 16 or 32
// bits. Those of 16 bits are cities: of a paired instance, whose cities are two nodes each, the kernel makes a tour of
// nodes and then one of cities again.
//
// Each tour may belong to a group of tours with an incumbent, which has been improved already. Ants' tours differ
// little from it. So the search begins at the ends of those edges that the incumbent does not have.
//
// Memory: 24 bytes for each node of a tour that is searched, 8 for each entry of a list, and the costs. A block shares
// 4 KB, 1 KB for each of up to 4 warps that search, and few registers are live between steps, so blocks of a warp fill
// a multiprocessor. Each step waits for some three loads that depend on each other (the candidate, its place, its
// neighbour) and the cost of the closing edge; what limits its speed is their latency.
#include "device/device.cuh"
#include "device/group.cuh"
#include "tours/k_opt.cuh"

// The threads of a block. Warps beyond the fourth only rewrite segments.
struct block_crew {
  static constexpr bool alone = one_thread_blocks;
  static constexpr uint32_t most_groups = alone ? 1 : 4, most_threads = alone ? 1 : 1024;
  MEMBER uint32_t lane() const { return ::lane(); }
  MEMBER uint32_t lanes() const {
    const uint32_t left = blockDim.x - (threadIdx.x - lane());
    return left < (uint32_t)warp_size ? left : warp_size;
  }
  MEMBER uint32_t group() const { return warp(); }
  MEMBER uint32_t groups() const {
    const uint32_t all = (blockDim.x + warp_size - 1) / (uint32_t)warp_size;
    return all < most_groups ? all : most_groups;
  }
  MEMBER uint32_t thread() const { return threadIdx.x; }
  MEMBER uint32_t threads() const { return blockDim.x; }
  MEMBER void sync_group() const { group_sync(); }
  MEMBER void sync() const { __syncthreads(); }
};

// A tour as it is given: of nodes, or of cities that are two nodes each, the entry before the exit.
template <class Word, bool of_pairs>
struct given_tour {
  Word *words;
  MEMBER uint32_t node(uint32_t i) const { return of_pairs ? 2 * (uint32_t)words[i / 2] + i % 2 : words[i]; }
};
// Writes the tour of a search, read from where the given one began, in the direction in which entries come before
// exits.
template <class Word>
DEVICE void write_back(const k_opt_tour &t, given_tour<Word, false> out) {
  for (uint32_t i = threadIdx.x; i < t.n; i += blockDim.x) out.words[i] = t.order[i];
}
template <class Word>
DEVICE void write_back(const k_opt_tour &t, given_tour<Word, true> out) {
  const uint32_t first = out.node(0), start = t.position[first];
  const bool forwards = t.order[start + 1] == first + 1;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < t.n / 2; i += blockDim.x)
    out.words[i] = t.order[around(t, forwards ? start + 2 * i : start + t.n - 2 * i)] / 2;
}
// Improves `tours` tours in place, and writes their lengths. Each of the `groups` groups has tours / groups consecutive
// tours, and an incumbent. With 0 groups all nodes are looked at. `scratch` has k_opt_words(n) words for each block.
template <class Costs, class Word, bool of_pairs>
DEVICE void improve_tours(uint32_t tours, uint32_t groups, const k_opt_problem<Costs> &p, const Word *incumbents,
                          Word *all, uint32_t *scratch, uint64_t *lengths) {
  __shared__ k_opt_shared<block_crew> s;
  const block_crew crew;
  const uint32_t n = p.where.n, words = of_pairs ? n / 2 : n;
  const k_opt_tour t = k_opt_tour_in(scratch + blockIdx.x * k_opt_words(n), n);
  for (uint32_t one = blockIdx.x; one < tours; one += gridDim.x) {
    const given_tour<Word, of_pairs> own{all + (size_t)one * words};
    const given_tour<const Word, of_pairs> known{groups ? incumbents + (size_t)(one / (tours / groups)) * words
                                                        : own.words};
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) t.order[i] = own.node(i), t.position[known.node(i)] = i;
    __syncthreads();
    close_order(t, crew);
    const auto is_new = [&](uint32_t i, uint32_t j) {  // the edge between two nodes
      const uint32_t ahead = around(t, t.position[t.order[j]] + n - t.position[t.order[i]]);
      return ahead != 1 && ahead != n - 1;
    };
    k_opt_begin(
        p, t, s, [&](uint32_t i) { return !groups || is_new(i, around(t, i + 1)) || is_new(around(t, i + n - 1), i); },
        crew);
    k_opt_search(p, t, s, crew);
    write_back(t, own);
    uint64_t length = 0;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) length += t.leg[i];
    if (threadIdx.x == 0) lengths[one] = 0;
    __syncthreads();
    add_to(&lengths[one], length);
    __syncthreads();
  }
}
#define SEARCH_KERNEL(name, Costs, Word, of_pairs)                                                        \
  KERNEL k_opt_##name(uint32_t tours, uint32_t groups, cities where, near_lists near, k_opt_rules rules,  \
                      NULLABLE const Word *incumbents, Word *all, uint32_t *scratch, uint64_t *lengths) { \
    const k_opt_problem<Costs> p{Costs(where), where, near, rules};                                       \
    improve_tours<Costs, Word, of_pairs>(tours, groups, p, incumbents, all, scratch, lengths);            \
  }                                                                                                       \
  EXPORT_KERNEL(k_opt_##name)
SEARCH_KERNEL(matrix_u2, matrix_costs, uint16_t, false)
SEARCH_KERNEL(paired_u2, paired_costs, uint16_t, true)
SEARCH_KERNEL(matrix_u4, matrix_costs, uint32_t, false)
SEARCH_KERNEL(paired_u4, paired_costs, uint32_t, false)
SEARCH_KERNEL(euclidean_u4, euclidean_costs, uint32_t, false)
SEARCH_KERNEL(any_u4, any_costs, uint32_t, false)
