// The assignment problem of a matrix: which arc leaves each city, where each city is left once and entered once. Its
// dual values bound tours from below, and tours are made of its solutions.
//
// Shortest augmenting paths (R. Jonker, A. Volgenant, Computing 38, 1987): first each column takes its cheapest row, if
// that is free; then each row that is left looks for a path to a free column, along which all change places. The dual
// values stay such that no arc has a reduced cost, cost - row - column, below 0. Ties go to the smallest number. A path
// takes n^2 steps at most, so that all take n^3.
//
// A solution consists of cycles. A tour is made of them by patching (R. M. Karp, SIAM Journal on Computing 8, 1979):
// the cheapest exchange of two arcs joins the smallest cycle to another one, until there is one cycle. To get tours
// that differ, some arcs of the solution are barred, at random, and the problem is solved again from where it was.
#include <algorithm>

#include "host/function.hpp"
#include "host/random.hpp"
#include "host/share.hpp"
#include "tours/costs.cuh"

class assignment {
 public:
  assignment(uint32_t n, const int32_t *matrix)
      : n(n),
        matrix(matrix),
        u(n),
        v(n),
        row_of(n, free),
        column_of(n, free),
        barred(n, free),
        distance(n),
        before(n),
        done(n) {}

  void solve() {
    reduce_columns();
    complete();
  }
  // Solves the problem again without some arcs of a solution: each is barred with the probability 1 / `one_in`. All
  // dual values of the solution are 0.
  void solve_without(const uint32_t *solution, random_numbers &random, uint32_t one_in) {
    std::fill(u.begin(), u.end(), 0), std::fill(v.begin(), v.end(), 0);
    for (uint32_t i = 0; i < n; i++) {
      const bool is_barred = random.below(one_in) == 0;
      barred[i] = is_barred ? solution[i] : free;
      column_of[i] = is_barred ? free : solution[i], row_of[solution[i]] = is_barred ? free : i;
    }
    complete();
  }
  const vector<int64_t> &rows() const { return u; }
  const vector<int64_t> &columns() const { return v; }
  const vector<uint32_t> &columns_of_rows() const { return column_of; }

 private:
  static constexpr uint32_t free = ~0u;
  static constexpr int64_t far = (int64_t)1 << 62;
  const uint32_t n;
  const int32_t *const matrix;
  vector<int64_t> u, v;
  vector<uint32_t> row_of, column_of;
  vector<uint32_t> barred;  // the column that a row may not take
  vector<int64_t> distance;
  vector<uint32_t> before;  // on the path to a column, the row before it
  vector<uint8_t> done;

  void complete() {
    for (uint32_t i = 0; i < n; i++)
      if (column_of[i] == free) augment(i);
  }

  int64_t cost(uint32_t i, uint32_t j) const { return matrix[(size_t)i * n + j]; }

  void reduce_columns() {
    vector<uint32_t> cheapest(n, free);
    std::fill(v.begin(), v.end(), far);
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t j = 0; j < n; j++)
        if (i != j && cost(i, j) < v[j]) v[j] = cost(i, j), cheapest[j] = i;
    std::fill(u.begin(), u.end(), 0);
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
        const int64_t there = i == j || j == barred[i] ? far : so_far + cost(i, j) - v[j];
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

// Cycles of cities that are joined to a tour.
class patching {
 public:
  patching(uint32_t n, const int32_t *matrix) : n(n), matrix(matrix), next(n), cycle_of(n) {}

  // Makes a tour of the cycles in which each city is followed by `following`. Returns its cities' successors.
  const vector<uint32_t> &joined(const vector<uint32_t> &following) {
    next = following;
    find_cycles();
    while (sizes.size() > 1) join(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
    return next;
  }

 private:
  const uint32_t n;
  const int32_t *const matrix;
  vector<uint32_t> next, cycle_of, sizes, members;

  int64_t cost(uint32_t i, uint32_t j) const { return matrix[(size_t)i * n + j]; }

  void find_cycles() {
    std::fill(cycle_of.begin(), cycle_of.end(), ~0u);
    sizes.clear();
    for (uint32_t first = 0; first < n; first++) {
      if (cycle_of[first] != ~0u) continue;
      sizes.push_back(0);
      const uint32_t cycle = (uint32_t)sizes.size() - 1;
      for (uint32_t i = first; cycle_of[i] == ~0u; i = next[i]) cycle_of[i] = cycle, sizes.back()++;
    }
  }
  // Joins a cycle to the one for which that is cheapest.
  void join(size_t cycle) {
    int64_t least = (int64_t)1 << 62;
    uint32_t one = 0, other = 0;
    members.clear();
    for (uint32_t i = 0; i < n; i++)
      if (cycle_of[i] == cycle) members.push_back(i);
    for (const uint32_t i : members)
      for (uint32_t j = 0; j < n; j++) {
        if (cycle_of[j] == cycle) continue;
        const int64_t change = cost(i, next[j]) + cost(j, next[i]) - cost(i, next[i]) - cost(j, next[j]);
        if (change < least) least = change, one = i, other = j;
      }
    std::swap(next[one], next[other]);
    const uint32_t into = cycle_of[other], last = (uint32_t)sizes.size() - 1;
    for (const uint32_t i : members) cycle_of[i] = into;
    sizes[into] += sizes[cycle], sizes[cycle] = sizes[last];
    for (uint32_t i = 0; i < n; i++)
      if (cycle_of[i] == last) cycle_of[i] = (uint32_t)cycle;
    sizes.pop_back();
  }
};

// Finds the column of each row, (n,), and the dual values of rows and columns, (n,) each. The diagonal counts as
// missing; n is at least 2.
FUNCTION assignment_solve(uint32_t n, const int32_t *matrix, uint32_t *solution, int64_t *rows, int64_t *columns) {
  assignment problem(n, matrix);
  problem.solve();
  std::copy(problem.columns_of_rows().begin(), problem.columns_of_rows().end(), solution);
  std::copy(problem.rows().begin(), problem.rows().end(), rows);
  std::copy(problem.columns().begin(), problem.columns().end(), columns);
}
EXPORT_FUNCTION(assignment_solve)

// Writes `count` tours of a paired instance of at least 5 cities, shape (count, n): the nodes in order. No cost is
// below 0, and the arcs of `solution`, (n / 2,), cost 0. Tour i follows from the instance and streams[i].
FUNCTION assignment_tours(cities where, const uint32_t *solution, uint32_t one_in, uint32_t count,
                          const uint64_t *streams, uint32_t threads, uint32_t *tours) {
  struct worker {
    assignment problem;
    patching cycles;
  };
  const uint32_t m = where.n / 2;
  share(
      count, threads, [&] { return worker{assignment(m, where.matrix), patching(m, where.matrix)}; },
      [&](worker &own, uint64_t i) {
        random_numbers random(streams[i]);
        own.problem.solve_without(solution, random, one_in);
        const vector<uint32_t> &next = own.cycles.joined(own.problem.columns_of_rows());
        uint32_t *tour = tours + i * where.n;
        for (uint32_t k = 0, city = 0; k < m; k++, city = next[city])
          tour[2 * k] = 2 * city, tour[2 * k + 1] = 2 * city + 1;
      });
}
EXPORT_FUNCTION(assignment_tours)
