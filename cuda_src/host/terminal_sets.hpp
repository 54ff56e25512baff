// Sets of terminals in one or two words of 64 bits, and the families of states that belong to them.
#pragma once
#include "host/network.hpp"

template <int W>
struct terminal_set {
  uint64_t word[W];
};
template <int W>
inline terminal_set<W> set_at(const uint64_t *sets, uint64_t number) {
  terminal_set<W> s;
  for (int w = 0; w < W; w++) s.word[w] = sets[number * W + w];
  return s;
}
template <int W>
inline terminal_set<W> united(terminal_set<W> a, terminal_set<W> b) {
  for (int w = 0; w < W; w++) a.word[w] |= b.word[w];
  return a;
}
template <int W>
inline bool has(const terminal_set<W> &s, uint32_t terminal) {
  return s.word[terminal / 64] >> terminal % 64 & 1;
}
template <int W>
inline bool disjoint(const terminal_set<W> &a, const terminal_set<W> &b) {
  for (int w = 0; w < W; w++)
    if (a.word[w] & b.word[w]) return false;
  return true;
}
template <int W>
inline bool within(const terminal_set<W> &a, const terminal_set<W> &b) {
  for (int w = 0; w < W; w++)
    if (a.word[w] & ~b.word[w]) return false;
  return true;
}
// Returns -1, 0 or 1. Sets are sorted by their last word first.
template <int W>
inline int compared(const terminal_set<W> &a, const terminal_set<W> &b) {
  for (int w = W - 1; w >= 0; w--)
    if (a.word[w] != b.word[w]) return a.word[w] < b.word[w] ? -1 : 1;
  return 0;
}
template <int W>
inline uint32_t size_of(const terminal_set<W> &s) {
  uint32_t size = 0;
  for (int w = 0; w < W; w++) size += __builtin_popcountll(s.word[w]);
  return size;
}
// Returns a hash of 32 bits, by which sets are dealt to ranks and passes.
template <int W>
inline uint32_t hash_of(const terminal_set<W> &s) {
  uint64_t x = 0;
  for (int w = 0; w < W; w++) x = (x ^ s.word[w]) * 0x9E3779B97F4A7C15ull, x ^= x >> 29;
  return x >> 32;
}
// A family: the states (vertex, weight) of one set of terminals, by ascending vertex. Families are sorted by size and
// set: those of size s have numbers from layers[s] to layers[s + 1] - 1. `cells` has a bit for each of the 64 cells of
// the graph in which the family has a vertex.
struct families {
  const uint64_t *sets, *layers, *begin, *cells;
  const uint32_t *vertices;
  const uint64_t *weights;
};
// Returns a bit for each of up to 64 families from number `begin` on: whether it is a partner, that is, its set is
// disjoint from `set`, and it has a vertex in one of `cells`. Most families are no partners, so the loop has no
// branches: a compiler vectorises it.
template <int W>
inline uint64_t partners(const families &all, const terminal_set<W> &set, uint64_t cells, uint64_t begin,
                         uint64_t end) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < (end - begin < 64 ? end - begin : 64); i++) {
    uint64_t shared = 0;
    for (int w = 0; w < W; w++) shared |= all.sets[(begin + i) * W + w] & set.word[w];
    found |= (uint64_t)((shared == 0) & ((all.cells[begin + i] & cells) != 0)) << i;
  }
  return found;
}
// Calls `visit` with number and set of each such partner of family x among the families from `begin` to `end` - 1.
template <int W, class F>
inline void each_partner(const families &all, uint64_t x, uint64_t begin, uint64_t end, F visit) {
  const terminal_set<W> mine = set_at<W>(all.sets, x);
  for (; begin < end; begin += 64)
    for (uint64_t left = partners<W>(all, mine, all.cells[x], begin, end); left; left &= left - 1) {
      const uint64_t partner = begin + __builtin_ctzll(left);
      visit(partner, set_at<W>(all.sets, partner));
    }
}
// The weights of one family by vertex: the family is spread. All other vertices are `no_path`.
struct spread_family {
  vector<uint64_t> weight;
  explicit spread_family(uint32_t n) : weight(n, no_path) {}
  void spread(const families &all, uint64_t x) {
    for (uint64_t i = all.begin[x]; i < all.begin[x + 1]; i++) weight[all.vertices[i]] = all.weights[i];
  }
  // Makes the family's vertices `no_path` again.
  void take_away(const families &all, uint64_t x) {
    for (uint64_t i = all.begin[x]; i < all.begin[x + 1]; i++) weight[all.vertices[i]] = no_path;
  }
  // Whether this family and another one have a vertex where their weights add up to less than `limit`. Each weight alone
  // is below it.
  bool meets_below(const families &all, uint64_t y, uint64_t limit) const {
    for (uint64_t j = all.begin[y]; j < all.begin[y + 1]; j++)
      if (weight[all.vertices[j]] < limit - all.weights[j]) return true;
    return false;
  }
};
