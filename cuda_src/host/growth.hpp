// How the subset program grows a set: merge, search, and the two rules by which states are kept (subset_program.cpp has
// the method).
#pragma once
#include "host/terminal_sets.hpp"

// Sets to be grown; the pairs of set i are begin[i] to begin[i + 1]. A set without pairs is a terminal.
struct wanted {
  uint64_t count;
  const uint64_t *sets, *begin;
  const uint32_t *first, *second;
};
// Dual ascents: the numbers of their roots among the terminals; their bounds; the sets and dual values of their cuts,
// those of ascent i from cut begin[i] on; and (n, count) distances from each root in what was left of the weights.
struct ascents {
  uint32_t count;
  const uint32_t *roots;
  const uint64_t *bounds, *begin, *cuts, *duals, *reach;
};
// The states of some sets: the number of each set among those wanted, how many states it has, the least weight of a
// tree with one of them, by the bound rule; and all states, one set after the other.
struct kept_states {
  vector<uint32_t> sets, counts;
  vector<uint64_t> least;
  vector<uint32_t> vertices;
  vector<uint64_t> weights;
};
constexpr uint32_t bound_rule = 1, separator_rule = 2;

template <int W>
class growth {
 public:
  kept_states kept;

  // `number`: of each terminal, by vertex.
  growth(const network &net, const uint32_t *number, const ascents &dual, uint64_t limit, uint32_t rules)
      : net(net),
        number(number),
        dual(dual),
        limit(limit),
        rules(rules),
        rest(dual.count),
        weight(net.n, no_path),
        above(net.n),
        waiting_of(net.n),
        state(net.n, unseen),
        waiting(net.n, weight.data()) {}

  // Grows one of the sets, and keeps its states. Returns how many.
  uint32_t grow(const families &all, const wanted &targets, uint64_t i) {
    set = set_at<W>(targets.sets, i), least = no_path;
    settled.clear(), dropped.clear();
    begin_bounds();
    for (uint64_t p = targets.begin[i]; p < targets.begin[i + 1]; p++) merge(all, targets.first[p], targets.second[p]);
    if (targets.begin[i] == targets.begin[i + 1])
      for (uint32_t t = 0; t < net.count; t++)
        if (has(set, t)) offer_state(net.terminals[t], 0);
    search();
    const uint32_t count = rules & separator_rule && settled.size() > 1 ? separated() : settled.size();
    kept.sets.push_back(i), kept.counts.push_back(count), kept.least.push_back(least);
    for (uint32_t j = 0; j < count; j++) {
      kept.vertices.push_back(settled[j]);
      kept.weights.push_back(weight[settled[j]]);
    }
    for (const vector<uint32_t> *some : {&settled, &dropped})
      for (uint32_t v : *some) weight[v] = no_path;
    return count;
  }

 private:
  const network net;
  const uint32_t *number;
  const ascents dual;
  const uint64_t limit;
  const uint32_t rules;
  terminal_set<W> set;
  uint64_t least;
  vector<int64_t> rest;  // by ascent: what the rest of a tree costs at least, without the way to the vertex
  vector<uint64_t> weight;  // `no_path` between two sets
  // Vertices that were taken from the queue, by weight: those whose states may be kept; those that the bound rule, or a
  // foreign terminal settled before (separator rule), rules out.
  vector<uint32_t> settled, dropped;
  vector<uint32_t> above, waiting_of;  // union-find; of a component, by its top: how many of its vertices wait
  vector<uint8_t> state;  // what is known of a vertex, or of a component by its top; `unseen` between two sets
  vector<uint32_t> seen;  // vertices that the separator rule has seen beside the settled ones
  waiting_vertices<uint64_t> waiting;

  // What `state` says of a vertex in the graph of the separator rule, and of a component by its top.
  static constexpr uint8_t unseen = 0, present = 1, with_terminal = 2, held_back = 3;

