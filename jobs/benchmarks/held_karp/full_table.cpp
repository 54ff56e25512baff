// Held-Karp over a full table, in two forms: the straightforward programs that hpcsolve is compared with. Not part of
// hpcsolve.
//
// Bellman (1962), Held and Karp (1962): the cheapest path that leaves the depot, visits the cities of a set S and ends
// at j is the cheapest over all cities before j. The table has one row of 32-bit values for each set, and all 2^m rows
// are kept (m = n - 1 cities, the last one is the depot). Only the optimum is computed; returning the tour would not be
// faster. Compiled with the flags of hpcsolve's kernels.
//
// `full_table_textbook` has the form of textbooks and course work, written with care: [set][last city], sets in order
// of size (so that OpenMP may share the sets of one size among threads), loops over the members of a set by their bits.
// The sets are sorted by size before the clock starts. Its time goes into reading rows all over the table (each value n
// / 2 times) and into loops that do not vectorise.
//
// `full_table_vectorised` is what an afternoon of work makes of it. Row S holds the paths that end at a city j OUTSIDE
// of S, so for a predecessor i one value of row S - i is read, once, and added to row i of the costs. The loop over all
// j vectorises; half of its results (j in S) are not needed, but it works in registers. Of the bits of a set only the
// high ones are ordered by size, and the low ones count up within a thread: most rows are then read from caches.
//
// Neither splits the subset lattice into planes, meets in the middle, uses 16-bit values or symmetry, as hpcsolve does.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace {
constexpr uint32_t infinity = 0x3fffffff;
constexpr int low_bits = 10;

// Distance of two rows, in values. Width is n rounded up to a multiple of 8. Rows of more than 24 values are not
// padded: with rows of 128 bytes the program is three times slower for n = 26, because then every value that is read
// has a cache line of its own.
template <int Width>
size_t stride(int n) {
  return Width <= 24 ? Width : n;
}

template <int Width>
void fill_row(int n, const uint32_t (*cost)[Width], uint32_t set, uint32_t *table) {
  uint32_t best[Width];
  std::fill(best, best + Width, infinity);
  if (set == 0) std::copy(cost[n - 1], cost[n - 1] + Width, best);
  for (uint32_t left = set; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    const uint32_t path = table[(set ^ 1u << i) * stride<Width>(n) + i];
    for (int j = 0; j < Width; j++) best[j] = std::min(best[j], path + cost[i][j]);
  }
  std::copy(best, best + stride<Width>(n), table + set * stride<Width>(n));
}

template <int Width>
uint32_t vectorised(int n, int threads, const uint32_t *given, uint32_t *table) {
  alignas(64) uint32_t cost[Width][Width];
  for (int i = 0; i < Width; i++)
    for (int j = 0; j < Width; j++) cost[i][j] = i < n && j < n ? given[i * n + j] : infinity;
  const int m = n - 1, low = std::min(m, low_bits), high = m - low;
  for (int size = 0; size <= high; size++) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (uint32_t h = 0; h < 1u << high; h++)
      if (__builtin_popcount(h) == size)
        for (uint32_t l = 0; l < 1u << low; l++) fill_row<Width>(n, cost, h << low | l, table);
  }
  return table[((1u << m) - 1) * stride<Width>(n) + m];
}
}  // namespace

// Sorts the sets of m cities by size. order: 2^m sets, small ones first. start: m + 2 entries, start[k] is the position
// of the first set with k cities.
extern "C" void full_table_order(int m, uint32_t *order, uint32_t *start) {
  std::fill(start, start + m + 2, 0);
  for (uint32_t set = 0; set < 1u << m; set++) start[__builtin_popcount(set) + 1]++;
  for (int k = 0; k <= m; k++) start[k + 1] += start[k];
  uint32_t next[33];
  std::copy(start, start + m + 1, next);
  for (uint32_t set = 0; set < 1u << m; set++) order[next[__builtin_popcount(set)]++] = set;
}

// Returns the optimum. cost: n * n values, the depot last. order, start: see above. table: 2^m * m values.
extern "C" uint32_t full_table_textbook(int n, int threads, const uint32_t *cost, const uint32_t *order,
                                        const uint32_t *start, uint32_t *table) {
  const int m = n - 1;
  for (int j = 0; j < m; j++) table[((size_t)1 << j) * m + j] = cost[m * n + j];
  for (int size = 2; size <= m; size++) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (uint32_t nth = start[size]; nth < start[size + 1]; nth++) {
      const uint32_t set = order[nth];
      for (uint32_t ends = set; ends; ends &= ends - 1) {
        const int j = __builtin_ctz(ends);
        const uint32_t *row = table + (size_t)(set ^ 1u << j) * m;
        uint32_t best = infinity;
        for (uint32_t left = set ^ 1u << j; left; left &= left - 1) {
          const int i = __builtin_ctz(left);
          best = std::min(best, row[i] + cost[i * n + j]);
        }
        table[(size_t)set * m + j] = best;
      }
    }
  }
  uint32_t best = infinity;
  const uint32_t *last = table + (size_t)((1u << m) - 1) * m;
  for (int j = 0; j < m; j++) best = std::min(best, last[j] + cost[j * n + m]);
  return best;
}

// Returns the optimum, for n <= 32. cost: n * n values, the depot last. table: 2^m * (n <= 24 ? n rounded up to a
// multiple of 8 : n) values.
extern "C" uint32_t full_table_vectorised(int n, int threads, const uint32_t *cost, uint32_t *table) {
  switch ((n + 7) / 8) {
    case 1: return vectorised<8>(n, threads, cost, table);
    case 2: return vectorised<16>(n, threads, cost, table);
    case 3: return vectorised<24>(n, threads, cost, table);
    default: return vectorised<32>(n, threads, cost, table);
  }
}
