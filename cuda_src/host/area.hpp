// An area of a large instance as an instance of its own. Its first tour is the large one's inside the area.
//
// A node belongs to it if an edge of the tour that is not fixed joins it to another node of the area. The path outside,
// from where the tour leaves the area to where it comes back, is a fixed edge. So are the fixed edges inside. So every
// tour of the area's nodes that keeps the fixed edges is a tour of the large instance, as long as the outside stays.
#pragma once
#include <algorithm>

#include "host/edge_assembly.hpp"

constexpr uint32_t no_area = ~0u;

class area {
 public:
  cities where;  // numbered from 0
  near_lists
      near;  // those of the large instance that lead to nodes of the area; the node itself, forbidden, for the others
  vector<uint32_t> tour;  // in the area's numbers
  vector<uint32_t> node;  // the large instance's number of each

  area() = default;
  area(const area &) = delete;
  area &operator=(const area &) = delete;

  // area_of (n,): the number of each node's area; place (n,): its place in the tour.
  void cut_out(const cities &whole, const uint32_t *order, const uint32_t *place, const uint32_t *area_of,
               uint32_t number, const uint32_t *members, uint32_t count) {
    const auto joined_inside = [&](uint32_t i, uint32_t j) {  // by an edge that may be removed
      const uint32_t c = order[i], d = order[j];
      return area_of[c] == number && area_of[d] == number && !is_fixed(whole, c, d);
    };
    const auto after = [&](uint32_t i) { return i + 1 == whole.n ? 0 : i + 1; };
    vector<uint32_t> places;
    for (uint32_t q = 0; q < count; q++) {
      const uint32_t i = place[members[q]];
      if (joined_inside(i, after(i)) || joined_inside(i ? i - 1 : whole.n - 1, i)) places.push_back(i);
    }
    std::sort(places.begin(), places.end());
    const uint32_t n = (uint32_t)places.size();
    node.resize(n), tour.resize(n), fixed_.assign(n, not_fixed), has_free_.resize(n);
    for (uint32_t q = 0; q < n; q++) {
      const uint32_t i = places[q], j = places[q + 1 == n ? 0 : q + 1];
      has_free_[q] = after(i) == j && joined_inside(i, j);
    }
    number_nodes(whole.metric == of_pairs, order, places);
    for (uint32_t q = 0; q < n; q++)
      if (!has_free_[q]) {
        const uint32_t c = tour[q], d = tour[q + 1 == n ? 0 : q + 1];
        fixed_[c] = d, fixed_[d] = c;
      }
    where = {n, whole.metric, nullptr, nullptr, fixed_.data()};
    copy_costs(whole);
  }
  // local (n,): the number in the area of each node of it, or no_area; only those of nodes of this area are read.
  void cut_out_lists(const near_lists &whole, const uint32_t *area_of, uint32_t number, const uint32_t *local) {
    const uint32_t width = whole.width;
    near_.resize((size_t)where.n * width), cost_.resize((size_t)where.n * width);
    for (uint32_t c = 0; c < where.n; c++) {
      const size_t to = (size_t)c * width, from = (size_t)node[c] * width;
      uint32_t kept = 0;
      for (uint32_t q = 0; q < width; q++) {
        const uint32_t other = whole.near[from + q];
        if (area_of[other] != number) continue;
        const uint32_t d = local[other];
        if (d != no_area && d != c && fixed_[c] != d)
          near_[to + kept] = d, cost_[to + kept] = whole.cost[from + q], kept++;
      }
      for (; kept < width; kept++) near_[to + kept] = c, cost_[to + kept] = forbidden;
    }
    near = {width, near_.data(), cost_.data()};
  }

 private:
  vector<uint32_t> fixed_, near_;
  vector<uint8_t> has_free_;  // whether the tour's edge from each place may be removed
  vector<int32_t> cost_, matrix_;
  vector<double> points_;

  // Numbers the nodes as they stand in the tour; in a paired instance the two ends of each fixed edge are a pair, which
  // is an entry and an exit (of two cities, if the edge is a path outside).
  void number_nodes(bool in_pairs, const uint32_t *order, const vector<uint32_t> &places) {
    const uint32_t n = (uint32_t)places.size();
    for (uint32_t q = 0; q < n; q++) {
      const uint32_t shifted =
          q + (in_pairs && has_free_[0]);  // then pairs are the places 2 i and 2 i + 1, but for the shift
      const uint32_t i = in_pairs ? (shifted % n / 2 * 2) | (order[places[q]] & 1) : q;
      tour[q] = i, node[i] = order[places[q]];
    }
  }
  void copy_costs(const cities &whole) {
    const size_t n = where.n;
    if (whole.metric == of_matrix) {
      matrix_.resize(n * n), where.matrix = matrix_.data();
      const matrix_costs cost(whole);
      for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) matrix_[a * n + b] = cost(node[a], node[b]);
    } else if (whole.metric == of_pairs) {
      const size_t pairs = n / 2;
      matrix_.resize(pairs * pairs), where.matrix = matrix_.data();
      const paired_costs cost(whole);
      for (size_t a = 0; a < pairs; a++)
        for (size_t b = 0; b < pairs; b++) matrix_[a * pairs + b] = a == b ? 0 : cost(node[2 * a + 1], node[2 * b]);
    } else {
      const size_t axes = any_costs::dimensions(whole.metric);
      points_.resize(n * axes), where.points = points_.data();
      for (size_t c = 0; c < n; c++)
        for (size_t x = 0; x < axes; x++) points_[c * axes + x] = whole.points[node[c] * axes + x];
    }
  }
};
