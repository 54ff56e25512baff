// Minimum 1-trees of few edges, and their ascent by steps at all scales.
//
// A multiplier is added to the costs of all edges at a node. That changes all tours by the same amount, twice the sum
// of the multipliers, and so a lightest 1-tree less that amount is a lower bound of every tour (M. Held, R. Karp,
// Operations Research 18, 1970, page 1138). It grows if nodes of degree above 2 get higher multipliers, and leaves
// lower ones.
//
// Steps at all scales: rounds of Boruvka's algorithm, at multipliers 0, make a hierarchy of components. A component
// whose degrees exceed 2 for each node by 2 in all moves as a whole, by the length of the edge that joins it to others:
// so clusters that lie far apart move by what lies between them, which single nodes would need thousands of steps for.
// Larger excess degrees are cut to 2, else the largest components throw all others about. Steps are damped by the
// direction so far, and their length falls to a hundredth.
//
// All is in integers, and the length of steps in doubles by products and square roots alone, so that the bits are the
// same everywhere. Weights are cut to 30 bits and multipliers to 29: the ascent may lead anywhere, since its
// multipliers are judged by a tree over all edges (spanning_tree.hpp). Keys (weight, number of the edge) differ, so the
// tree is one.
//
// Memory: 28 bytes for each edge, and 8 for its first round; 80 for each node. A step reads all edges once and those
// between components in each of some 10 rounds: 110 ns for a node with 5 edges.
#pragma once
#include "host/spanning_tree.hpp"

constexpr int32_t heaviest_candidate = 1 << 30, largest_multiplier = (1 << 29) - 1;
constexpr uint32_t no_node = ~0u;

struct candidate {
  uint32_t u, v;  // u < v
  int32_t weight;  // without multipliers
};

// What is asked of a tour: a cycle, or a path, which is a cycle through one more city at no cost. First and last node
// of a path, no_node where any will do. Of a paired instance the first node is an entry, the last one an exit.
struct tour_ends {
  uint32_t open, first, last;
};

// The nodes where the cheapest path begins and ends, by multipliers alone.
template <class Multiplier>
tree_edge ends_of(const cities &where, const tour_ends &ask, const Multiplier *multiplier) {
  tree_edge found = {ask.first, ask.last};
  const bool paired = where.metric == of_pairs;
  const auto is_better = [&](uint32_t v, uint32_t than, uint32_t side) {
    return (!paired || (v & 1) == side) && (than == no_node || multiplier[v] < multiplier[than]);
  };
  for (uint32_t v = 0; ask.first == no_node && v < where.n; v++)
    if (v != ask.last && is_better(v, found.u, 0)) found.u = v;
  for (uint32_t v = 0; ask.last == no_node && v < where.n; v++)
    if (v != found.u && is_better(v, found.v, 1)) found.v = v;
  return found;
}

class sparse_one_tree {
 public:
  struct level {
    vector<uint32_t> above;  // of each component, that of the next level
    vector<int32_t> length;  // the lightest edge that leaves it
  };
  vector<candidate> edges;
  vector<int32_t> degree;
  uint32_t special = no_node;  // of a cycle: the leaf with the heaviest second edge

  sparse_one_tree(const cities &where, const tour_ends &ask) : degree(where.n), where(where), ask(ask) {}

  // Adds edges, all but those that there are. Returns how many came.
  size_t add(vector<candidate> more) {
    const size_t before = edges.size();
    if (before) {
      edges.reserve(before + more.size());  // else the vector would grow to twice its size
      edges.insert(edges.end(), more.begin(), more.end());
    } else {
      edges = std::move(more);
    }
    const auto ends = [](const candidate &e) { return (uint64_t)e.u << 32 | e.v; };
    std::sort(edges.begin(), edges.end(), [&](const candidate &a, const candidate &b) { return ends(a) < ends(b); });
    const auto same = [&](const candidate &a, const candidate &b) { return ends(a) == ends(b); };
    edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
    return edges.size() - before;
  }
  // Finds the minimum 1-tree. Returns its weight less twice the sum of the multipliers, or -heaviest without one.
  int64_t minimum(const int32_t *multiplier, vector<level> *levels = nullptr, vector<tree_edge> *tree = nullptr) {
    weight = 0;
    find_first(multiplier);
    while (components > 1)
      if (!join(levels, tree)) return -heaviest;
    int64_t sum = 0;
    for (uint32_t v = 0; v < where.n; v++) sum += multiplier[v];
    weight -= where.metric == of_pairs ? sum : 2 * sum;
    if (ask.open) {
      const tree_edge ends = ends_of(where, ask, multiplier);
      degree[ends.u]++, degree[ends.v]++;
      return weight + multiplier[ends.u] + multiplier[ends.v];
    }
    return close() ? weight : -heaviest;
  }
  // Frees what only `minimum` works with, which takes it again.
  void rest() { free_memory(key, tail, head, best, above, number, where.metric == of_pairs ? second : first); }
  // The weight of the lightest edge that may close the tree at a leaf.
  uint64_t closing(uint32_t leaf) const {
    const vector<uint64_t> &keys = where.metric == of_pairs ? first : second;
    return keys.empty() ? 0 : keys[leaf];
  }
  bool is_leaf(uint32_t v) const { return degree[v] == 1 && (where.metric != of_pairs || v & 1); }

