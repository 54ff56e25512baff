// AB-cycles of two tours A and B: closed walks whose edges are by turns in A alone and in B alone. Together they have
// each edge in which the tours differ once, and where the tours agree no node is touched.
//
// A walk from a random node takes a random unused edge of A, then one of B, and so on. Where it meets itself so that a
// closed part alternates, the part is taken off it as a cycle.
#pragma once
#include "host/edge_assembly.hpp"

// The two neighbours of each node in a tour: (n, 2).
using links = vector<uint32_t>;
inline void link_up(uint32_t n, const uint32_t *order, links &of) {
  for (uint32_t i = 0, before = order[n - 1]; i < n; i++) {
    const uint32_t c = order[i];
    of[2 * (size_t)c] = before, of[2 * (size_t)c + 1] = order[i + 1 == n ? 0 : i + 1];
    before = c;
  }
}
inline bool joined(const links &of, uint32_t c, uint32_t d) {
  return of[2 * (size_t)c] == d || of[2 * (size_t)c + 1] == d;
}

class ab_cycles {
 public:
  // Cycle i has nodes[starts[i]] to nodes[starts[i + 1]]. The edge from its first node to its second is A's.
  vector<uint32_t> nodes, starts;

  explicit ab_cycles(uint32_t n) : n_(n) {
    for (int q = 0; q < 2; q++) left_[q].resize(2 * (size_t)n), degree_[q].resize(n), met_[q].assign(n, nowhere);
  }
  uint32_t count() const { return (uint32_t)starts.size() - 1; }
  uint32_t size(uint32_t cycle) const { return starts[cycle + 1] - starts[cycle]; }

  void find(const links &a, const links &b, random_numbers &random) {
    nodes.clear(), starts.assign(1, 0), open_.clear();
    for (uint32_t c = 0; c < n_; c++) {
      const size_t x = 2 * (size_t)c;
      const uint32_t a0 = a[x], a1 = a[x + 1], b0 = b[x], b1 = b[x + 1];
      if ((a0 == b0 && a1 == b1) || (a0 == b1 && a1 == b0)) continue;
      open_.push_back(c);
      uint8_t &in_a = degree_[0][c], &in_b = degree_[1][c];
      if (a0 != b0 && a0 != b1) left_[0][x + in_a++] = a0;
      if (a1 != b0 && a1 != b1) left_[0][x + in_a++] = a1;
      if (b0 != a0 && b0 != a1) left_[1][x + in_b++] = b0;
      if (b1 != a0 && b1 != a1) left_[1][x + in_b++] = b1;
    }
    for (size_t i = open_.size(); i > 1; i--) std::swap(open_[i - 1], open_[random.below((uint32_t)i)]);
    for (uint32_t start : open_)
      while (degree_[0][start]) walk_from(start, random);
  }

 private:
  static constexpr uint32_t nowhere = ~0u;
  uint32_t n_;
  vector<uint32_t> left_[2],
      met_[2];  // unused edges of A and B (n, 2); the place on the walk from where A's or B's edge leaves
  vector<uint8_t> degree_[2];
  vector<uint32_t> open_, walk_;

  void use(int q, uint32_t c, uint32_t d) {
    uint32_t *left = &left_[q][2 * (size_t)c];
    if (left[0] == d) left[0] = left[1];
    degree_[q][c]--;
  }
  // Walks until no edge of A is left at the start.
  void walk_from(uint32_t start, random_numbers &random) {
    walk_.assign(1, start), met_[0][start] = 0;
    for (;;) {
      const uint32_t last = (uint32_t)walk_.size() - 1, c = walk_[last];
      const int q = last & 1;
      if (!degree_[q][c]) break;  // only the start may have none left
      const uint32_t d = left_[q][2 * (size_t)c + (degree_[q][c] == 2 && random.bit())];
      use(q, c, d), use(q, d, c);
      const uint32_t before = met_[1 - q][d];
      if (before == nowhere) {
        met_[1 - q][d] = last + 1, walk_.push_back(d);
        continue;
      }
      const uint32_t size = last + 1 - before;
      for (uint32_t i = 0; i < size; i++) {
        if (i) met_[(before + i) & 1][walk_[before + i]] = nowhere;
        nodes.push_back(walk_[before + (i + (before & 1)) % size]);
      }
      starts.push_back((uint32_t)nodes.size()), walk_.resize(before + 1);
    }
    met_[0][start] = nowhere;
  }
};
