// Children of two tours by edge assembly. A child is tour A, of which some AB-cycles' A edges are replaced by their B
// edges. What falls apart is joined again by cheap 2-exchanges, the smallest tour first.
//
// Tour A stays an array. A cycle with m edges of A cuts it into m segments, so the tours of a child are found in O(m log m),
// however long A is. Links and a journal of their changes hold the child; `undo` gives A back, `rewrite` makes the child A.
#pragma once
#include "host/ab_cycles.hpp"

// The edges that change, without those that leave and come again.
struct edge_change {
  uint64_t key;
  int32_t by;  // 1 comes, -1 leaves
};

template <class Costs>
class assembler {
 public:
  ab_cycles cycles;

  assembler(const cities &where, const near_lists &near, const Costs &costs)
      : cycles(where.n), where_(where), near_(near), costs_(costs), n_(where.n) {
    a_.resize(2 * (size_t)n_), b_.resize(2 * (size_t)n_), cost_.resize(2 * (size_t)n_);
    place_.resize(n_), mark_.resize(n_);
  }
  // Takes the tours, and finds their AB-cycles. `order` is A, which `rewrite` changes.
  void take(uint32_t *order, const uint32_t *partner, random_numbers &random) {
    order_ = order, link_up(n_, order, a_), link_up(n_, partner, b_), changes_.clear();
    int32_t before = costs_(order[n_ - 1], order[0]);
    for (uint32_t i = 0; i < n_; i++) {
      const uint32_t c = order[i];
      place_[c] = (int32_t)i, cost_[2 * (size_t)c] = before;
      cost_[2 * (size_t)c + 1] = before = costs_(c, order[i + 1 == n_ ? 0 : i + 1]);
    }
    cycles.find(a_, b_, random);
  }
  // Makes the child of some cycles. Returns its gain; if that is 0 or less, the child was given up unfinished.
  //
  // Joining seldom gains anything, so a child whose cycles gain nothing, or less than joining costs, is given up.
  int64_t make(const vector<uint32_t> &chosen) {
    int64_t gain = split(chosen);
    if (gain > 0) cut(), find_tours();
    while (gain > 0 && tours_ > 1) {
      const int64_t won = join_smallest(-gain);
      gain = won == lost ? lost : gain + won;
    }
    return gain;
  }
  // Returns whether making a child had to look at tours.
  bool was_made() const { return !changes_.empty(); }
  // Sets `chosen` to a cycle and all smaller ones that have a node in a tour that it cuts off.
  void make_block(uint32_t middle, vector<uint32_t> &chosen) {
    chosen.assign(1, middle), split(chosen), cut(), find_tours(), undo();
    if (tours_ == 1) return;
    const uint32_t largest = (uint32_t)(std::max_element(sizes_.begin(), sizes_.end()) - sizes_.begin());
    for (uint32_t x = 0; x < cycles.count(); x++) {
      if (x == middle || cycles.size(x) >= cycles.size(middle)) continue;
      for (uint32_t i = cycles.starts[x]; i < cycles.starts[x + 1]; i++)
        if (tour_of(cycles.nodes[i]) != largest) {
          chosen.push_back(x);
          break;
        }
    }
  }
  // Returns whether the cycle's A edges are in A still, and its B edges are not.
  bool stands(uint32_t cycle) const {
    const uint32_t first = cycles.starts[cycle], size = cycles.size(cycle);
    for (uint32_t i = 0; i < size; i++)
      if (joined(a_, cycles.nodes[first + i], cycles.nodes[first + (i + 1 == size ? 0 : i + 1)]) != !(i & 1))
        return false;
    return true;
  }
  // Returns the edges that the child changes.
  const vector<edge_change> &changed_edges() {
    edges_.clear();
    for (const change &c : changes_) {
      if (c.node < c.old) edges_.push_back({edge_key(c.node, c.old), -1});
      if (c.node < c.now) edges_.push_back({edge_key(c.node, c.now), 1});
    }
    std::sort(edges_.begin(), edges_.end(), [](const edge_change &x, const edge_change &y) { return x.key < y.key; });
    size_t kept = 0;
    for (size_t i = 0, j; i < edges_.size(); i = j) {
      int32_t by = 0;
      for (j = i; j < edges_.size() && edges_[j].key == edges_[i].key; j++) by += edges_[j].by;
      if (by) edges_[kept++] = {edges_[i].key, by};
    }
    edges_.resize(kept);
    return edges_;
  }
  void undo() {
    for (size_t i = changes_.size(); i-- > 0;) {
      const change &c = changes_[i];
      replace(c.node, c.now, c.old, c.old_cost);
    }
    changes_.clear();
  }
  // Writes the child into the array: from now on it is tour A. Its longest segment keeps its place.
  void rewrite() {
    cuts_.clear();
    for (const change &c : changes_) {
      const int32_t x = place_[c.node], y = place_[c.old], last = (int32_t)n_ - 1;
      if (x + 1 == y || (x == last && !y)) cuts_.push_back(x);
      if (y + 1 == x || (y == last && !x)) cuts_.push_back(y);
    }
    changes_.clear();
    std::sort(cuts_.begin(), cuts_.end()), cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    const uint32_t m = (uint32_t)cuts_.size();
    if (m < 2) return;
    uint32_t longest = 0;
    for (uint32_t s = 1; s < m; s++)
      if (cuts_[s] - low(s) > cuts_[longest] - low(longest)) longest = s;
    moved_.clear();
    const uint32_t stays = order_[cuts_[longest]];
    uint32_t node = stays,
             before = cuts_[longest] > low(longest) ? order_[around(cuts_[longest] - 1)] : a_[2 * (size_t)stays];
    for (uint32_t next = other(node, before); moved_.size() + (uint32_t)(cuts_[longest] - low(longest) + 1) < n_;
         next = other(node, before)) {
      const int32_t at = place_[next];
      const uint32_t s = segment_at(at);
      const int32_t from = low(s), to = cuts_[s];
      const bool forwards = around(from) == at;
      for (int32_t p = forwards ? from : to; forwards ? p <= to : p >= from; forwards ? p++ : p--)
        moved_.push_back(order_[around(p)]);
      before = from < to ? moved_[moved_.size() - 2] : node, node = moved_.back();
    }
    int32_t to = cuts_[longest];
    for (const uint32_t c : moved_) to = to + 1 == (int32_t)n_ ? 0 : to + 1, order_[to] = c, place_[c] = to;
  }

