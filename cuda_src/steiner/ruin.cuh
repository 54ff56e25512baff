// The tree of ruin and recreate (ruin.cu has the method): what a step takes out, the components that are left, and the
// new paths between them.
#pragma once
#include "steiner/network.cuh"

constexpr uint32_t gone = ~0u - 1;  // the component of a vertex that is taken out

// What is known of a vertex, together in memory.
struct known {
  uint32_t rise, degree, place;  // the arc to the parent, the number of neighbours, the place in the list, or `nowhere`
  uint32_t mark, part;  // the step in which the component of a vertex of the tree is known; the component
  uint32_t seen;  // the step in which a search has seen it
  uint32_t owner, before;  // the component of the search, before unions; the arc to the predecessor, or none
};
struct ruin {
  network net;
  const uint32_t *tails, *back;
  uint32_t factor, noise, step;  // a length is weight * (factor + less than `noise`); the step's number
  uint64_t random, work;
  known *at;
  uint32_t vertices, *list;  // of the tree
  uint32_t ends, *end, *top;  // components: one vertex of each; union-find
  uint32_t root_part, outer;  // the component with the root; those from number `outer` on are terminals, each alone
  uint32_t removed, *out;  // vertices that are taken out, and single terminals
  uint64_t *distance, *length;  // of vertices that are seen, and of their shortest links to other components
  uint32_t *link;  // the middle arc
  uint32_t paths, used, *path_end, *arcs;  // new paths, as lists of arcs
  heap<uint64_t> waiting, links;
};
DEVICE uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}
DEVICE uint32_t random_below(ruin &s, uint32_t limit) {
  s.random += 0x9E3779B97F4A7C15ull;
  return (mixed(s.random) >> 32) * limit >> 32;
}
// Returns the perturbed length of an arc, the same both ways.
DEVICE uint64_t perturbed(const ruin &s, uint32_t a) {
  const uint32_t edge = a < s.back[a] ? a : s.back[a];
  return s.net.weights[a] * (s.factor + ((mixed(s.random + edge) >> 48) * s.noise >> 16));
}
DEVICE uint32_t parent(const ruin &s, uint32_t v) { return s.at[v].rise == none ? none : s.net.heads[s.at[v].rise]; }
DEVICE bool in_tree(const ruin &s, uint32_t a) {
  return s.at[s.tails[a]].rise == a || s.at[s.net.heads[a]].rise == s.back[a];
}
DEVICE bool is_key(const ruin &s, uint32_t v) { return s.net.is_terminal[v] || s.at[v].degree != 2; }
DEVICE bool is_gone(const ruin &s, uint32_t v) { return s.at[v].mark == s.step && s.at[v].part == gone; }
DEVICE void assign(ruin &s, uint32_t v, uint32_t part) { s.at[v].mark = s.step, s.at[v].part = part; }
DEVICE void add_vertex(ruin &s, uint32_t v) {
  if (s.at[v].place != nowhere) return;
  s.at[v].place = s.vertices, s.list[s.vertices++] = v;
}
DEVICE void drop_vertex(ruin &s, uint32_t v) {
  const uint32_t last = s.list[--s.vertices];
  s.list[s.at[v].place] = last, s.at[last].place = s.at[v].place, s.at[v].place = nowhere;
}
DEVICE void take_out(ruin &s, uint32_t v) { assign(s, v, gone), s.out[s.removed++] = v; }
// Returns the arc of the tree from v, which has two neighbours in the tree, that does not lead to `from`.
DEVICE uint32_t onward(const ruin &s, uint32_t v, uint32_t from) {
  if (s.at[v].rise != none && parent(s, v) != from) return s.at[v].rise;
  for (uint32_t a = s.net.offsets[v];; a++)
    if (s.net.heads[a] != from && in_tree(s, a)) return a;
}
// Takes out a key vertex with its key paths, whose other ends join the list of ends. Returns their weight.
DEVICE uint64_t ruined(ruin &s, uint32_t key) {
  uint64_t weight = 0;
  take_out(s, key);
  s.work += s.net.offsets[key + 1] - s.net.offsets[key];
  for (uint32_t a = s.net.offsets[key]; a < s.net.offsets[key + 1]; a++) {
    if (!in_tree(s, a) || is_gone(s, s.net.heads[a])) continue;
    uint32_t last = a;
    for (; !is_key(s, s.net.heads[last]); last = onward(s, s.net.heads[last], s.tails[last]))
      take_out(s, s.net.heads[last]), weight += s.net.weights[last];
    weight += s.net.weights[last];
    s.end[s.ends++] = s.net.heads[last];
  }
  return weight;
}
// Takes out up to `keys` neighbouring key vertices, and numbers the components. Returns the weight of what is removed.
DEVICE uint64_t ruin_some(ruin &s, uint32_t keys) {
  s.removed = s.ends = 0;
  uint32_t first = s.list[random_below(s, s.vertices)];
  while (!is_key(s, first) && s.at[first].rise != none) first = parent(s, first);
  uint64_t weight = ruined(s, first);
  for (uint32_t count = 1; count < keys && s.ends; count++) {
    const uint32_t i = random_below(s, s.ends), next = s.end[i];
    s.end[i] = s.end[--s.ends];
    weight += ruined(s, next);
  }
  s.root_part = none, s.outer = s.ends;
  for (uint32_t i = 0; i < s.ends; i++) {
    assign(s, s.end[i], i);
    if (s.at[s.end[i]].rise == none || !is_gone(s, parent(s, s.end[i]))) s.root_part = i;
  }
  for (uint32_t i = 0; i < s.removed; i++)
    if (s.net.is_terminal[s.out[i]]) s.end[s.ends++] = s.out[i];
  for (uint32_t i = s.outer; i < s.ends; i++) assign(s, s.end[i], i);
  for (uint32_t i = 0; i < s.ends; i++) s.top[i] = i;
  return weight;
}
// Returns the component of a vertex of the tree that is not taken out.
DEVICE uint32_t part_of(ruin &s, uint32_t vertex) {
  uint32_t v = vertex, found = s.root_part;
  for (; v != none && s.at[v].mark != s.step; v = parent(s, v)) s.work++;
  if (v != none) found = s.at[v].part;
  for (v = vertex; v != none && s.at[v].mark != s.step; v = parent(s, v)) assign(s, v, found);
  return found;
}
// Returns the component of a vertex after all unions so far.
DEVICE uint32_t merged_part(ruin &s, uint32_t v) {
  uint32_t part = s.at[v].owner;
  while (s.top[part] != part) part = s.top[part] = s.top[s.top[part]];
  return part;
}
// Makes v the root of its tree: reverses the arcs on the way to the old root.
DEVICE void make_root(ruin &s, uint32_t v) {
  for (uint32_t a = s.at[v].rise, last = none; v != none;) {
    const uint32_t up = a == none ? none : s.net.heads[a], next = up == none ? none : s.at[up].rise;
    s.at[v].rise = last;
    last = a == none ? none : s.back[a], a = next, v = up;
    s.work++;
  }
}
// Puts a path between two trees in. The one with the shorter way to its root gets a new root.
DEVICE void hang(ruin &s, uint32_t begin, uint32_t end) {
  const uint32_t x = s.tails[s.arcs[begin]], y = s.net.heads[s.arcs[end - 1]];
  uint32_t v = x, w = y;
  while (s.at[v].rise != none && s.at[w].rise != none) v = parent(s, v), w = parent(s, w), s.work++;
  const bool first = s.at[v].rise == none;
  make_root(s, first ? x : y);
  for (uint32_t i = begin; i < end; i++) {
    const uint32_t a = s.arcs[i], tail = s.tails[a], head = s.net.heads[a];
    if (first)
      s.at[tail].rise = a;
    else
      s.at[head].rise = s.back[a];
    s.at[tail].degree++, s.at[head].degree++;
    add_vertex(s, tail), add_vertex(s, head);
  }
}
DEVICE void commit(ruin &s) {
  for (uint32_t i = 0; i < s.outer; i++) {
    s.at[s.end[i]].degree--;
    if (i != s.root_part) s.at[s.end[i]].rise = none;
  }
  for (uint32_t i = 0; i < s.removed; i++) {
    const uint32_t v = s.out[i];
    s.at[v].rise = none, s.at[v].degree = 0;
    if (!s.net.is_terminal[v]) drop_vertex(s, v);
  }
  for (uint32_t i = 0, begin = 0; i < s.paths; begin = s.path_end[i++]) hang(s, begin, s.path_end[i]);
}
// The edge of each arc, and a bit for each edge: whether it is in the tree.
struct edge_bits {
  const uint32_t *edge, *bits;
};
DEVICE bool is_set(const edge_bits &chosen, uint32_t a) {
  return chosen.bits[chosen.edge[a] >> 5] >> (chosen.edge[a] & 31) & 1;
}
// Walks the chosen tree from the root.
DEVICE void walk(ruin &s, uint32_t root, const edge_bits &chosen) {
  const uint32_t n = s.net.n;
  for (uint32_t v = 0; v < n; v++)
    s.at[v].rise = none, s.at[v].place = s.waiting.place[v] = s.links.place[v] = nowhere,
    s.at[v].degree = s.at[v].mark = s.at[v].seen = 0;
  add_vertex(s, root);
  for (uint32_t i = 0; i < s.vertices; i++)
    for (uint32_t v = s.list[i], a = s.net.offsets[v]; a < s.net.offsets[v + 1]; a++) {
      if (!is_set(chosen, a)) continue;
      s.at[v].degree++;
      if (a == s.at[v].rise) continue;
      s.at[s.net.heads[a]].rise = s.back[a];
      add_vertex(s, s.net.heads[a]);
    }
}
