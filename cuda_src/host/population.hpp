// A population of tours that is made and improved within one call, on one thread.
#pragma once
#include "host/edge_table.hpp"
#include "host/first_tour.hpp"
#include "host/pairs.hpp"
#include "tours/k_opt.cuh"

template <class Costs>
class population {
 public:
  vector<uint32_t> tours;  // (rules.population, n)
  vector<int64_t> lengths;
  int64_t given_length;  // before it is improved

  // The first member is `given`. If it is the only one, it is improved by k-exchanges.
  population(const cities &where, const near_lists &near, const Costs &costs, const area_rules &rules,
             const int64_t *entropy, const vector<uint32_t> &given, uint64_t stream)
      : tours((size_t)rules.population * where.n),
        lengths(rules.population),
        where_(where),
        near_(near),
        costs_(costs),
        rules_(rules),
        entropy_(entropy),
        random_(stream) {
    std::copy(given.begin(), given.end(), tours.begin());
    given_length = length_of(tour(0));
    if (rules.population == 1) {
      make_members(0, [&](uint32_t *order) { std::copy(given.begin(), given.end(), order); });
    } else {
      first_tour first(where, near);
      make_members(1, [&](uint32_t *order) { first.construct(random_, order); });
    }
    for (uint32_t p = 0; p < rules.population; p++) lengths[p] = length_of(tour(p));
  }
  const uint32_t *tour(uint32_t p) const { return tours.data() + (size_t)p * where_.n; }
  uint32_t best() const { return (uint32_t)(std::min_element(lengths.begin(), lengths.end()) - lengths.begin()); }

  // Generations until all tours are equally long, or sets of AB-cycles do not help any more.
  void improve() {
    const uint32_t size = rules_.population;
    if (are_equally_long()) return;
    count_edges();
    assembly_rules rules{size, 0, rules_.children, rules_.taken, rules_.least_percent, 1};
    vector<uint32_t> ring(size), before;
    for (; rules.stage < 2; rules.stage++) {
      pair_worker<Costs> worker(where_, near_, costs_, rules);
      for (uint32_t idle = 0; idle < rules_.idle && !are_equally_long();) {
        const int64_t best_before = lengths[best()];
        for (uint32_t i = 0; i < size; i++) ring[i] = i;
        for (uint32_t i = size; i > 1; i--) std::swap(ring[i - 1], ring[random_.below(i)]);
        before = tours;
        uint32_t taken = 0;
        for (uint32_t i = 0; i < size; i++)
          taken += worker.assemble(edges_.view(), entropy_, tours.data() + (size_t)ring[i] * where_.n,
                                   before.data() + (size_t)ring[i + 1 == size ? 0 : i + 1] * where_.n, random_.next(),
                                   lengths[ring[i]]);
        edges_.add(worker.removed, -1), edges_.add(worker.added, 1);
        worker.removed.clear(), worker.added.clear();
        idle = lengths[best()] < best_before ? 0 : idle + 1;
        if (!taken) break;
      }
    }
  }

 private:
  const cities &where_;
  const near_lists &near_;
  const Costs costs_;
  const area_rules rules_;
  const int64_t *entropy_;
  random_numbers random_;
  edge_table edges_;

  bool are_equally_long() const {
    for (uint32_t p = 1; p < rules_.population; p++)
      if (lengths[p] != lengths[0]) return false;
    return true;
  }
  int64_t length_of(const uint32_t *order) const {
    int64_t length = costs_(order[where_.n - 1], order[0]);
    for (uint32_t i = 1; i < where_.n; i++) length += costs_(order[i - 1], order[i]);
    return length;
  }
  void count_edges() {
    vector<uint64_t> keys;
    for (uint32_t p = 0; p < rules_.population; p++)
      for (uint32_t i = 0; i < where_.n; i++)
        keys.push_back(edge_key(tour(p)[i], tour(p)[i + 1 == where_.n ? 0 : i + 1]));
    edges_.add(keys, 1);
  }
  // Makes the members from `begin` on: each as write(order) writes it, improved by k-exchanges.
  template <class Write>
  void make_members(uint32_t begin, const Write &write) {
    const k_opt_problem<Costs> problem{costs_, where_, near_, {rules_.depth, rules_.breadth}};
    const k_opt_alone alone;
    vector<uint32_t> words(k_opt_words(where_.n));
    const k_opt_tour t = k_opt_tour_in(words.data(), where_.n);
    k_opt_shared<k_opt_alone> shared;
    for (uint32_t p = begin; p < rules_.population; p++) {
      write(t.order);
      k_opt_begin(problem, t, shared, [](uint32_t) { return true; }, alone);
      k_opt_search(problem, t, shared, alone);
      std::copy(t.order, t.order + where_.n, tours.begin() + (size_t)p * where_.n);
    }
  }
};