 private:
  struct change {
    uint32_t node, old, now;
    int32_t old_cost;
  };
  static constexpr int64_t lost = INT64_MIN, never = -((int64_t)1 << 60);
  const cities &where_;
  const near_lists &near_;
  const Costs costs_;
  const uint32_t n_;
  uint32_t *order_ = nullptr;  // of A
  links a_, b_;  // of the child; of B
  vector<int32_t> cost_;  // of the edge of each of the child's links
  vector<int32_t> place_;  // of each node in A
  vector<change> changes_;
  // Of a child: its cycles' nodes, with the next node's number of each, and the cost of the edge to that; where it cuts A,
  // sorted, and the cuts' ranks by edge; the end at the other side of a B edge; of each segment, its tour; of each tour,
  // its nodes. The ends of segment s are 2 s and 2 s + 1; segment s ends at cut s.
  vector<uint32_t> nodes_, after_;
  vector<int32_t> price_;
  vector<int32_t> cuts_;
  vector<uint64_t> sorted_;
  vector<uint32_t> rank_, partner_, tour_, sizes_, moved_;
  uint32_t tours_ = 0;
  vector<uint32_t> mark_;
  uint32_t marked_ = 0;
  vector<edge_change> edges_;

  size_t link(uint32_t c, uint32_t neighbour) const { return 2 * (size_t)c + (a_[2 * (size_t)c] != neighbour); }
  int32_t replace(uint32_t c, uint32_t old, uint32_t now, int32_t cost) {
    const size_t at = link(c, old);
    a_[at] = now;
    return std::exchange(cost_[at], cost);
  }
  void change_link(uint32_t c, uint32_t old, uint32_t now, int32_t cost) {
    const int32_t old_cost = replace(c, old, now, cost);
    changes_.push_back({c, old, now, old_cost});
  }
  uint32_t other(uint32_t c, uint32_t neighbour) const { return a_[link(c, neighbour) ^ 1]; }
  int32_t around(int32_t place) const { return place < 0 ? place + (int32_t)n_ : place; }
  // Returns the first place of a segment; of segment 0, which goes around, it may be below 0.
  int32_t low(uint32_t s) const { return s ? cuts_[s - 1] + 1 : cuts_.back() + 1 - (int32_t)n_; }
  uint32_t segment_at(int32_t place) const {
    const auto found = std::lower_bound(cuts_.begin(), cuts_.end(), place);
    return found == cuts_.end() ? 0 : (uint32_t)(found - cuts_.begin());
  }
  uint32_t tour_of(uint32_t c) const { return tour_[segment_at(place_[c])]; }