 private:
  const cities where;
  const tour_ends ask;
  int64_t weight = 0;
  uint32_t components = 0;
  size_t left = 0;
  vector<uint64_t> first, second;  // of each node, the keys of its lightest edges
  vector<uint64_t> best, key;  // of each component; of each edge that is left
  vector<uint32_t> tail, head;  // its components
  vector<uint32_t> above, number;

  static constexpr int64_t shift = (int64_t)1 << 31;
  static int64_t weight_of(uint64_t key) { return (int64_t)(key >> 32) - shift; }

  void take(uint64_t key, vector<tree_edge> *tree) {
    const candidate &e = edges[(uint32_t)key];
    degree[e.u]++, degree[e.v]++, weight += weight_of(key);
    if (tree) tree->push_back({e.u, e.v});
  }
  static void note(uint64_t &first, uint64_t &second, uint64_t key) {
    second = std::min(second, std::max(first, key));
    first = std::min(first, key);
  }
  void find_first(const int32_t *multiplier) {
    const uint32_t n = where.n;
    const bool paired = where.metric == of_pairs;
    left = edges.size();
    if (key.size() < left) {
      free_memory(key, tail, head);
      key.resize(left), tail.resize(left), head.resize(left);
    }
    for (vector<uint64_t> *keys : {&first, &second}) keys->assign(n, no_key);
    above.resize(n), number.resize(n);
    degree.assign(n, paired);
    for (size_t e = 0; e < left; e++) {
      const candidate one = edges[e];
      const int64_t weighs = (int64_t)one.weight + multiplier[one.u] + multiplier[one.v];
      key[e] = (uint64_t)(weighs + shift) << 32 | e, tail[e] = one.u, head[e] = one.v;
      note(first[one.u], second[one.u], key[e]), note(first[one.v], second[one.v], key[e]);
    }
    best = first, components = n;
  }
  // Joins each component by its lightest edge; first of all, in a paired instance, entries and exits. Returns false if
  // there is no such edge.
  bool join(vector<level> *levels, vector<tree_edge> *tree) {
    const bool pairs = where.metric == of_pairs && components == where.n;
    std::iota(above.begin(), above.begin() + components, 0u);
    for (uint32_t c = 0; pairs && c < components; c++) above[c] = c & ~1u;
    for (size_t e = 0; !pairs && e < left; e++) {  // an edge that is best at both ends joins only once
      const uint32_t u = tail[e], v = head[e];
      if (best[u] == key[e])
        above[u] = v;
      else if (best[v] == key[e])
        above[v] = u;
      else
        continue;
      take(key[e], tree);
    }
    uint32_t next = 0;
    for (uint32_t c = 0; c < components; c++)
      if (above[c] == c) number[c] = next++;
    if (next == components) return false;
    for (uint32_t c = 0; c < components; c++) {
      uint32_t root = c;
      while (above[root] != root) above[root] = above[above[root]], root = above[root];
      above[c] = root;
    }
    if (levels && !pairs) {
      levels->push_back({vector<uint32_t>(components), vector<int32_t>(components)});
      for (uint32_t c = 0; c < components; c++) {
        levels->back().above[c] = number[above[c]];
        levels->back().length[c] =
            (int32_t)std::max<int64_t>(0, std::min<int64_t>(weight_of(best[c]), heaviest_candidate));
      }
    }
    drop_inner(next);
    return true;
  }
  // Keeps the edges between components, of which there are `next` now.
  void drop_inner(uint32_t next) {
    size_t kept = 0;
    std::fill(best.begin(), best.begin() + next, no_key);
    for (size_t e = 0; e < left; e++) {
      const uint32_t u = number[above[tail[e]]], v = number[above[head[e]]];
      if (u == v) continue;
      tail[kept] = u, head[kept] = v, key[kept] = key[e];
      best[u] = std::min(best[u], key[e]), best[v] = std::min(best[v], key[e]);
      kept++;
    }
    left = kept, components = next;
  }
  bool close() {
    special = no_node;
    for (uint32_t v = 0; v < where.n; v++)
      if (is_leaf(v) && closing(v) != no_key && (special == no_node || closing(v) > closing(special))) special = v;
    if (special == no_node) return false;
    take(closing(special), nullptr);
    return true;
  }
};

