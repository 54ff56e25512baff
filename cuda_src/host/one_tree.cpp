// Lower bounds of tours by 1-trees: multipliers, one for each node, for which a lightest 1-tree over all edges is
// heavy.
//
// The ascent runs on few edges, the nearest nodes of each and a minimum spanning tree (sparse_one_tree.hpp). What it
// proves there is no bound, since an edge may be missing. So then a tree over all edges is found (spanning_tree.hpp),
// its edges join the others, and the ascent goes on for a while from where it was (pricing), until no edge is missing
// or this was done some times. The best multipliers over all edges are the result. Whatever they are, they prove what
// the tree over all edges weighs: hpcsolve/problems/one_tree.py computes that again.
//
// one_tree_ascend: finds multipliers. one_tree_value: what multipliers prove.
//
// A 1-tree is a spanning tree with a second edge at one of its leaves, the special node: without that node a tour is a
// spanning tree, and two more edges join the node. A path has two ends in place of that.
#include "host/sparse_one_tree.hpp"

constexpr int64_t finest_scale = 128;
constexpr double longest_step = 0.2, halvings = 6.643856;  // to a hundredth
constexpr uint32_t pricing_rounds = 4;
constexpr double later_step = 0.008, later_halvings = 2.0;
constexpr uint32_t few_nodes = 2000, few_leaves = 8;  // above so many nodes only so many leaves are tried

// A 1-tree over all edges.
struct whole_one_tree {
  int64_t value = -heaviest;  // its weight less twice the sum of the multipliers (of a paired instance: once)
  uint32_t special = no_node;
  vector<tree_edge> edges;
};

class one_trees {
 public:
  one_trees(const cities &where, const tour_ends &ask, tree_finder &trees)
      : where(where), ask(ask), paired(where.metric == of_pairs), trees(trees) {}

  // Returns a minimum 1-tree. Its special node is the leaf that makes it heaviest. Of many nodes only those leaves are
  // tried whose closing edge in the graph is heaviest.
  whole_one_tree minimum(const multiplied &by, vector<tree_edge> seeds, const sparse_one_tree &graph) {
    spanning_tree tree = trees.minimum(by, std::move(seeds));
    whole_one_tree made;
    int64_t sum = 0;
    for (uint32_t v = 0; v < where.n; v++) sum += by.of[v];
    made.value = tree.weight - (paired ? sum : 2 * sum);
    if (ask.open) {
      const tree_edge ends = ends_of(where, ask, by.of);
      made.value += by.of[ends.u] + by.of[ends.v];
    } else {
      close(by, graph, tree, made);
    }
    made.edges.swap(tree.edges);
    return made;
  }

 private:
  const cities where;
  const tour_ends ask;
  const bool paired;
  tree_finder &trees;

  void close(const multiplied &by, const sparse_one_tree &graph, spanning_tree &tree, whole_one_tree &made) {
    vector<uint32_t> degree(where.n, paired), neighbour(where.n, no_node);
    for (const tree_edge e : tree.edges) degree[e.u]++, degree[e.v]++, neighbour[e.u] = e.v, neighbour[e.v] = e.u;
    vector<uint32_t> leaves;
    for (uint32_t v = paired; v < where.n; v += paired ? 2 : 1)
      if (degree[v] == 1) leaves.push_back(v);
    const size_t tried = where.n <= few_nodes ? leaves.size() : std::min<size_t>(few_leaves, leaves.size());
    std::partial_sort(leaves.begin(), leaves.begin() + tried, leaves.end(), [&](uint32_t a, uint32_t b) {
      const uint64_t of_a = graph.closing(a), of_b = graph.closing(b);
      return of_a != of_b ? of_a > of_b : a < b;
    });
    int64_t most = -heaviest;
    tree_edge last = {no_node, no_node};
    for (size_t i = 0; i < tried; i++) {
      const uint32_t leaf = leaves[i];
      const tree_edge found = trees.lightest(by, leaf, paired ? leaf - 1 : neighbour[leaf]);
      const int64_t weight = by.weight(trees.cost(found.u, found.v), found.u, found.v);
      if (found.v != leaf && weight > most) most = weight, last = found;
    }
    made.special = last.u, made.value += most;
    if (last.u != no_node) tree.edges.push_back(last);
  }
};

class bound_search {
 public:
  bound_search(const cities &where, const near_lists &near, const tour_ends &ask, tree_finder &finder)
      : where(where), near(near), finder(finder), trees(where, ask, finder), graph(where, ask) {}