  // Lists the nodes of the cycles. Returns their gain.
  int64_t split(const vector<uint32_t> &chosen) {
    int64_t gain = 0;
    changes_.clear(), nodes_.clear(), after_.clear(), price_.clear();
    for (const uint32_t cycle : chosen) {
      const uint32_t first = (uint32_t)nodes_.size(), size = cycles.size(cycle);
      const uint32_t *node = &cycles.nodes[cycles.starts[cycle]];
      for (uint32_t i = 0; i < size; i++) {
        nodes_.push_back(node[i]), after_.push_back(i + 1 == size ? first : first + i + 1);
        const uint32_t next = node[i + 1 == size ? 0 : i + 1];
        price_.push_back(i & 1 ? costs_(node[i], next) : cost_[link(node[i], next)]);
        gain += i & 1 ? -price_.back() : price_.back();
      }
    }
    return gain;
  }
  // Cuts A at the cycles' A edges, and links what their B edges join.
  void cut() {
    const uint32_t m = (uint32_t)nodes_.size() / 2;
    cuts_.resize(m), sorted_.resize(m), rank_.resize(m), partner_.resize(2 * m);
    for (uint32_t q = 0; q < m; q++) {
      const int32_t p = place_[nodes_[2 * q]], s = place_[nodes_[2 * q + 1]];
      sorted_[q] = (uint64_t)(p + 1 == s || (p == (int32_t)n_ - 1 && s == 0) ? p : s) << 32 | q;
    }
    std::sort(sorted_.begin(), sorted_.end());
    for (uint32_t r = 0; r < m; r++) cuts_[r] = (int32_t)(sorted_[r] >> 32), rank_[(uint32_t)sorted_[r]] = r;
    const auto end_of = [&](uint32_t i) {
      const uint32_t r = rank_[i / 2];
      return place_[nodes_[i]] == cuts_[r] ? 2 * r + 1 : 2 * (r + 1 == m ? 0 : r + 1);
    };
    for (uint32_t i = 1; i < 2 * m; i += 2) {
      const uint32_t j = after_[i], x = end_of(i), y = end_of(j), c = nodes_[i], d = nodes_[j];
      partner_[x] = y, partner_[y] = x;
      change_link(c, nodes_[i - 1], d, price_[i]), change_link(d, nodes_[j + 1], c, price_[i]);
    }
  }
  // Finds which segments form a tour.
  void find_tours() {
    const uint32_t m = (uint32_t)cuts_.size(), none = ~0u;
    tour_.assign(m, none), sizes_.clear(), tours_ = 0;
    for (uint32_t s = 0; s < m; s++) {
      if (tour_[s] != none) continue;
      uint32_t size = 0, end = 2 * s;
      do {
        const uint32_t g = end / 2;
        tour_[g] = tours_, size += (uint32_t)(cuts_[g] - low(g) + 1);
        end = partner_[end ^ 1];
      } while (tour_[end / 2] == none);
      sizes_.push_back(size), tours_++;
    }
  }
  // Joins the smallest tour to another one by the 2-exchange that wins most, and more than `least`. Returns what it wins
  // (joining costs, mostly), or `lost` if there is none.
  //
  // An exchange removes the edges c d and w z, and adds c w and d z; c is in the smallest tour, w is not. If it wins more
  // than `won`, then c d costs more than c w, or w z more than d z, by more than won / 2. If only w z does, w may be too far
  // from c to be looked at. So some exchanges are missed, and now and then a child: populations end with as good tours
  // all the same, and sooner.
  int64_t join_smallest(int64_t least) {
    uint32_t smallest = ~0u;
    for (uint32_t q = 0; q < sizes_.size(); q++)
      if (sizes_[q] && (smallest == ~0u || sizes_[q] < sizes_[smallest])) smallest = q;
    const uint32_t m = (uint32_t)cuts_.size();
    const auto each_node = [&](auto use) {
      for (uint32_t s = 0; s < m; s++)
        if (tour_[s] == smallest)
          for (int32_t p = low(s); p <= cuts_[s]; p++) use(order_[around(p)]);
    };
    const uint32_t own = ++marked_, *mark = mark_.data(), *neighbours = a_.data();
    const int32_t *link_cost = cost_.data();
    each_node([&](uint32_t c) { mark_[c] = own; });
    int64_t won = least;
    uint32_t c1 = ~0u, d1 = 0, c2 = 0, d2 = 0;
    int32_t added = 0, closes = 0;
    each_node([&](uint32_t c) {
      const uint32_t *near = near_.near + (size_t)c * near_.width, *d = neighbours + 2 * (size_t)c;
      const int32_t *price = near_.cost + (size_t)c * near_.width;
      int64_t out[2];
      for (int x = 0; x < 2; x++) out[x] = is_fixed(where_, c, d[x]) ? never : link_cost[2 * (size_t)c + x];
      const int64_t far = std::max(out[0], out[1]) - won / 2;
      uint32_t outside = 0;  // places in the list of nodes of other tours, a bit each: most nodes have none
      for (uint32_t q = 0; q < near_.width && price[q] < far; q++) outside |= (uint32_t)(mark[near[q]] != own) << q;
      for (; outside; outside &= outside - 1) {
        const uint32_t q = (uint32_t)__builtin_ctz(outside), w = near[q];
        for (int y = 0; y < 2; y++) {
          const uint32_t z = neighbours[2 * (size_t)w + y];
          if (is_fixed(where_, w, z)) continue;
          const int64_t in = (int64_t)link_cost[2 * (size_t)w + y] - price[q];
          for (int x = 0; x < 2; x++) {
            if (in + out[x] <= won) continue;
            const int32_t closing = costs_(d[x], z);
            if (in + out[x] - closing <= won || closing == forbidden) continue;
            won = in + out[x] - closing, c1 = c, d1 = d[x], c2 = w, d2 = z, added = price[q], closes = closing;
          }
        }
      }
    });
    if (c1 == ~0u) return lost;
    const uint32_t other = tour_of(c2);
    change_link(c1, d1, c2, added), change_link(c2, d2, c1, added);
    change_link(d1, c1, d2, closes), change_link(d2, c2, d1, closes);
    for (uint32_t s = 0; s < m; s++)
      if (tour_[s] == smallest) tour_[s] = other;
    sizes_[other] += sizes_[smallest], sizes_[smallest] = 0, tours_--;
    return won;
  }
};
