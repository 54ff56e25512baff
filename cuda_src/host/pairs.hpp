// What a tour takes from its partner: of all children of the pair, those that gain most for the entropy of the edges that
// they cost the population (Nagata and Kobayashi 2013, section 3.4), all in integers.
#pragma once
#include "host/assembly.hpp"

// One thread's work on pairs. Counts and entropy are those of the generation's start, so pairs depend on no other pair.
template <class Costs>
class pair_worker {
 public:
  vector<uint64_t> removed, added;  // edges, by all pairs since they were cleared

  pair_worker(const cities &where, const near_lists &near, const Costs &costs, const assembly_rules &rules)
      : child_(where, near, costs), rules_(rules) {}
  // Changes `tour`, by `partner`. Returns how many children it takes; `length` falls by what they gain.
  uint32_t assemble(const edge_counts &edges, const int64_t *entropy, uint32_t *tour, const uint32_t *partner,
                    uint64_t stream, int64_t &length) {
    random_numbers random(stream);
    child_.take(tour, partner, random);
    const uint32_t cycles = child_.cycles.count();
    order_.resize(cycles), worth_.clear();
    for (uint32_t i = 0; i < cycles; i++) order_[i] = i;
    for (uint32_t q = 0, tried = 0; q < cycles && tried < rules_.children; q++) {
      std::swap(order_[q], order_[q + random.below(cycles - q)]);
      const int64_t gain = make(order_[q]);
      tried += child_.was_made();
      if (gain > 0) worth_.push_back({gain, entropy_lost(edges, entropy), order_[q]});
      child_.undo();
    }
    std::sort(worth_.begin(), worth_.end());
    uint32_t taken = 0;
    for (const worth &w : worth_) {
      if (taken == rules_.taken || !w.has_percent(rules_.least_percent, worth_[0])) break;
      if (taken && (rules_.stage || !child_.stands(w.cycle))) continue;
      const int64_t gain = make(w.cycle);
      if (gain <= 0 ||
          (taken && !worth{gain, entropy_lost(edges, entropy), 0}.has_percent(rules_.least_percent, worth_[0]))) {
        child_.undo();
        continue;
      }
      for (const edge_change &e : child_.changed_edges()) (e.by > 0 ? added : removed).push_back(e.key);
      child_.rewrite(), length -= gain, taken++;
    }
    return taken;
  }

 private:
  using wide = __int128;
  struct worth {
    int64_t gain, lost;  // lost: entropy, at least 1
    uint32_t cycle;
    bool operator<(const worth &other) const {
      const wide a = (wide)gain * other.lost, b = (wide)other.gain * lost;
      return a > b || (a == b && cycle < other.cycle);
    }
    bool has_percent(uint32_t percent, const worth &best) const {
      return (wide)gain * best.lost * 100 >= (wide)best.gain * lost * percent;
    }
  };
  assembler<Costs> child_;
  const assembly_rules rules_;
  vector<uint32_t> order_, chosen_;
  vector<worth> worth_;

  int64_t make(uint32_t cycle) {
    if (rules_.stage)
      child_.make_block(cycle, chosen_);
    else
      chosen_.assign(1, cycle);
    return child_.make(chosen_);
  }
  // By the counts of the generation's start. A child taken before may have brought an edge that no tour had then, which
  // leaves again, or taken one that all had, which comes back: those lose nothing.
  int64_t entropy_lost(const edge_counts &edges, const int64_t *entropy) {
    int64_t lost = 0;
    for (const edge_change &e : child_.changed_edges()) {
      const int32_t tours = count_of(edges, e.key), then = tours + e.by;
      if (then >= 0 && then <= (int32_t)rules_.population) lost += entropy[tours] - entropy[then];
    }
    return std::max<int64_t>(1, lost);
  }
};
