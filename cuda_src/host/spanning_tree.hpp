// Minimum spanning trees over all edges of an instance whose costs multipliers change: the edge between two nodes
// weighs scale * cost + multiplier of one + multiplier of the other.
//
// Between points: Boruvka's algorithm (each component takes its lightest edge, round by round) with searches in a k-d
// tree. In a round, each bucket of the tree looks for edges that are lighter than what its cities' components have so
// far, and leaves out boxes that cannot have one: by the least cost between two boxes and the least multiplier in a
// box, or because all of a box is in the same component. Edges that are known to be light (seeds) save most of the
// searches, and change nothing else but which of equally heavy edges is taken.
//
// In a matrix: Prim's algorithm, row by row. Of a paired instance a city is one vertex, since its fixed edge is in
// every tree; between two cities counts the lighter one of the two arcs.
//
// Weights are exact in 64 bits, so the least weight of a tree is the same number by either way. Equal weights can make
// no cycle: an edge whose ends are joined already is left out, which is one of a cycle of equal ones.
#pragma once
#include <memory>
#include <numeric>

#include "host/kd_tree.hpp"

constexpr int64_t heaviest = (int64_t)1 << 60;

struct multiplied {
  int64_t scale;
  const int64_t *of;  // multipliers of the nodes

  int64_t weight(int32_t cost, uint32_t u, uint32_t v) const { return scale * cost + of[u] + of[v]; }
};
struct tree_edge {
  uint32_t u, v;
};
struct spanning_tree {
  int64_t weight = 0;
  vector<tree_edge> edges;

  void add(uint32_t u, uint32_t v, int64_t weighs) { edges.push_back({u, v}), weight += weighs; }
};

// What finds trees of an instance.
struct tree_finder {
  virtual ~tree_finder() = default;
  virtual spanning_tree minimum(const multiplied &by, vector<tree_edge> seeds) = 0;
  virtual int32_t cost(uint32_t u, uint32_t v) const = 0;
  // Returns the lightest edge from u to another node than `but`, or {u, u} if there is none.
  virtual tree_edge lightest(const multiplied &by, uint32_t u, uint32_t but) const = 0;
};
template <class Costs>
tree_edge lightest_edge(const Costs &costs, const multiplied &by, uint32_t n, uint32_t step, uint32_t u, uint32_t but) {
  int64_t low = heaviest;
  tree_edge found = {u, u};
  for (uint32_t v = 0; v < n; v += step) {
    if (v == u || v == but) continue;
    const int64_t weight = by.weight(costs(u, v), u, v);
    if (weight < low) low = weight, found.v = v;
  }
  return found;
}

struct union_find {
  vector<uint32_t> above;

  explicit union_find(uint32_t n) : above(n) { std::iota(above.begin(), above.end(), 0u); }
  uint32_t find(uint32_t v) {
    while (above[v] != v) above[v] = above[above[v]], v = above[v];
    return v;
  }
  // Returns whether two different sets became one.
  bool join(uint32_t u, uint32_t v) {
    u = find(u), v = find(v);
    above[u] = v;
    return u != v;
  }
};

// ---- points ----

template <int D, class Costs, class Bounds>
class point_trees final : public tree_finder {
 public:
  // Finds trees of all cities but `but`; where.n: of all.
  point_trees(const cities &where, const Costs &costs, const Bounds &bounds, uint32_t but)
      : n(where.n),
        costs(costs),
        bounds(bounds),
        tree(where.points, all_but(where.n, but)),
        least(tree.boxes.size()),
        owner(tree.boxes.size()) {}

  int32_t cost(uint32_t u, uint32_t v) const override { return costs(u, v); }
  tree_edge lightest(const multiplied &by, uint32_t u, uint32_t but) const override {
    return lightest_edge(costs, by, n, 1, u, but);
  }
  spanning_tree minimum(const multiplied &by, vector<tree_edge> seeds) override {
    spanning_tree made;
    made.edges.reserve(n);
    component.resize(n), best.resize(n);
    note_least(by);
    union_find sets(n);
    while (made.edges.size() + 1 < tree.order.size()) {
      for (uint32_t v : tree.order) component[v] = sets.find(v), best[v] = {heaviest, 0, 0};
      take_seeds(by, seeds);
      note_owners();
      for (const box<D> &bucket : tree.boxes)
        if (bucket.is_bucket()) search_from(by, bucket);
      for (uint32_t c : tree.order)
        if (component[c] == c && sets.join(best[c].u, best[c].v)) made.add(best[c].u, best[c].v, best[c].weight);
    }
    free_memory(component, best);
    return made;
  }