  // Finds multipliers in so many steps, and their scale. Returns the 1-tree of the best ones.
  whole_one_tree run(uint32_t steps, bool both_ways, int64_t *multipliers, int64_t &scale_of) {
    const uint32_t n = where.n;
    whole_one_tree best = begin(multipliers);
    vector<int32_t> at(n);
    vector<int64_t> all(n);
    for (uint32_t v = 0; v < n; v++)
      at[v] = (int32_t)std::max<int64_t>(-largest_multiplier, std::min<int64_t>(multipliers[v], largest_multiplier));
    ascent up(where, graph, scale, both_ways);
    graph.add(listed(up.parts.arcs));
    for (uint32_t round = 0; round < pricing_rounds; round++) {
      if (round)
        up.climb(at, steps / 4, later_step, later_halvings);
      else
        up.climb(at, steps, longest_step, halvings);
      std::copy(at.begin(), at.end(), all.begin());
      vector<tree_edge> seeds;
      seeds.reserve(n);
      graph.minimum(at.data(), nullptr, &seeds);
      graph.rest();
      whole_one_tree found = trees.minimum({scale, all.data()}, std::move(seeds), graph);
      const bool was_complete = !graph.add(listed(found.edges));
      free_memory(found.edges);
      if (found.value > best.value) best = std::move(found), std::copy(all.begin(), all.end(), multipliers);
      if (was_complete) break;
    }
    scale_of = scale;
    return best;
  }

 private:
  const cities where;
  const near_lists near;
  tree_finder &finder;
  one_trees trees;
  sparse_one_tree graph;
  int64_t scale = finest_scale;

  // Lists the candidates, those of the lists and a minimum spanning tree, so that they are connected. Multiplies the
  // multipliers by the scale, and returns the 1-tree that they begin with.
  whole_one_tree begin(int64_t *multipliers) {
    whole_one_tree first = trees.minimum({1, multipliers}, {}, graph);
    size_t count = first.edges.size();
    for_listed([&](uint32_t, uint32_t) { count++; });
    first.edges.reserve(count);
    for_listed([&](uint32_t u, uint32_t v) { first.edges.push_back({u, v}); });
    int64_t most = 1;
    for (const tree_edge e : first.edges) most = std::max<int64_t>(most, finder.cost(e.u, e.v));
    for (uint32_t v = 0; v < where.n; v++) most = std::max(most, 4 * std::abs(multipliers[v]));
    while (scale > 1 && scale * most > heaviest_candidate) scale /= 2;
    for (uint32_t v = 0; v < where.n; v++) multipliers[v] *= scale;
    first.value *= scale;
    graph.add(listed(first.edges));
    free_memory(first.edges);
    return first;
  }
  // Calls use(u, v) for each edge of the lists, once.
  template <class Use>
  void for_listed(const Use &use) const {
    for (uint32_t u = 0; u < where.n; u++)
      for (uint32_t i = 0; i < near.width; i++) {
        const uint32_t v = near.near[(size_t)u * near.width + i];
        if (v != u && (u < v || !lists(v, u))) use(u, v);
      }
  }
  bool lists(uint32_t u, uint32_t v) const {
    const uint32_t *row = near.near + (size_t)u * near.width;
    return std::find(row, row + near.width, v) != row + near.width;
  }
  vector<candidate> listed(const vector<tree_edge> &some) const {
    vector<candidate> made;
    made.reserve(some.size());
    for (const tree_edge e : some) {
      const int64_t weight = scale * finder.cost(e.u, e.v);
      made.push_back({std::min(e.u, e.v), std::max(e.u, e.v), (int32_t)std::min<int64_t>(weight, heaviest_candidate)});
    }
    return made;
  }
};

// Finds multipliers, (n,), to be divided by a scale, in so many steps from those that are given, at scale 1.
// `both_ways`: as in `hierarchy`. `found`: the scale, the special node (-1 of a path), and the value: no tour costs
// less than value / scale.
FUNCTION one_tree_ascend(cities where, near_lists near, tour_ends ask, uint32_t steps, uint32_t both_ways,
                         int64_t *multipliers, result<int64_t> &found) {
  const std::unique_ptr<tree_finder> trees = finder_of(where, where.n);
  int64_t scale = 1;
  const whole_one_tree best = bound_search(where, near, ask, *trees).run(steps, both_ways, multipliers, scale);
  found.push_back(scale), found.push_back(best.special == no_node ? -1 : (int64_t)best.special);
  found.push_back(best.value);
}
EXPORT_FUNCTION(one_tree_ascend)
// Returns in `value` what multipliers prove of a tour between points, as above: a spanning tree without the special
// node and two edges at it, or that of a path.
FUNCTION one_tree_value(cities where, tour_ends ask, int64_t scale, const int64_t *multipliers, uint32_t special,
                        result<int64_t> &value) {
  const multiplied by = {scale, multipliers};
  const std::unique_ptr<tree_finder> trees = finder_of(where, ask.open ? where.n : special);
  int64_t found = trees->minimum(by, {}).weight;
  for (uint32_t v = 0; v < where.n; v++) found -= 2 * multipliers[v];
  if (ask.open) {
    const tree_edge ends = ends_of(where, ask, multipliers);
    found += multipliers[ends.u] + multipliers[ends.v];
  }
  for (uint32_t i = 0, but = special; !ask.open && i < 2; i++) {
    const tree_edge e = trees->lightest(by, special, but);
    found += by.weight(trees->cost(e.u, e.v), e.u, e.v), but = e.v;
  }
  value.push_back(found);
}
EXPORT_FUNCTION(one_tree_value)
