// The order and the arcs of a contraction hierarchy, from the topology of a graph alone (after Dibbelt, Strasser and
// Wagner, Customizable Contraction Hierarchies, 2014). hierarchy.cu says what it is for, and does the rest. Made on the
// CPU, by one thread.
//
// Vertices are contracted one after the other, the one with the smallest key 8 degree + 2 depth first: it is taken out,
// and its neighbours are joined to a clique. Its arcs to them are arcs of the hierarchy: each leads from a lower to a
// higher vertex. The depth of a vertex is the length of the longest chain of neighbours below it; it spreads contraction
// over the graph, so that there are fewer levels. Of vertices with the same key the one that got it last comes first
// (257 levels for New York; 392 with the first one first). All follows from the graph and its numbering.
//
// `work` counts steps, each about a nanosecond: one for each entry of the lists of neighbours that is joined, and
// `arc_steps` for each arc of the hierarchy, which has to get its place and its weight too. Graphs without small
// separators become dense and take any amount of work. So contraction foresees what is left, and ends as soon as that is
// more than `worth`, the steps that the hierarchy would save (`pays`), when it has taken half as many again, or when the
// lists outgrow their memory.
//
// Memory: the lists of neighbours stand in one array, each in a place of 2^bits entries; a list that outgrows its place
// moves to one of twice the size, and leaves the old place to others.
#include "paths/distances.cuh"

constexpr uint32_t most_keys = 1 << 16;
constexpr uint64_t arc_steps = 300; // ARC_STEPS in contraction.py
enum outcome : uint32_t { finished, too_much_work, out_of_memory };

// Lists of neighbours. `spare` has the first spare place of each size (32), `none` if there is none: each place begins with
// the next one. `used` entries belong to places.
struct neighbours {
  uint32_t room;
  uint32_t *entry, *begin, *count, *bits, *spare, *used;
};
// Vertices that wait to be contracted, in one doubly linked stack for each key.
struct stacks {
  uint32_t *key, *before, *after, *first;
};
// How far contraction is: steps so far, and the entries in the lists of all vertices that wait.
struct progress {
  uint64_t work, entries;
};