 private:
  struct edge {
    int64_t weight;
    uint32_t u, v;
  };
  static constexpr uint32_t several = ~0u;
  const uint32_t n;
  const Costs costs;
  const Bounds bounds;
  const kd_tree<D> tree;
  vector<int64_t> least;  // of each box, the least multiplier
  vector<uint32_t> owner;  // of each box, the component of all of its cities, or `several`
  vector<uint32_t> component;
  vector<edge> best;  // of each component, the lightest edge so far
  vector<uint32_t> waiting;

  static vector<uint32_t> all_but(uint32_t n, uint32_t but) {
    vector<uint32_t> all(n);
    std::iota(all.begin(), all.end(), 0u);
    if (but < n) all.erase(all.begin() + but);
    return all;
  }
  void note_least(const multiplied &by) {
    for (size_t b = tree.boxes.size(); b--;) {
      const box<D> &one = tree.boxes[b];
      int64_t low = heaviest;
      if (!one.is_bucket())
        low = std::min(least[b + 1], least[one.second]);
      else
        for (uint32_t i = one.begin; i < one.end; i++) low = std::min(low, by.of[tree.order[i]]);
      least[b] = low;
    }
  }
  void note_owners() {
    for (size_t b = tree.boxes.size(); b--;) {
      const box<D> &one = tree.boxes[b];
      uint32_t all = one.is_bucket() ? component[tree.order[one.begin]] : owner[b + 1];
      if (!one.is_bucket() && owner[one.second] != all) all = several;
      if (one.is_bucket())
        for (uint32_t i = one.begin; i < one.end; i++)
          if (component[tree.order[i]] != all) all = several;
      owner[b] = all;
    }
  }
  void offer(uint32_t c, int64_t weight, uint32_t u, uint32_t v) {
    if (weight < best[c].weight) best[c] = {weight, u, v};
  }
  // Offers the seeds to the components of their ends, and drops those inside of one.
  void take_seeds(const multiplied &by, vector<tree_edge> &left) {
    size_t kept = 0;
    for (const tree_edge one : left) {
      const uint32_t a = component[one.u], b = component[one.v];
      if (a == b) continue;
      const int64_t weight = by.weight(costs(one.u, one.v), one.u, one.v);
      offer(a, weight, one.u, one.v), offer(b, weight, one.u, one.v);
      left[kept++] = one;
    }
    left.resize(kept);
  }
  // Returns the weight, less the multiplier in the bucket, at which no edge from the bucket matters.
  int64_t limit_of(const multiplied &by, const box<D> &bucket) const {
    int64_t limit = -heaviest;
    for (uint32_t i = bucket.begin; i < bucket.end; i++) {
      const uint32_t v = tree.order[i];
      limit = std::max(limit, best[component[v]].weight - by.of[v]);
    }
    return limit;
  }
  void search_from(const multiplied &by, const box<D> &bucket) {
    const uint32_t own = owner[&bucket - tree.boxes.data()];
    int64_t limit = limit_of(by, bucket);
    waiting.assign(1, 0);
    while (!waiting.empty()) {
      const uint32_t at = waiting.back();
      const box<D> &other = tree.boxes[at];
      waiting.pop_back();
      if (own != several && owner[at] == own) continue;
      if (by.scale * bounds(bucket, other) + least[at] >= limit) continue;
      if (!other.is_bucket()) {  // first the half on the side of the bucket
        const bool before = bucket.begin < tree.boxes[at + 1].end;
        waiting.push_back(before ? other.second : at + 1), waiting.push_back(before ? at + 1 : other.second);
        continue;
      }
      for (uint32_t i = bucket.begin; i < bucket.end; i++) search_from(by, tree.order[i], at);
      limit = limit_of(by, bucket);
    }
  }
  void search_from(const multiplied &by, uint32_t u, uint32_t at) {
    const uint32_t c = component[u];
    const box<D> &other = tree.boxes[at];
    if (by.scale * bounds(tree.point(u), other) + least[at] + by.of[u] >= best[c].weight) return;
    for (uint32_t i = other.begin; i < other.end; i++) {
      const uint32_t v = tree.order[i];
      if (component[v] != c) offer(c, by.weight(costs(u, v), u, v), u, v);
    }
  }
};

