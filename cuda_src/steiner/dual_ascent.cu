// A lower bound on the weight of Steiner trees, by dual ascent (R. T. Wong, Mathematical Programming 28, 1984), with
// the choice of cuts of T. Pajor, E. Uchoa, R. F. Werneck (Mathematical Programming Computation 10, 2018). It is
// sequential by nature, so it is marked for the CPU: one block, of which the first thread works.
//
// Let a set of vertices hold a terminal but not the root: every tree that joins the terminal to the root has an arc
// into the set. So each such set may have a dual value. If the dual values of the sets that an arc enters never sum to
// more than its weight, the sum of all dual values is at most the weight of any tree. Here a terminal's set is all
// vertices with a path to it along saturated arcs, those whose reduced cost `rest` is 0. The ascent raises a set's dual
// value by the least rest of the arcs into it, which saturates one of them, until the root has such a path to every
// terminal. A terminal whose set holds another active terminal becomes inactive, because the other one's set serves
// both.
//
// The next set is the one with the fewest arcs into it, ties as in heap.cuh. That number is known only after a search,
// so the heap is ordered by each set's number when it was last searched. A set is raised as long as its present number
// is at most 5/4 of the next one's; then it returns to the heap.
//
// Invariants: `rest` never falls below 0; a raised set holds its terminal and not the root. So the bound is valid
// whenever the ascent ends, and `budget` (arcs scanned) ends it in time. Every raise is recorded, terminal and dual
// value, which is enough to repeat it on the original graph and to check it (problems/verify/steiner_bound.py).
//
// Layout: `rest` of an arc stands in the row of its head, because the search follows arcs from head to tail; an edge
// has one in each row. Memory traffic: 16 bytes for each arc of a new member, and for each arc into the set at each
// raise.
#include "steiner/network.cuh"

// Where the terminals in each raised set are noted, `words` words of 64 bits a raise: a bit for each terminal, by its
// number in the list of terminals (`number`, by vertex). Nothing is noted if `words` is 0.
struct cut_sets {
  uint32_t words;
  const uint32_t *number;
  uint64_t *sets;
};
struct ascent {
  uint32_t root, stamp, size, arcs;
  uint64_t scanned;
  const uint32_t *offsets, *heads;
  uint64_t *rest;
  uint32_t *mark, *members, *border;  // the set (mark = stamp); the arcs into it, and some that are inside by now
  heap<uint32_t> waiting;  // active terminals, except the one whose set this is
};
DEVICE void add_member(ascent &s, uint32_t v) {
  if (s.mark[v] == s.stamp) return;
  s.mark[v] = s.stamp;
  s.members[s.size++] = v;
}
// Notes the terminals among the members, from number `first` on, in the set of a raise, which begins as the one before.
DEVICE void note_terminals(const ascent &s, const cut_sets &cuts, const uint32_t *is_terminal, uint32_t first,
                           uint32_t raise) {
  uint64_t *set = cuts.sets + (size_t)raise * cuts.words;
  for (uint32_t w = 0; w < cuts.words; w++) set[w] = first ? set[(int64_t)w - cuts.words] : 0;
  for (uint32_t i = first; cuts.words && i < s.size; i++)
    if (is_terminal[s.members[i]]) set[cuts.number[s.members[i]] / 64] |= 1ull << cuts.number[s.members[i]] % 64;
}
// Scans the rows of the members from number `first` on, including those that it adds. Returns whether the terminal
// becomes inactive, because the set holds the root or an active terminal.
DEVICE bool grow(ascent &s, uint32_t first) {
  for (uint32_t i = first; i < s.size; i++) {
    const uint32_t v = s.members[i];
    if (v == s.root || s.waiting.place[v] != nowhere) return true;
    s.scanned += s.offsets[v + 1] - s.offsets[v];
    for (uint32_t a = s.offsets[v]; a < s.offsets[v + 1]; a++) {
      if (s.mark[s.heads[a]] == s.stamp) continue;
      if (s.rest[a])
        s.border[s.arcs++] = a;
      else
        add_member(s, s.heads[a]);
    }
  }
  return false;
}
// Removes arcs that lie inside of the set from the border, and returns the least rest of the others.
DEVICE uint64_t least_rest(ascent &s) {
  uint64_t least = ~0ull;
  uint32_t kept = 0;
  s.scanned += s.arcs;
  for (uint32_t i = 0; i < s.arcs; i++) {
    const uint32_t a = s.border[i];
    if (s.mark[s.heads[a]] == s.stamp) continue;
    s.border[kept++] = a;
    least = s.rest[a] < least ? s.rest[a] : least;
  }
  s.arcs = kept;
  return least;
}
// Raises the dual value of the set; arcs that this saturates add their tails to the set.
DEVICE void raise(ascent &s, uint64_t amount) {
  for (uint32_t i = 0; i < s.arcs; i++) {
    const uint32_t a = s.border[i];
    s.rest[a] -= amount;
    if (!s.rest[a]) add_member(s, s.heads[a]);
  }
}
// Raises the set of a terminal as long as it is its turn. Returns false if the terminal becomes inactive.
DEVICE bool serve(ascent &s, uint32_t terminal, uint32_t *key, const cut_sets &cuts, const uint32_t *is_terminal,
                  uint32_t *count, uint32_t *raised, uint64_t *duals) {
  s.stamp++, s.size = s.arcs = 0;
  add_member(s, terminal);
  for (uint32_t first = 0; !grow(s, first);) {
    const uint64_t least = least_rest(s);
    if (!s.arcs) return false;  // the terminal is in a connected component without the root
    key[terminal] = s.arcs;
    if (s.waiting.size && 4 * (uint64_t)s.arcs > 5 * (uint64_t)key[s.waiting.vertices[0]]) return true;
    note_terminals(s, cuts, is_terminal, first, *count);
    first = s.size;
    raise(s, least);
    raised[*count] = terminal, duals[(*count)++] = least;
  }
  return false;
}
// `rest` has m entries, `scratch` 5 n + m; `raised`, `duals` and the sets of `cuts` have room for m raises, because each
// raise saturates an arc. `result`: the number of raises, the number of arcs scanned.
KERNEL dual_ascent_climb(network net, uint32_t root, uint64_t budget, cut_sets cuts, uint64_t *rest, uint32_t *scratch,
                         uint32_t *raised, uint64_t *duals, uint64_t *result) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  const uint32_t n = net.n, *offsets = net.offsets, *terminals = net.terminals;
  uint32_t *key = scratch, *mark = key + n, *members = mark + n, *vertices = members + n, *place = vertices + n;
  ascent s = {terminals[root], 0,    0,    0,       0,         offsets,
              net.heads,       rest, mark, members, place + n, {0, vertices, place, key}};
  for (uint32_t a = 0; a < offsets[n]; a++) rest[a] = net.weights[a];
  for (uint32_t v = 0; v < n; v++) mark[v] = 0, s.waiting.place[v] = nowhere, key[v] = offsets[v + 1] - offsets[v];
  for (uint32_t i = 0; i < net.count; i++)
    if (i != root) offer(s.waiting, terminals[i]);
  uint32_t raises = 0;
  while (s.waiting.size && s.scanned < budget) {
    const uint32_t terminal = take(s.waiting);
    if (serve(s, terminal, key, cuts, net.is_terminal, &raises, raised, duals)) offer(s.waiting, terminal);
  }
  result[0] = raises, result[1] = s.scanned;
}
EXPORT_KERNEL(dual_ascent_climb)