  // Whether a vertex is a terminal outside of the set.
  bool is_foreign(uint32_t v) const { return net.is_terminal[v] && !has(set, number[v]); }
  // Computes `rest` for the set. Ascents whose root is in the set give no bound.
  void begin_bounds() {
    for (uint32_t i = 0; i < dual.count; i++) {
      rest[i] = -(1ll << 62);
      if (has(set, dual.roots[i]) || !(rules & bound_rule)) continue;
      rest[i] = dual.bounds[i];
      for (uint64_t c = dual.begin[i]; c < dual.begin[i + 1]; c++)
        if (within(set_at<W>(dual.cuts, c), set)) rest[i] -= dual.duals[c];
    }
  }
  // Returns a lower bound on the weight of the rest of a tree with this state (bound rule).
  uint64_t lacking(uint32_t v) const {
    const uint64_t *row = dual.reach + (size_t)v * dual.count;
    int64_t most = 0;
    for (uint32_t i = 0; i < dual.count; i++)
      most = rest[i] + (int64_t)row[i] > most ? rest[i] + (int64_t)row[i] : most;
    return most;
  }
  void offer_state(uint32_t v, uint64_t offered) {
    if (offered >= weight[v]) return;
    weight[v] = offered;
    offer(waiting, v);
  }
  // Offers all vertices where two families meet.
  void merge(const families &all, uint64_t x, uint64_t y) {
    for (uint64_t i = all.begin[x], j = all.begin[y]; i < all.begin[x + 1] && j < all.begin[y + 1];) {
      const uint32_t a = all.vertices[i], b = all.vertices[j];
      if (a == b && all.weights[i] + all.weights[j] < limit) offer_state(a, all.weights[i] + all.weights[j]);
      i += a <= b, j += b <= a;
    }
  }
  // Settles vertices in order of their weights, under the separator rule none that is farther than the first foreign
  // terminal. The search does not go on through a foreign terminal.
  void search() {
    uint64_t last = no_path;
    while (waiting.size) {
      const uint32_t u = take(waiting);
      const uint64_t here = weight[u], whole = here > last ? limit : here + lacking(u);
      if (whole >= limit) {
        dropped.push_back(u);
        continue;
      }
      least = whole < least ? whole : least;
      settled.push_back(u);
      if (is_foreign(u)) {
        if (rules & separator_rule) last = here;
        continue;
      }
      for (uint32_t a : arcs_of(net, u)) offer_state(net.heads[a], here + net.weights[a]);
    }
  }

  // ---- the separator rule ----

  uint32_t top(uint32_t v) {
    while (above[v] != v) v = above[v] = above[above[v]];
    return v;
  }
  void join(uint32_t upper, uint32_t lower) {
    state[upper] = state[lower] > state[upper] ? state[lower] : state[upper];
    above[lower] = upper;
  }
  // Adds a vertex to the graph, and joins it to its neighbours there. Returns by how much the number of components with
  // a foreign terminal grows.
  int32_t enter(uint32_t v) {
    int32_t more = is_foreign(v);
    above[v] = v, state[v] = more ? with_terminal : present;
    for (uint32_t a : arcs_of(net, v)) {
      if (state[net.heads[a]] == held_back) continue;
      const uint32_t x = top(net.heads[a]), y = top(v);
      if (x == y) continue;
      more -= state[x] == with_terminal && state[y] == with_terminal;
      join(y, x);
    }
    return more;
  }
  // Returns the number of components with a foreign terminal in the graph without the settled vertices, by a search
  // from all their neighbours at once. `terminals`: the number of foreign terminals there. Each component has a
  // neighbour of a settled vertex. So the search may end when a single component is open, that is, has vertices that
  // wait: it has all that was not seen. Around a small set of vertices this is soon.
  int32_t flooded(uint32_t terminals) {
    uint32_t open = 0;
    int32_t parts = 0;
    const auto see = [&](uint32_t v, uint32_t its_top) {
      above[v] = its_top, state[v] = present;
      if (v == its_top) waiting_of[v] = 0, open++;
      waiting_of[its_top]++, seen.push_back(v);
      if (is_foreign(v)) state[its_top] = with_terminal, terminals--;
    };
    for (uint32_t u : settled)
      for (uint32_t a : arcs_of(net, u))
        if (state[net.heads[a]] == unseen) see(net.heads[a], net.heads[a]);
    size_t i = 0;
    for (; open > 1; i++) {
      const uint32_t u = seen[i], its_top = top(u);
      for (uint32_t a : arcs_of(net, u)) {
        const uint32_t v = net.heads[a];
        if (state[v] == held_back) continue;
        if (state[v] == unseen) see(v, its_top);
        const uint32_t other = top(v);
        if (other == its_top) continue;
        waiting_of[its_top] += waiting_of[other], open--;
        join(its_top, other);
      }
      if (--waiting_of[its_top]) continue;
      open--, parts += state[its_top] == with_terminal;
    }
    if (!open) return parts;
    const uint32_t last = top(seen[i]);
    if (terminals) state[last] = with_terminal;
    return parts + (state[last] == with_terminal);
  }
  // Returns the number of settled vertices, the nearest ones, whose states are kept. Settled vertices enter the graph,
  // the farthest first, until all foreign terminals are connected; states farther than the last vertex to enter are
  // dropped.
  uint32_t separated() {
    uint32_t missing = 0, count = settled.size();
    for (uint32_t v : settled) state[v] = held_back, missing += is_foreign(v);
    int32_t parts = flooded(net.count - size_of(set) - missing);
    for (uint32_t i = settled.size(); i-- > 0 && (missing || parts > 1);) {
      missing -= is_foreign(settled[i]);
      parts += enter(settled[i]);
      if (!missing && parts <= 1) count = i + 1;
    }
    for (const vector<uint32_t> *some : {&settled, &seen})
      for (uint32_t v : *some) state[v] = unseen;
    seen.clear();
    while (count < settled.size() && weight[settled[count]] == weight[settled[count - 1]]) count++;
    return count;
  }
};