// Returns `most`, halved `halvings` * part / whole times.
inline double halved(double most, double halvings, uint32_t part, uint32_t whole) {
  double left = halvings * part / whole, root = 0.5;
  for (; left >= 1.0; left -= 1.0) most *= 0.5;
  for (int bit = 0; bit < 24; bit++) {
    root = sqrt(root), left *= 2.0;
    if (left >= 1.0) most *= root, left -= 1.0;
  }
  return most;
}

// The components of a graph, from single nodes to large ones, and how far each moves.
//
// Of a paired instance a component has cities, and its entries and its exits move each for itself: entries by the
// cheapest arc that enters it, exits by the cheapest that leaves it. So of two groups of cities between which only one
// way is cheap, the other way is found, too.
class hierarchy {
 public:
  struct level {
    vector<uint32_t> above;  // of each component, that of the next level
    vector<int64_t> length;  // of each side of each component
    vector<int64_t> move;
  };
  vector<level> levels;
  vector<tree_edge> arcs;  // of a paired instance: the cheapest into and out of components
  const uint32_t sides;

  // `both_ways`: of a paired instance, whether components are those between which both ways are cheap, or those of the
  // graph. Of more than `most_measured` nodes they are those of the graph.
  //
  // Equally long edges would be taken in the order of their numbers, and make long chains one component at once. So
  // each node has some noise.
  hierarchy(const cities &where, sparse_one_tree &graph, int64_t scale, bool both_ways)
      : sides(where.metric == of_pairs ? 2 : 1), where(where), scale(scale) {
    const bool is_small = where.n <= most_measured;
    vector<int32_t> noise(where.n);
    const int64_t mean = std::max<int64_t>(0, graph.minimum(noise.data()) / where.n);
    for (uint32_t v = 0; v < where.n; v++) noise[v] = (int32_t)((v * 2654435761u >> 8) % (uint64_t)(1 + mean / 32));
    vector<sparse_one_tree::level> found;
    graph.minimum(noise.data(), &found);
    for (sparse_one_tree::level &one : found) {
      levels.push_back({std::move(one.above), vector<int64_t>(sides * one.length.size()), {}});
      level &made = levels.back();
      for (size_t c = 0; c < made.length.size(); c++) made.length[c] = one.length[c / sides];
      made.move.resize(made.length.size());
    }
    if (both_ways && is_small) join_cities();
    if (sides == 2 && is_small) measure_arcs();
    for (level &one : levels)
      for (int64_t &length : one.length) length = std::max(length, mean / 100);
  }
  size_t above(size_t l, size_t c) const { return levels[l].above[c / sides] * sides + c % sides; }

 private:
  static constexpr uint32_t most_measured = 10000;
  const cities where;
  const int64_t scale;

  // Makes the components of a paired instance from its matrix. Cities belong together if both ways between them are
  // cheap.
  void join_cities() {
    const uint32_t m = where.n / 2;
    vector<uint32_t> of(m);  // the component of each city
    std::iota(of.begin(), of.end(), 0u);
    levels.clear();
    for (uint32_t count = m, next = 0; count > 1; count = next, next = 0) {
      level made = {vector<uint32_t>(count), vector<int64_t>(2 * count), vector<int64_t>(2 * count)};
      vector<uint64_t> nearest(count, no_key);
      vector<uint32_t> other(count), number(count);
      for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < m; j++) {
          if (of[i] == of[j]) continue;
          const int32_t apart = std::max(where.matrix[(size_t)i * m + j], where.matrix[(size_t)j * m + i]);
          const uint64_t key = key_of(apart, std::min(i, j) * 2654435761u ^ std::max(i, j) * 2246822519u);
          if (key < nearest[of[i]]) nearest[of[i]] = key, other[of[i]] = of[j];
        }
      union_find sets(count);
      for (uint32_t a = 0; a < count; a++) sets.join(a, other[a]);
      for (uint32_t a = 0; a < count; a++)
        if (sets.find(a) == a) number[a] = next++;
      for (uint32_t a = 0; a < count; a++) made.above[a] = number[sets.find(a)];
      for (uint32_t &one : of) one = made.above[one];
      levels.push_back(std::move(made));
    }
  }
  // Sets the lengths to the costs of the cheapest arcs into and out of each component, and notes the arcs.
  void measure_arcs() {
    const uint32_t m = where.n / 2;
    vector<uint32_t> of(m);
    std::iota(of.begin(), of.end(), 0u);
    for (level &one : levels) {
      std::fill(one.length.begin(), one.length.end(), forbidden);
      vector<tree_edge> cheapest(one.length.size());
      const auto note = [&](size_t side, int32_t cost, uint32_t i, uint32_t j) {
        if (cost < one.length[side]) one.length[side] = cost, cheapest[side] = {2 * i + 1, 2 * j};
      };
      for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < m; j++) {
          if (of[i] == of[j]) continue;
          const int32_t cost = where.matrix[(size_t)i * m + j];
          note(2 * of[i] + 1, cost, i, j), note(2 * of[j], cost, i, j);
        }
      for (uint32_t &component : of) component = one.above[component];
      for (int64_t &length : one.length) length = std::min<int64_t>(scale * length, heaviest_candidate);
      arcs.insert(arcs.end(), cheapest.begin(), cheapest.end());
    }
  }
};

