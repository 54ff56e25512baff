// Tours that together have all nodes, joined to one: the smallest first, to any other by the 2-exchange that costs least.
#pragma once
#include <algorithm>

#include "host/ab_cycles.hpp"

template <class Costs>
class joining {
 public:
  int64_t change = 0;  // what was added to the length so far
  uint32_t parts = 0;  // the tours before they were joined

  joining(const cities &where, const near_lists &near, const Costs &costs, const uint32_t *order)
      : where_(where), near_(near), costs_(costs), link_(2 * (size_t)where.n) {
    link_up(where.n, order, link_);
  }
  void replace(uint64_t count, const uint64_t *removed, const uint64_t *added) {
    for (uint64_t i = 0; i < count; i++) {
      const uint32_t a = (uint32_t)(removed[i] >> 32), b = (uint32_t)removed[i];
      link_[slot(a, b)] = nobody, link_[slot(b, a)] = nobody, change -= costs_(a, b);
    }
    for (uint64_t i = 0; i < count; i++) {
      const uint32_t a = (uint32_t)(added[i] >> 32), b = (uint32_t)added[i];
      link_[slot(a, nobody)] = b, link_[slot(b, nobody)] = a, change += costs_(a, b);
    }
  }
  void join() {
    find_tours();
    vector<std::pair<uint32_t, uint32_t>> heap;  // sizes and tours, the smallest on top
    const auto larger = [](const auto &x, const auto &y) { return x > y; };
    for (uint32_t t = 0; t < parts; t++) heap.push_back({size_[t], t});
    std::make_heap(heap.begin(), heap.end(), larger);
    while (heap.size() > 1) {
      std::pop_heap(heap.begin(), heap.end(), larger);
      const uint32_t t = heap.back().second;
      if (heap.back().first == size_[t] && top_[t] == t) {
        const uint32_t other = join_tour(t);
        top_[t] = other, size_[other] += size_[t];
        heap.back() = {size_[other], other};
        std::push_heap(heap.begin(), heap.end(), larger);
      } else {
        heap.pop_back();
      }
    }
  }
  void write(uint32_t *order) const {
    const uint32_t first = order[0];
    for (uint32_t i = 0, c = first, before = link_[2 * (size_t)first]; i < where_.n; i++) {
      order[i] = c;
      const uint32_t next = link_[2 * (size_t)c + (link_[2 * (size_t)c] == before)];
      before = c, c = next;
    }
  }

 private:
  static constexpr uint32_t nobody = ~0u, farthest = 1024;
  struct exchange {  // removes c d and w z, adds c w and d z
    int64_t gain;
    uint32_t c, d, w, z;
  };
  const cities &where_;
  const near_lists &near_;
  const Costs costs_;
  links link_;
  vector<uint32_t> tour_, top_, size_, first_,
      own_;  // top_: the tour that a tour belongs to by now; own_: the nodes of one

  size_t slot(uint32_t c, uint32_t neighbour) const { return 2 * (size_t)c + (link_[2 * (size_t)c] != neighbour); }
  void find_tours() {
    tour_.assign(where_.n, nobody);
    for (uint32_t start = 0; start < where_.n; start++) {
      if (tour_[start] != nobody) continue;
      uint32_t size = 0;
      each_node(start, [&](uint32_t c) { tour_[c] = parts, size++; });
      top_.push_back(parts++), size_.push_back(size), first_.push_back(start);
    }
  }
  template <class Use>
  void each_node(uint32_t start, const Use &use) const {
    uint32_t c = start, before = link_[2 * (size_t)start];
    do {
      use(c);
      const uint32_t next = link_[2 * (size_t)c + (link_[2 * (size_t)c] == before)];
      before = c, c = next;
    } while (c != start);
  }
  uint32_t tour_of(uint32_t c) {
    uint32_t t = tour_[c];
    while (top_[t] != t) t = top_[t];
    return tour_[c] = t;
  }
  // Tries all 2-exchanges that add the edge c w.
  void try_edge(uint32_t c, uint32_t w, int32_t cost, bool allowed_only, exchange &best) const {
    for (uint32_t x = 0; x < 2; x++)
      for (uint32_t y = 0; y < 2; y++) {
        const uint32_t d = link_[2 * (size_t)c + x], z = link_[2 * (size_t)w + y];
        const int32_t closing = costs_(d, z);
        if (is_fixed(where_, c, d) || is_fixed(where_, w, z) ||
            (allowed_only && (cost == forbidden || closing == forbidden)))
          continue;
        const int64_t gain = (int64_t)costs_(c, d) + costs_(w, z) - cost - closing;
        if (gain > best.gain) best = {gain, c, d, w, z};
      }
  }
  // Joins a tour to another one, whose number is returned.
  uint32_t join_tour(uint32_t t) {
    exchange best{INT64_MIN, 0, 0, 0, 0};
    own_.clear(), each_node(first_[t], [&](uint32_t c) { own_.push_back(c); });
    for (const uint32_t c : own_) tour_[c] = t;
    for (const uint32_t c : own_)
      for (uint32_t q = 0; q < near_.width; q++) {
        const size_t at = (size_t)c * near_.width + q;
        if (tour_of(near_.near[at]) != t) try_edge(c, near_.near[at], near_.cost[at], true, best);
      }
    // Lists may stay inside. What is near by number is near in space.
    for (uint32_t i = 0; i < own_.size() && best.gain == INT64_MIN; i++)
      for (int64_t step : {1, -1})
        for (int64_t far = 1, w = own_[i] + step; far < farthest && w >= 0 && w < where_.n; far++, w += step)
          if (tour_of((uint32_t)w) != t) try_edge(own_[i], (uint32_t)w, costs_(own_[i], (uint32_t)w), true, best);
    for (bool allowed_only : {true, false})
      for (uint32_t i = 0; i < own_.size() && best.gain == INT64_MIN; i++)
        for (uint32_t w = 0; w < where_.n; w++)
          if (tour_of(w) != t) try_edge(own_[i], w, costs_(own_[i], w), allowed_only, best);
    const auto [gain, c, d, w, z] = best;
    link_[slot(c, d)] = w, link_[slot(w, z)] = c, link_[slot(d, c)] = z, link_[slot(z, w)] = d;
    change -= gain;
    return tour_of(w);
  }
};