// ---- matrices ----

// Finds a minimum spanning tree of n vertices by Prim's algorithm, and calls add(u, v, weight) for each of its edges.
// weigh_row(u, weights) writes the weights of the edges from u to all vertices; what it writes at u does not matter.
template <class WeighRow, class Add>
void prim(uint32_t n, const WeighRow &weigh_row, const Add &add) {
  vector<int64_t> row(n), key(n, heaviest), closed(n);
  vector<uint32_t> from(n);
  for (uint32_t u = 0, k = 1; k < n; k++) {
    closed[u] = 2 * heaviest;
    weigh_row(u, row.data());
    int64_t low = 3 * heaviest;
    for (uint32_t v = 0; v < n; v++) {
      from[v] = row[v] < key[v] ? u : from[v];
      key[v] = std::min(key[v], row[v]);
      low = std::min(low, key[v] + closed[v]);
    }
    uint32_t next = 0;
    while (closed[next] || key[next] != low) next++;
    add(from[next], next, low);
    u = next;
  }
}
class matrix_trees final : public tree_finder {
 public:
  explicit matrix_trees(const cities &where) : where(where) {}

  int32_t cost(uint32_t u, uint32_t v) const override { return matrix_costs(where)(u, v); }
  tree_edge lightest(const multiplied &by, uint32_t u, uint32_t but) const override {
    return lightest_edge(matrix_costs(where), by, where.n, 1, u, but);
  }
  spanning_tree minimum(const multiplied &by, vector<tree_edge>) override {
    spanning_tree made;
    made.edges.reserve(where.n);
    const auto weigh = [&](uint32_t u, int64_t *to) {
      const int32_t *row = where.matrix + (size_t)u * where.n;
      const int64_t own = by.of[u], scale = by.scale, *other = by.of;
      for (uint32_t v = 0; v < where.n; v++) to[v] = scale * row[v] + own + other[v];
    };
    prim(where.n, weigh, [&](uint32_t u, uint32_t v, int64_t weight) { made.add(u, v, weight); });
    return made;
  }

 private:
  const cities where;
};
class paired_trees final : public tree_finder {
 public:
  explicit paired_trees(const cities &where) : where(where), n(where.n / 2) {}

  int32_t cost(uint32_t u, uint32_t v) const override { return paired_costs(where)(u, v); }
  // Of an exit.
  tree_edge lightest(const multiplied &by, uint32_t u, uint32_t but) const override {
    return lightest_edge(paired_costs(where), by, where.n, 2, u, but);
  }
  // The edges lead from exits to entries.
  spanning_tree minimum(const multiplied &by, vector<tree_edge>) override {
    spanning_tree made;
    made.edges.reserve(n);
    const auto arc = [&](uint32_t i, uint32_t j) {
      return by.weight(where.matrix[(size_t)i * n + j], 2 * i + 1, 2 * j);
    };
    const auto weigh = [&](uint32_t i, int64_t *to) {
      for (uint32_t j = 0; j < n; j++) to[j] = std::min(arc(i, j), arc(j, i));
    };
    prim(n, weigh, [&](uint32_t i, uint32_t j, int64_t weight) {
      const bool forth = arc(i, j) == weight;
      made.add(2 * (forth ? i : j) + 1, 2 * (forth ? j : i), weight);
    });
    return made;
  }

 private:
  const cities where;
  const uint32_t n;
};

// Returns a finder of trees of all nodes or, between points, of all nodes but one (where.n: none).
inline std::unique_ptr<tree_finder> finder_of(const cities &where, uint32_t but) {
  std::unique_ptr<tree_finder> made;
  if (where.metric == of_matrix)
    made.reset(new matrix_trees(where));
  else if (where.metric == of_pairs)
    made.reset(new paired_trees(where));
  else
    with_points(where, [&](const auto &costs, const auto &bounds, auto axes) {
      made.reset(new point_trees<axes, std::decay_t<decltype(costs)>, std::decay_t<decltype(bounds)>>(where, costs,
                                                                                                      bounds, but));
    });
  return made;
}