class ascent {
 public:
  hierarchy parts;

  ascent(const cities &where, sparse_one_tree &graph, int64_t scale, bool both_ways)
      : parts(where, graph, scale, both_ways), n(where.n), graph(graph), direction(n) {}

  // Raises the bound in so many steps, whose lengths fall from `longest` by so many halvings. Returns the greatest one,
  // and leaves its multipliers.
  int64_t climb(vector<int32_t> &multiplier, uint32_t steps, double longest, double halvings) {
    vector<int32_t> at(multiplier);
    int64_t top = -heaviest;
    for (uint32_t k = 0; k <= steps; k++) {
      const int64_t bound = graph.minimum(at.data());
      if (bound > top) top = bound, multiplier = at;
      if (bound == -heaviest || is_tour()) break;
      turn(k == 0);
      move(at, (int64_t)(halved(longest, halvings, k, steps) * (1 << 24) / of_nodes));
    }
    return top;
  }

 private:
  // A component moves by 3/5 of what a single node does.
  static constexpr int64_t of_nodes = 5, of_components = 3, most_of_nodes = 64, most_of_components = 2;
  const uint32_t n;
  sparse_one_tree &graph;
  vector<int64_t> direction;

  bool is_tour() const {
    return std::all_of(graph.degree.begin(), graph.degree.end(), [](int32_t d) { return d == 2; });
  }
  // Turns the direction towards the excess degree of each component.
  void turn(bool first) {
    if (parts.levels.empty()) return;
    for (uint32_t v = 0; v < n; v++) parts.levels[0].move[v] = graph.degree[v] - 2;
    for (size_t l = 0; l + 1 < parts.levels.size(); l++) {
      const vector<int64_t> &here = parts.levels[l].move;
      vector<int64_t> &above = parts.levels[l + 1].move;
      std::fill(above.begin(), above.end(), 0);
      for (size_t c = 0; c < here.size(); c++) above[parts.above(l, c)] += here[c];
    }
    for (size_t l = parts.levels.size(); l--;) {
      const int64_t share = l ? of_components : of_nodes, most = l ? most_of_components : most_of_nodes;
      const bool highest = l + 1 == parts.levels.size();
      hierarchy::level &here = parts.levels[l];
      for (size_t c = 0; c < here.move.size(); c++) {
        const int64_t ends = std::max(-most, std::min(most, here.move[c]));
        here.move[c] = share * ends * here.length[c] + (highest ? 0 : parts.levels[l + 1].move[parts.above(l, c)]);
      }
    }
    const vector<int64_t> &moves = parts.levels[0].move;
    for (uint32_t v = 0; v < n; v++) direction[v] = first ? moves[v] : (179 * direction[v] + 77 * moves[v]) >> 8;
  }
  // Moves by so many 2^-24 of the direction. The mean is taken off, since it changes no bound and would grow.
  void move(vector<int32_t> &at, int64_t length) {
    int64_t sum = 0;
    for (uint32_t v = 0; v < n; v++) {
      const int64_t moved = at[v] + ((length * direction[v] + (1 << 23)) >> 24);
      at[v] = (int32_t)std::min<int64_t>(largest_multiplier, std::max<int64_t>(-largest_multiplier, moved));
      sum += at[v];
    }
    const int64_t mean = sum / (int64_t)n;
    for (int32_t &one : at)
      one = (int32_t)std::min<int64_t>(largest_multiplier, std::max<int64_t>(-largest_multiplier, one - mean));
  }
};
