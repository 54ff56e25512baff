// The assignment problem of a matrix, for its dual values: which arc enters each city, each city being left once.
//
// Shortest augmenting paths (R. Jonker, A. Volgenant, Computing 38, 1987): first each column takes its cheapest row, if
// that is free; then each row that is left looks for a path to a free column, along which all change places. The dual
// values stay such that no arc has a reduced cost, cost - row - column, below 0. Ties go to the smallest number. A path
// takes n^2 steps at most, so that all take n^3.
#include <algorithm>

#include "host/function.hpp"

class assignment {
 public:
  assignment(uint32_t n, const int32_t *matrix, int64_t *rows, int64_t *columns)
      : n(n),
        matrix(matrix),
        u(rows),
        v(columns),
        row_of(n, free),
        column_of(n, free),
        distance(n),
        before(n),
        done(n) {}

  void solve() {
    reduce_columns();
    for (uint32_t i = 0; i < n; i++)
      if (column_of[i] == free) augment(i);
  }

 private:
  static constexpr uint32_t free = ~0u;
  static constexpr int64_t far = (int64_t)1 << 62;
  const uint32_t n;
  const int32_t *const matrix;
  int64_t *const u, *const v;
  vector<uint32_t> row_of, column_of;
  vector<int64_t> distance;
  vector<uint32_t> before;  // on the path to a column, the row before it
  vector<uint8_t> done;

  int64_t cost(uint32_t i, uint32_t j) const { return matrix[(size_t)i * n + j]; }

  void reduce_columns() {
    vector<uint32_t> cheapest(n, free);
    std::fill(v, v + n, far);
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t j = 0; j < n; j++)
        if (i != j && cost(i, j) < v[j]) v[j] = cost(i, j), cheapest[j] = i;
    std::fill(u, u + n, 0);
    for (uint32_t j = 0; j < n; j++)
      if (column_of[cheapest[j]] == free) column_of[cheapest[j]] = j, row_of[j] = cheapest[j];
  }
  // Assigns the row, by Dijkstra's algorithm on reduced costs.
  void augment(uint32_t row) {
    std::fill(distance.begin(), distance.end(), far);
    std::fill(done.begin(), done.end(), 0);
    vector<uint32_t> reached;
    uint32_t i = row, last = free;
    int64_t low = 0;
    while (last == free) {
      const int64_t so_far = low - u[i];
      uint32_t next = free;
      low = far;
      for (uint32_t j = 0; j < n; j++) {
        if (done[j]) continue;
        const int64_t there = i == j ? far : so_far + cost(i, j) - v[j];
        if (there < distance[j]) distance[j] = there, before[j] = i;
        if (distance[j] < low) low = distance[j], next = j;
      }
      done[next] = 1;
      if (row_of[next] == free)
        last = next;
      else
        reached.push_back(next), i = row_of[next];
    }
    u[row] += low;
    for (const uint32_t j : reached) u[row_of[j]] += low - distance[j], v[j] -= low - distance[j];
    while (last != free) {
      const uint32_t from = before[last], given = column_of[from];
      row_of[last] = from, column_of[from] = last, last = from == row ? free : given;
    }
  }
};
// Finds dual values of rows and columns, (n,) each. The diagonal counts as missing; n is at least 2.
FUNCTION assignment_duals(uint32_t n, const int32_t *matrix, int64_t *rows, int64_t *columns) {
  assignment(n, matrix, rows, columns).solve();
}
EXPORT_FUNCTION(assignment_duals)