DEVICE void leave(const stacks &s, uint32_t v) {
  const uint32_t before = s.before[v], after = s.after[v], key = s.key[v];
  if (before == none)
    s.first[key] = after;
  else
    s.after[before] = after;
  if (after != none) s.before[after] = before;
}
DEVICE void enter(const stacks &s, uint32_t v, uint32_t key) {
  const uint32_t first = s.first[key];
  s.key[v] = key, s.before[v] = none, s.after[v] = first, s.first[key] = v;
  if (first != none) s.before[first] = v;
}
DEVICE uint32_t key_of(uint32_t degree, uint32_t depth) {
  const uint64_t key = 8 * (uint64_t)degree + 2 * (uint64_t)depth;
  return key < most_keys ? (uint32_t)key : most_keys - 1;
}
// Returns a place of 2^bits entries, or `none` if there is no room for it.
DEVICE uint32_t take_place(const neighbours &near, uint32_t bits) {
  const uint32_t spare = near.spare[bits];
  if (spare != none) {
    near.spare[bits] = near.entry[spare];
    return spare;
  }
  if (near.room - *near.used < 1u << bits) return none;
  *near.used += 1u << bits;
  return *near.used - (1u << bits);
}
// Appends a neighbour to the list of v, and returns whether there was room for it.
DEVICE bool append(const neighbours &near, uint32_t v, uint32_t u) {
  const uint32_t old = near.begin[v], bits = near.bits[v];
  if (near.count[v] == 1u << bits) {
    const uint32_t place = take_place(near, bits + 1);
    if (place == none) return false;
    for (uint32_t i = 0; i < near.count[v]; i++) near.entry[place + i] = near.entry[old + i];
    near.entry[old] = near.spare[bits], near.spare[bits] = old;
    near.begin[v] = place, near.bits[v] = bits + 1;
  }
  near.entry[near.begin[v] + near.count[v]++] = u;
  return true;
}
// Lists the other ends of all arcs of v, each once. `mark` is v + 1 for those that are listed.
DEVICE bool list_ends(const neighbours &near, uint32_t v, const uint32_t *offsets, const uint32_t *ends,
                      uint32_t *mark) {
  for (uint32_t a = offsets[v]; a < offsets[v + 1]; a++) {
    if (mark[ends[a]] == v + 1) continue;
    mark[ends[a]] = v + 1;
    if (!append(near, v, ends[a])) return false;
  }
  return true;
}
// Takes v out of the list of u, one of its neighbours, and puts the others into it.
DEVICE bool join(const neighbours &near, uint32_t v, uint32_t u, uint32_t stamp, uint32_t *mark) {
  uint32_t *list = near.entry + near.begin[u];
  const uint32_t count = near.count[u];
  mark[u] = stamp;
  for (uint32_t i = 0, kept = 0; i < count; i++) {
    if (list[i] != v) list[kept++] = list[i];
    mark[list[i]] = stamp;
  }
  near.count[u]--;
  for (uint32_t i = 0; i < near.count[v]; i++) {
    const uint32_t w = near.entry[near.begin[v] + i];
    if (mark[w] != stamp && !append(near, u, w)) return false;
  }
  return true;
}
// Contracts a vertex, and returns whether there was room.
DEVICE bool contract(const neighbours &near, const stacks &waiting, uint32_t v, uint32_t *depth, uint32_t *mark,
                     progress &so_far, uint32_t &stamp, uint32_t &least) {
  so_far.entries -= near.count[v];
  for (uint32_t i = 0; i < near.count[v]; i++) {
    const uint32_t u = near.entry[near.begin[v] + i];
    so_far.work += arc_steps + near.count[u] + near.count[v];
    so_far.entries -= near.count[u];
    if (!join(near, v, u, ++stamp, mark)) return false;
    so_far.entries += near.count[u];
    depth[u] = depth[u] > depth[v] ? depth[u] : depth[v] + 1;
    const uint32_t key = key_of(near.count[u], depth[u]);
    if (key == waiting.key[u]) continue;
    leave(waiting, u), enter(waiting, u, key);
    least = key < least ? key : least;
  }
  return true;
}
// Lists the neighbours of all vertices and puts these onto the stacks; or returns false.
DEVICE bool prepare(uint32_t n, const uint32_t *offsets, const uint32_t *heads, const uint32_t *in_offsets,
                    const uint32_t *tails, const neighbours &near, const stacks &waiting, uint32_t *mark) {
  for (uint32_t v = 0; v < n; v++) {
    near.count[v] = 0, near.bits[v] = 1, near.begin[v] = take_place(near, 1);
    if (near.begin[v] == none || !list_ends(near, v, offsets, heads, mark)) return false;
    if (tails != heads && !list_ends(near, v, in_offsets, tails, mark)) return false;
    enter(waiting, v, key_of(near.count[v], 0));
  }
  for (uint32_t v = 0; v < n; v++) mark[v] = 0;
  return true;
}
// Returns whether it pays to go on with `left` vertices, `before` being the entries when there were a third more.
//
// In road networks each arc that is left leads to about 4 arcs of the hierarchy, whatever part of the vertices is left
// (3.6 to 4.4 with a half, a quarter and an eighth of New York, BAY, NE). The lists can only grow together, so those
// that are left take at least 2 entries^2 / left more steps. Where the lists grow from one look to the next, as in
// grids and random graphs, more arcs are to come than that. Then contraction goes on only while it has cost little or is
// sure to pay. What it has cost is lost either way, so it counts in no other case.
DEVICE bool pays(const progress &so_far, uint64_t left, uint64_t before, uint64_t worth) {
  const uint64_t entries = so_far.entries, to_come = arc_steps * 2 * entries + 2 * entries / left * entries;
  if (to_come > worth) return false;
  return entries <= before || so_far.work <= worth / 8 || so_far.work + to_come <= worth / 2;
}
// Fills `order`, the vertices as they were contracted, and leaves in `near` the neighbours of each that came later.
// `heads` and `tails` are the other ends of the arcs that leave and enter each vertex. At first `mark` and `depth` are
// 0, and `first` and `spare` are `none`. `report`: the outcome, and the work.
KERNEL contraction_order(uint32_t n, uint64_t worth, const uint32_t *offsets, const uint32_t *heads,
                         const uint32_t *in_offsets, const uint32_t *tails, neighbours near, stacks waiting,
                         uint32_t *depth, uint32_t *mark, uint32_t *order, uint64_t *report) {
  if (threadIdx.x || blockIdx.x) return;
  progress so_far = {0, 0};
  uint32_t stamp = 0, least = 0, end = prepare(n, offsets, heads, in_offsets, tails, near, waiting, mark) ? n : 0;
  report[0] = end == n ? finished : out_of_memory;
  for (uint32_t v = 0; v < end; v++) so_far.entries += near.count[v];
  uint64_t before = so_far.entries;
  for (uint32_t k = 0, look = n / 2; k < end; k++) {
    while (waiting.first[least] == none) least++;
    const uint32_t v = order[k] = waiting.first[least];
    leave(waiting, v);
    if (!contract(near, waiting, v, depth, mark, so_far, stamp, least)) {
      report[0] = out_of_memory, end = k;
    } else if (so_far.work / 3 > worth / 2) {
      report[0] = too_much_work, end = k;
    } else if (n - k <= look && n - k > 1) {
      if (!pays(so_far, n - k - 1, before, worth)) report[0] = too_much_work, end = k;
      before = so_far.entries, look = look / 4 * 3;
    }
  }
  report[1] = so_far.work;
}
EXPORT_KERNEL(contraction_order)
// Brings the lists of neighbours in order: the arcs of the k-th vertex are head[first[k]] to head[first[k + 1] - 1],
// ascending, by rank (`rank` is the inverse of `order`). `next` and `below` have room for n + 1 and for all arcs.
KERNEL contraction_arcs(uint32_t n, const uint32_t *entry, const uint32_t *begin, const uint32_t *count,
                        const uint32_t *order, const uint32_t *rank, uint32_t *next, uint32_t *below, uint32_t *first,
                        uint32_t *head) {
  if (threadIdx.x || blockIdx.x) return;
  for (uint32_t k = 0; k <= n; k++) next[k] = 0;
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t v = order[k];
    first[k + 1] = (k ? first[k] : first[0] = 0) + count[v];
    for (uint32_t i = 0; i < count[v]; i++) next[rank[entry[begin[v] + i]] + 1]++;
  }
  for (uint32_t k = 0; k < n; k++) next[k + 1] += next[k];
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 0; i < count[order[k]]; i++) below[next[rank[entry[begin[order[k]] + i]]]++] = k;
  for (uint32_t u = n; u-- > 0;) next[u + 1] = next[u];
  next[0] = 0;
  for (uint32_t u = 0, i = 0; u < n; u++)
    for (; i < next[u + 1]; i++) head[first[below[i]]++] = u;
  for (uint32_t k = n; k-- > 0;) first[k + 1] = first[k];
  first[0] = 0;
}
EXPORT_KERNEL(contraction_arcs)
