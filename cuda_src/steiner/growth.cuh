// How the subset program grows a set: merge, search, and the two rules by which states are kept (subset_program.cu has
// the method).
#pragma once
#include "steiner/network.cuh"
#include "steiner/terminal_sets.cuh"

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
// What `grow` keeps: for each set where its states begin in `vertices` and `weights`, how many they are (~0: there was
// no room, the set must be tried again), and the least weight of a tree with one of them, by the bound rule.
struct kept_states {
  uint64_t room;
  uint64_t *used, *begin, *least;
  uint32_t *count, *vertices;
  uint64_t *weights;
};
// A block's work on a set.
template <int W>
struct growth {
  network net;
  const uint32_t *number;  // of each terminal, by vertex
  terminal_set<W> set;
  uint64_t limit, least;
  uint32_t rules, kept, settled, dropped;  // numbers of vertices: kept, kept before the separator rule, the others
  uint32_t ascents;
  const uint64_t *reach;
  int64_t *rest;  // by ascent: what the rest of a tree costs at least, without the way to the vertex
  uint64_t *weight;  // `unreached` between two sets
  uint32_t *order;  // settled vertices: those that the bound rule keeps, and from the end on those that it drops
  uint32_t *above, *state;  // parents of union-find; what is known of a vertex, or of a component by its top
  heap<uint64_t> waiting;
};
constexpr uint32_t bound_rule = 1, separator_rule = 2;

// Whether a vertex is a terminal outside of the set.
template <int W>
DEVICE bool is_foreign(const growth<W> &s, uint32_t v) {
  return s.net.is_terminal[v] && !has(s.set, s.number[v]);
}
// Computes `rest` for the set. Ascents whose root is in the set give no bound.
template <int W>
DEVICE void begin_bounds(growth<W> &s, const ascents &dual) {
  for (uint32_t i = 0; i < dual.count; i++) {
    s.rest[i] = -(1ll << 62);
    if (has(s.set, dual.roots[i]) || !(s.rules & bound_rule)) continue;
    s.rest[i] = dual.bounds[i];
    for (uint64_t c = dual.begin[i]; c < dual.begin[i + 1]; c++)
      if (within(set_at<W>(dual.cuts, c), s.set)) s.rest[i] -= dual.duals[c];
  }
}
// Returns a lower bound on the weight of the rest of a tree with this state (bound rule).
template <int W>
DEVICE uint64_t lacking(const growth<W> &s, uint32_t v) {
  const uint64_t *row = s.reach + (size_t)v * s.ascents;
  int64_t most = 0;
  for (uint32_t i = 0; i < s.ascents; i++)
    most = s.rest[i] + (int64_t)row[i] > most ? s.rest[i] + (int64_t)row[i] : most;
  return most;
}
template <int W>
DEVICE void offer_state(growth<W> &s, uint32_t v, uint64_t weight) {
  if (weight >= s.weight[v]) return;
  s.weight[v] = weight;
  offer(s.waiting, v);
}
// Offers all vertices where two families meet.
template <int W>
DEVICE void merge(growth<W> &s, const families &all, uint64_t x, uint64_t y) {
  for (uint64_t i = all.begin[x], j = all.begin[y]; i < all.begin[x + 1] && j < all.begin[y + 1];) {
    const uint32_t a = all.vertices[i], b = all.vertices[j];
    if (a == b && all.weights[i] + all.weights[j] < s.limit) offer_state(s, a, all.weights[i] + all.weights[j]);
    i += a <= b, j += b <= a;
  }
}
// Settles vertices in order of their weights, and keeps those that pass the bound rule.
template <int W>
DEVICE void search(growth<W> &s) {
  uint64_t last = unreached;
  while (s.waiting.size) {
    const uint32_t u = take(s.waiting);
    const uint64_t here = s.weight[u];
    const uint64_t whole = here > last ? s.limit : here + lacking(s, u);
    if (whole >= s.limit) {
      s.order[s.net.n - ++s.dropped] = u;
      continue;
    }
    s.least = whole < s.least ? whole : s.least;
    s.order[s.kept++] = u;
    if (is_foreign(s, u)) {
      if (s.rules & separator_rule) last = here;
      continue;
    }
    for (uint32_t a = s.net.offsets[u]; a < s.net.offsets[u + 1]; a++)
      offer_state(s, s.net.heads[a], here + s.net.weights[a]);
  }
}
// What `state` says of a vertex in the graph of the separator rule, and of a component by its top.
constexpr uint32_t unseen = 0, present = 1, with_terminal = 2, held_back = 3;

