// First tours, from which local search goes on: quick Boruvka (D. Applegate, W. Cook, A. Rohe, INFORMS Journal on
// Computing 15, 2003) with the nodes in a random order. Fixed edges are in every tour.
//
// A tour grows as a set of paths. Twice, each node in a random order takes the first edge of its list that closes no
// cycle and whose other node is an end of a path. Of many nodes the order is random within runs of `shuffled_together`.
// What is left are some n / 10 paths. These are joined by the greedy rule: always the two free ends of different paths
// with the cheapest edge. Each end knows the cheapest edge that it had when it was last looked at, and a heap has these
// edges. If the other end of the heap's cheapest edge is not free any more, the end looks again: in a k-d tree of the
// free ends, or through all of them if there are no coordinates.
//
// Only ends of paths ever matter, so a path is known by its two ends: `other_end` of each end is the other one.
#pragma once
#include <algorithm>

#include "host/kd_tree.hpp"

constexpr uint32_t no_node = ~0u;
constexpr uint32_t shuffled_together = 1u << 16;  // nodes: more would not stay in a core's cache

class first_tour {
 public:
  first_tour(const cities &where, const near_lists &near)
      : where(where), near(near), beside(2 * (size_t)where.n), other_end(where.n), places(where.n) {}

  // Writes the tour that follows from these random numbers.
  template <class Random>
  void construct(Random &random, uint32_t *order) {
    std::fill(beside.begin(), beside.end(), no_node);
    for (uint32_t node = 0; node < where.n; node++) other_end[node] = node, order[node] = node;
    paths = where.n;
    for (uint32_t node = 0; node < where.n && where.fixed; node++)
      if (where.fixed[node] != not_fixed && where.fixed[node] > node) join(node, where.fixed[node]);
    for (uint32_t begin = 0; begin < where.n; begin += shuffled_together)
      for (uint32_t i = std::min(where.n - begin, shuffled_together); i > 1; i--)
        std::swap(order[begin + i - 1], order[begin + random.below(i)]);
    for (int twice = 0; twice < 2; twice++)
      for (uint32_t i = 0; i < where.n; i++) take_nearest(order[i]);
    if (paths > 1) join_ends();
    close(order);
  }

 private:
  const cities &where;
  const near_lists &near;
  vector<uint32_t> beside;  // the two neighbours of each node so far, or no_node
  vector<uint32_t> other_end, places;
  uint32_t paths = 0;

  bool is_free(uint32_t node) const { return beside[2 * (size_t)node + 1] == no_node; }
  bool may_join(uint32_t one, uint32_t other) const {
    return one != other && is_free(other) && other_end[one] != other &&
           (where.metric != of_pairs || ((one ^ other) & 1));
  }
  void join(uint32_t one, uint32_t other) {
    const uint32_t first = other_end[one], last = other_end[other];
    other_end[first] = last, other_end[last] = first, paths--;
    add_neighbour(one, other), add_neighbour(other, one);
  }
  void add_neighbour(uint32_t node, uint32_t other) {
    beside[2 * (size_t)node + (beside[2 * (size_t)node] != no_node)] = other;
  }
  void take_nearest(uint32_t node) {
    if (!is_free(node)) return;
    const uint32_t *list = near.near + (size_t)node * near.width;
    for (uint32_t k = 0; k < near.width; k++)
      if (may_join(node, list[k])) return join(node, list[k]);
  }

  // ---- the greedy rule ----

  struct offered {
    uint64_t key;  // cost and end
    uint32_t other;
    bool operator<(const offered &than) const { return key > than.key; }  // the heap's top is the cheapest
  };
  // Joins the paths to one. nearest(end) returns the key of the nearest end that it may be joined to; closed(end) is
  // called when an end is free no more.
  template <class Nearest, class Closed>
  void join_greedily(const vector<uint32_t> &ends, const Nearest &nearest, const Closed &closed) {
    vector<offered> heap;
    heap.reserve(ends.size());
    const auto offer = [&](uint32_t end) {
      const uint64_t found = nearest(end);
      if (found == no_key) return;
      heap.push_back({key_of((int32_t)(found >> 32), end), (uint32_t)found});
    };
    for (uint32_t end : ends) offer(end);
    std::make_heap(heap.begin(), heap.end());
    while (paths > 1) {
      std::pop_heap(heap.begin(), heap.end());
      const offered top = heap.back();
      const uint32_t end = (uint32_t)top.key;
      heap.pop_back();
      if (!is_free(end)) continue;
      if (may_join(end, top.other)) {
        join(end, top.other);
        for (uint32_t one : {end, top.other})
          if (!is_free(one)) closed(one);
        if (!is_free(end)) continue;
      }
      const size_t before = heap.size();
      offer(end);
      if (heap.size() > before) std::push_heap(heap.begin(), heap.end());
    }
  }
  vector<uint32_t> free_ends() const {
    vector<uint32_t> ends;
    for (uint32_t node = 0; node < where.n; node++)
      if (is_free(node)) ends.push_back(node);
    return ends;
  }
  void join_ends() {
    if (where.metric == of_matrix) return join_rows(matrix_costs(where));
    if (where.metric == of_pairs) return join_rows(paired_costs(where));
    with_points(where, [&](const auto &costs, const auto &bounds, auto axes) {
      const vector<uint32_t> ends = free_ends();
      const kd_tree<axes> tree(where.points, vector<uint32_t>(ends));
      vector<uint32_t> left(tree.boxes.size());  // free ends in each box
      for (uint32_t i = 0; i < tree.order.size(); i++) places[tree.order[i]] = i;
      for (size_t b = 0; b < left.size(); b++) left[b] = tree.boxes[b].end - tree.boxes[b].begin;
      join_greedily(
          ends,
          [&](uint32_t end) {
            return nearest_city(
                tree, costs, bounds, end, [&](uint32_t other) { return may_join(end, other); },
                [&](uint32_t b) { return left[b] > 0; });
          },
          [&](uint32_t end) {
            for (uint32_t b = 0;;) {
              left[b]--;
              if (tree.boxes[b].is_bucket()) break;
              const uint32_t second = tree.boxes[b].second;
              b = places[end] < tree.boxes[second].begin ? b + 1 : second;
            }
          });
    });
  }
  template <class Costs>
  void join_rows(const Costs &costs) {
    const vector<uint32_t> ends = free_ends();
    vector<uint32_t> left(ends);
    size_t free = left.size();
    join_greedily(
        ends,
        [&](uint32_t end) {
          uint64_t best = no_key;
          for (uint32_t other : left)
            if (may_join(end, other)) best = std::min(best, key_of(costs(end, other), other));
          return best;
        },
        [&](uint32_t) {
          if (2 * --free >= left.size()) return;
          left.erase(std::remove_if(left.begin(), left.end(), [&](uint32_t end) { return !is_free(end); }), left.end());
        });
  }
  // Writes the nodes of the one path that is left.
  void close(uint32_t *order) {
    uint32_t first = 0;
    while (!is_free(first)) first++;
    for (uint32_t i = 0, node = first, before = no_node; i < where.n; i++) {
      order[i] = node;
      const uint32_t *two = beside.data() + 2 * (size_t)node;
      const uint32_t next = two[two[0] == before];
      before = node, node = next;
    }
  }
};
