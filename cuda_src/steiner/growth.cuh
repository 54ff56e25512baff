// How the subset program grows a set: merge, search, and the two rules by which states are kept (subset_program.cu has
// the method).
#pragma once
#include "paths/heap.cuh"
#include "steiner/network.cuh"
#include "steiner/terminal_sets.cuh"

constexpr uint32_t none = ~0u;
constexpr uint64_t unreached = ~0ull;

// Sets to be grown; the pairs of set i are begin[i] to begin[i + 1]. A set without pairs is a terminal.
struct wanted {
  uint64_t count;
  const uint64_t *sets, *begin;
  const uint32_t *first, *second;
};
// Dual ascents from all terminals: their bounds; the sets and dual values of their cuts, those of root r from cut
// begin[r] on; and (n, k) distances from each root in what was left of the weights.
struct ascents {
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
  uint32_t rules, kept;
  const uint64_t *reach;
  int64_t *rest;  // by root: what the rest of a tree costs at least, without the way to the vertex
  uint64_t *weight;
  uint32_t *order, *above, *state;  // kept vertices as they were settled; parents of union-find; state of a component
  heap<uint64_t> waiting;
};
constexpr uint32_t bound_rule = 1, separator_rule = 2;

// Whether a vertex is a terminal outside of the set.
template <int W>
DEVICE bool is_foreign(const growth<W> &s, uint32_t v) {
  return s.net.is_terminal[v] && !has(s.set, s.number[v]);
}
template <int W>
DEVICE void begin_bounds(growth<W> &s, const ascents &dual) {
  for (uint32_t r = 0; r < s.net.count; r++) {
    s.rest[r] = -(1ll << 62);
    if (has(s.set, r) || !(s.rules & bound_rule)) continue;
    s.rest[r] = dual.bounds[r];
    for (uint64_t c = dual.begin[r]; c < dual.begin[r + 1]; c++)
      if (within(set_at<W>(dual.cuts, c), s.set)) s.rest[r] -= dual.duals[c];
  }
}
// Returns a lower bound on the weight of the rest of a tree with this state (bound rule).
template <int W>
DEVICE uint64_t lacking(const growth<W> &s, uint32_t v) {
  const uint64_t *row = s.reach + (size_t)v * s.net.count;
  int64_t most = 0;
  for (uint32_t r = 0; r < s.net.count; r++)
    most = s.rest[r] + (int64_t)row[r] > most ? s.rest[r] + (int64_t)row[r] : most;
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
    if (here > last) continue;
    const uint64_t whole = here + lacking(s, u);
    if (whole >= s.limit) continue;
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
constexpr uint32_t absent = 0, present = 1, with_terminal = 2;  // what `state` says of a component's top

template <int W>
DEVICE uint32_t top_of(growth<W> &s, uint32_t v) {
  while (s.above[v] != v) v = s.above[v] = s.above[s.above[v]];
  return v;
}
// Adds a vertex to the graph of the separator rule, and joins it to its neighbours there. Returns by how much the
// number of components with a foreign terminal grows.
template <int W>
DEVICE int32_t enter(growth<W> &s, uint32_t v) {
  int32_t more = is_foreign(s, v);
  s.state[v] = more ? with_terminal : present;
  for (uint32_t a = s.net.offsets[v]; a < s.net.offsets[v + 1]; a++) {
    if (s.state[s.net.heads[a]] == absent) continue;
    const uint32_t x = top_of(s, s.net.heads[a]), y = top_of(s, v);
    if (x == y) continue;
    more -= s.state[x] == with_terminal && s.state[y] == with_terminal;
    s.state[y] = s.state[x] > s.state[y] ? s.state[x] : s.state[y];
    s.above[x] = y;
  }
  return more;
}
// Makes the component of a vertex in the graph without kept vertices (`above` is `none`). Returns whether it has a
// foreign terminal. The heap is empty, so its array serves as the queue.
template <int W>
DEVICE int32_t flood(growth<W> &s, uint32_t top) {
  uint32_t *queue = s.waiting.vertices, size = 1;
  s.state[top] = present, queue[0] = top;
  bool found = false;
  for (uint32_t i = 0; i < size; i++) {
    found |= is_foreign(s, queue[i]);
    for (uint32_t a = s.net.offsets[queue[i]]; a < s.net.offsets[queue[i] + 1]; a++) {
      const uint32_t v = s.net.heads[a];
      if (s.state[v] != absent || s.above[v] == none) continue;
      s.state[v] = present, s.above[v] = top, queue[size++] = v;
    }
  }
  s.state[top] = found ? with_terminal : present;
  return found;
}
// Drops the states that the separator rule does not need. Kept vertices enter the graph, the farthest first, until all
// foreign terminals are connected; states farther than the last vertex to enter are dropped.
template <int W>
DEVICE void separate(growth<W> &s) {
  uint32_t missing = 0;
  int32_t parts = 0;
  for (uint32_t v = 0; v < s.net.n; v++) s.above[v] = v, s.state[v] = absent;
  for (uint32_t i = 0; i < s.kept; i++) s.above[s.order[i]] = none, missing += is_foreign(s, s.order[i]);
  for (uint32_t v = 0; v < s.net.n; v++)
    if (s.above[v] != none && s.state[v] == absent) parts += flood(s, v);
  for (uint32_t i = 0; i < s.kept; i++) s.above[s.order[i]] = s.order[i];
  for (uint32_t i = s.kept; i-- > 0 && (missing || parts > 1);) {
    missing -= is_foreign(s, s.order[i]);
    parts += enter(s, s.order[i]);
    if (missing || parts > 1) continue;
    s.kept = i + 1;
  }
}
// Returns the number of states to keep: those that `separate` left, and others of the same weight as the last of these.
template <int W>
DEVICE uint32_t with_equals(const growth<W> &s, uint32_t before) {
  uint32_t end = s.kept;
  while (end < before && s.weight[s.order[end]] == s.weight[s.order[s.kept - 1]]) end++;
  return end;
}
template <int W>
DEVICE void grow_set(growth<W> &s, const families &all, const wanted &targets, uint64_t number, const ascents &dual) {
  s.set = set_at<W>(targets.sets, number), s.least = unreached, s.kept = 0;
  begin_bounds(s, dual);
  for (uint32_t v = 0; v < s.net.n; v++) s.weight[v] = unreached;
  for (uint64_t p = targets.begin[number]; p < targets.begin[number + 1]; p++)
    merge(s, all, targets.first[p], targets.second[p]);
  if (targets.begin[number] == targets.begin[number + 1])
    for (uint32_t t = 0; t < s.net.count; t++)
      if (has(s.set, t)) offer_state(s, s.net.terminals[t], 0);
  search(s);
  const uint32_t before = s.kept;
  if (s.rules & separator_rule && s.kept > 1) {
    separate(s);
    s.kept = with_equals(s, before);
  }
}
template <int W>
DEVICE void write(const growth<W> &s, uint64_t number, const kept_states &out) {
  const uint64_t at = atomicAdd(out.used, (uint64_t)s.kept);
  out.begin[number] = at, out.least[number] = s.least;
  out.count[number] = at + s.kept <= out.room ? s.kept : none;
  for (uint32_t i = 0; i < s.kept && at + s.kept <= out.room; i++)
    out.vertices[at + i] = s.order[i], out.weights[at + i] = s.weight[s.order[i]];
}