template <int W>
DEVICE uint32_t top_of(growth<W> &s, uint32_t v) {
  while (s.above[v] != v) v = s.above[v] = s.above[s.above[v]];
  return v;
}
// Joins the component of `lower` to that of `top`.
template <int W>
DEVICE void join(growth<W> &s, uint32_t top, uint32_t lower) {
  s.state[top] = s.state[lower] > s.state[top] ? s.state[lower] : s.state[top];
  s.above[lower] = top;
}
// Adds a vertex to the graph of the separator rule, and joins it to its neighbours there. Returns by how much the
// number of components with a foreign terminal grows.
template <int W>
DEVICE int32_t enter(growth<W> &s, uint32_t v) {
  int32_t more = is_foreign(s, v);
  s.above[v] = v, s.state[v] = more ? with_terminal : present;
  for (uint32_t a = s.net.offsets[v]; a < s.net.offsets[v + 1]; a++) {
    if (s.state[s.net.heads[a]] == held_back) continue;
    const uint32_t x = top_of(s, s.net.heads[a]), y = top_of(s, v);
    if (x == y) continue;
    more -= s.state[x] == with_terminal && s.state[y] == with_terminal;
    join(s, y, x);
  }
  return more;
}
// A search from all neighbours of the kept vertices at once, through the graph without these. The heap is empty, so its
// arrays serve: `vertices` as the queue, `place` of a component's top as the number of its vertices that wait.
struct flood {
  uint32_t size, open;  // vertices seen; components of which vertices wait
  uint32_t terminals, parts;  // foreign terminals not seen; components that are complete and have one
};
template <int W>
DEVICE void see(growth<W> &s, flood &f, uint32_t v, uint32_t top) {
  s.above[v] = top, s.state[v] = present;
  if (v == top) s.waiting.place[top] = 0, f.open++;
  s.waiting.place[top]++, s.waiting.vertices[f.size++] = v;
  if (is_foreign(s, v)) s.state[top] = with_terminal, f.terminals--;
}
// Scans the row of a vertex that waits.
template <int W>
DEVICE void scan(growth<W> &s, flood &f, uint32_t u) {
  const uint32_t top = top_of(s, u);
  for (uint32_t a = s.net.offsets[u]; a < s.net.offsets[u + 1]; a++) {
    const uint32_t v = s.net.heads[a];
    if (s.state[v] == held_back) continue;
    if (s.state[v] == unseen) see(s, f, v, top);
    const uint32_t other = top_of(s, v);
    if (other == top) continue;
    s.waiting.place[top] += s.waiting.place[other], f.open--;
    join(s, top, other);
  }
  if (--s.waiting.place[top]) return;
  f.open--, f.parts += s.state[top] == with_terminal;
}
// Finds the components of the graph without the kept vertices, and returns the search, whose `parts` are the components
// with a foreign terminal. `missing`: the foreign terminals among the kept vertices. Each component has a neighbour of
// a kept vertex. So the search may end when a single component is open: it has all that was not seen. Around a small
// set of vertices this is soon.
template <int W>
DEVICE flood flooded(growth<W> &s, uint32_t missing) {
  flood f = {0, 0, s.net.count - size_of(s.set) - missing, 0};
  for (uint32_t i = 0; i < s.kept; i++)
    for (uint32_t a = s.net.offsets[s.order[i]]; a < s.net.offsets[s.order[i] + 1]; a++)
      if (s.state[s.net.heads[a]] == unseen) see(s, f, s.net.heads[a], s.net.heads[a]);
  uint32_t i = 0;
  for (; f.open > 1; i++) scan(s, f, s.waiting.vertices[i]);
  if (!f.open) return f;
  const uint32_t last = top_of(s, s.waiting.vertices[i]);
  if (f.terminals) s.state[last] = with_terminal;
  f.parts += s.state[last] == with_terminal;
  return f;
}
// Drops the states that the separator rule does not need. Kept vertices enter the graph, the farthest first, until all
// foreign terminals are connected; states farther than the last vertex to enter are dropped.
template <int W>
DEVICE void separate(growth<W> &s) {
  uint32_t missing = 0;
  for (uint32_t i = 0; i < s.kept; i++) s.state[s.order[i]] = held_back, missing += is_foreign(s, s.order[i]);
  const flood seen = flooded(s, missing);
  int32_t parts = seen.parts;
  for (uint32_t i = s.kept; i-- > 0 && (missing || parts > 1);) {
    missing -= is_foreign(s, s.order[i]);
    parts += enter(s, s.order[i]);
    if (missing || parts > 1) continue;
    s.kept = i + 1;
  }
  for (uint32_t i = 0; i < s.settled; i++) s.state[s.order[i]] = unseen;
  for (uint32_t i = 0; i < seen.size; i++)
    s.state[s.waiting.vertices[i]] = unseen, s.waiting.place[s.waiting.vertices[i]] = nowhere;
}
// Returns the number of states to keep: those that `separate` left, and others of the same weight as the last of these.
template <int W>
DEVICE uint32_t with_equals(const growth<W> &s) {
  uint32_t end = s.kept;
  while (end < s.settled && s.weight[s.order[end]] == s.weight[s.order[s.kept - 1]]) end++;
  return end;
}
template <int W>
DEVICE void grow_set(growth<W> &s, const families &all, const wanted &targets, uint64_t number, const ascents &dual) {
  s.set = set_at<W>(targets.sets, number), s.least = unreached, s.kept = s.dropped = 0;
  begin_bounds(s, dual);
  for (uint64_t p = targets.begin[number]; p < targets.begin[number + 1]; p++)
    merge(s, all, targets.first[p], targets.second[p]);
  if (targets.begin[number] == targets.begin[number + 1])
    for (uint32_t t = 0; t < s.net.count; t++)
      if (has(s.set, t)) offer_state(s, s.net.terminals[t], 0);
  search(s);
  s.settled = s.kept;
  if (s.rules & separator_rule && s.kept > 1) {
    separate(s);
    s.kept = with_equals(s);
  }
}
// Makes all weights `unreached` again.
template <int W>
DEVICE void forget(growth<W> &s) {
  for (uint32_t i = 0; i < s.settled; i++) s.weight[s.order[i]] = unreached;
  for (uint32_t i = 0; i < s.dropped; i++) s.weight[s.order[s.net.n - 1 - i]] = unreached;
}
template <int W>
DEVICE void write(const growth<W> &s, uint64_t number, const kept_states &out) {
  const uint64_t at = atomicAdd(out.used, (uint64_t)s.kept);
  out.begin[number] = at, out.least[number] = s.least;
  out.count[number] = at + s.kept <= out.room ? s.kept : none;
  for (uint32_t i = 0; i < s.kept && at + s.kept <= out.room; i++)
    out.vertices[at + i] = s.order[i], out.weights[at + i] = s.weight[s.order[i]];
}
