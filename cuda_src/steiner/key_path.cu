// Local search of a Steiner tree by key-path exchange (E. Uchoa, R. F. Werneck, ACM Journal of Experimental
// Algorithmics 17, 2012). A key path joins two key vertices (terminals and vertices of degree 3 or more); without it
// the tree has two components, and the pass finds the cheapest other way to join them, for all key paths in O(m log n).
// The first thread of one block works, on the CPU whatever the device. The host applies moves that do not touch each
// other (hpcsolve/algorithms/steiner_kmb/key_path.py) and asks again, until there is none.
//
// Given: the distance of every vertex to the tree, the tree's vertex that is nearest to it (`base`) and the neighbour
// on the path there (`before`), as steiner_tree_regions computes them. A path between two components is then an arc
// between two regions, with the paths from its ends to their bases. The pass goes up the tree. The part of the tree
// that has been passed keeps its arcs to other regions in a heap (skew heaps, which are merged and keep no balance; D.
// Sleator, R. Tarjan, SIAM J. Computing 15, 1986). Arcs on top of it that lead inside are dropped for good, and so are
// those to the key path that is taken out, which lies inside from then on; the top is then the cheapest arc out.
// Vertices in the regions of the path's inner vertices have lost their base: a search finds another one for each (once
// in a pass, as key paths share no inner vertices), and their arcs are scanned too.
//
// Layout: arcs are numbered as in the rows; an arc's heap node has its number. Memory: some 100 bytes for each vertex,
// 40 for each arc.
#include "steiner/network.cuh"

struct exchange {
  uint32_t n;
  const uint32_t *offsets, *heads, *tails, *is_terminal, *base, *before;
  const uint64_t *weights, *distance;
  uint32_t *up, *rise, *children, *enter, *leave, *order;  // the tree: parents, arcs from them, a walk's numbers
  uint32_t *first, *next;  // the vertices of each region
  uint32_t *left, *right, *top;  // heaps of arcs
  uint32_t *inner, *other_base, *other_before;  // of the path that is taken out
  uint64_t *other;  // distance to another base
  heap<uint64_t> waiting;
};
// Returns the length of the path through an arc from base to base.
DEVICE uint64_t length(const exchange &s, uint32_t a) {
  return s.distance[s.tails[a]] + s.weights[a] + s.distance[s.heads[a]];
}
DEVICE bool shorter(const exchange &s, uint32_t a, uint32_t b) {
  const uint64_t x = length(s, a), y = length(s, b);
  return x < y || (x == y && a < b);
}
// Merges two skew heaps of arcs, and returns the top.
DEVICE uint32_t merged(exchange &s, uint32_t a, uint32_t b) {
  uint32_t result = none, *link = &result;
  while (a != none && b != none) {
    const uint32_t least = shorter(s, a, b) ? a : b, rest = least == a ? b : a, moved = s.right[least];
    *link = least;
    s.right[least] = s.left[least];
    link = &s.left[least];
    a = moved, b = rest;
  }
  *link = a != none ? a : b;
  return result;
}
// Walks the tree, whose arcs have `chosen` set, from the root, and returns the number of its vertices. `next` serves as
// the place in each row.
DEVICE uint32_t walk(exchange &s, uint32_t root, const uint32_t *chosen) {
  for (uint32_t v = 0; v < s.n; v++) s.up[v] = s.enter[v] = none, s.next[v] = s.offsets[v], s.children[v] = 0;
  uint32_t count = 0;
  s.enter[root] = count, s.order[count++] = root;
  for (uint32_t v = root; v != none;) {
    if (s.next[v] == s.offsets[v + 1]) {
      s.leave[v] = count;
      v = s.up[v];
      continue;
    }
    const uint32_t a = s.next[v]++, child = s.heads[a];
    if (!chosen[a] || s.enter[child] != none) continue;
    s.up[child] = v, s.rise[child] = a, s.children[v]++;
    s.enter[child] = count, s.order[count++] = child;
    v = child;
  }
  return count;
}
// Lists the vertices of each region, and makes the heap of the arcs that leave it.
DEVICE void collect_regions(exchange &s) {
  for (uint32_t v = 0; v < s.n; v++) {
    s.first[v] = s.top[v] = s.other_base[v] = s.other_before[v] = none;
    s.inner[v] = 0, s.other[v] = unreached, s.waiting.place[v] = nowhere;
  }
  for (uint32_t v = 0; v < s.n; v++) {
    const uint32_t b = s.base[v];
    s.next[v] = s.first[b], s.first[b] = v;
    for (uint32_t a = s.offsets[v]; a < s.offsets[v + 1]; a++) {
      s.left[a] = s.right[a] = none;
      if (s.base[s.heads[a]] != b) s.top[b] = merged(s, s.top[b], a);
    }
  }
}
// Returns whether v is in the subtree of `lower`.
DEVICE bool below(const exchange &s, uint32_t v, uint32_t lower) {
  return s.enter[v] >= s.enter[lower] && s.enter[v] < s.leave[lower];
}
// Returns whether the base of a vertex is an inner vertex of the path, so that it needs another base.
DEVICE bool lost_base(const exchange &s, uint32_t v) { return s.inner[s.base[v]]; }
DEVICE void improve(exchange &s, uint32_t v, uint64_t offered, uint32_t from, uint32_t base) {
  if (offered >= s.other[v]) return;
  s.other[v] = offered, s.other_before[v] = from, s.other_base[v] = base;
  offer(s.waiting, v);
}
// Finds other bases, nearer than `limit`, for the vertices that have lost theirs.
DEVICE void find_other_bases(exchange &s, uint32_t lower, uint32_t upper, uint64_t limit) {
  for (uint32_t i = s.up[lower]; i != upper; i = s.up[i])
    for (uint32_t v = s.first[i]; v != none; v = s.next[v])
      for (uint32_t a = s.offsets[v]; a < s.offsets[v + 1]; a++)
        if (!lost_base(s, s.heads[a]))
          improve(s, v, s.distance[s.heads[a]] + s.weights[a], s.heads[a], s.base[s.heads[a]]);
  while (s.waiting.size) {
    const uint32_t v = take(s.waiting);
    for (uint32_t a = s.offsets[v]; s.other[v] < limit && a < s.offsets[v + 1]; a++)
      if (lost_base(s, s.heads[a])) improve(s, s.heads[a], s.other[v] + s.weights[a], v, s.other_base[v]);
  }
}
// Returns the arc, at a vertex that has lost its base, with the shortest path between the two components, if that is
// below `best`.
DEVICE uint32_t best_arc(const exchange &s, uint32_t lower, uint32_t upper, uint32_t arc, uint64_t &best) {
  for (uint32_t i = s.up[lower]; i != upper; i = s.up[i])
    for (uint32_t v = s.first[i]; v != none; v = s.next[v])
      for (uint32_t a = s.offsets[v]; s.other[v] < best && a < s.offsets[v + 1]; a++) {
        const uint32_t w = s.heads[a];
        const uint64_t there = lost_base(s, w) ? s.other[w] : s.distance[w];
        const uint32_t end = lost_base(s, w) ? s.other_base[w] : s.base[w];
        if (there >= best || below(s, end, lower) == below(s, s.other_base[v], lower)) continue;
        if (s.other[v] + s.weights[a] + there < best) best = s.other[v] + s.weights[a] + there, arc = a;
      }
  return arc;
}
// Clears what `replacement` has noted on the path's inner vertices and their regions.
DEVICE void forget(exchange &s, uint32_t lower, uint32_t upper) {
  for (uint32_t i = s.up[lower]; i != upper; i = s.up[i]) {
    for (uint32_t v = s.first[i]; v != none; v = s.next[v]) s.other[v] = unreached;
    s.inner[i] = 0;
  }
}
// Looks for a path that can replace the key path from `lower` up to `upper`, shorter than `best`; returns its arc.
DEVICE uint32_t replacement(exchange &s, uint32_t lower, uint32_t upper, uint64_t &best) {
  for (uint32_t i = s.up[lower]; i != upper; i = s.up[i]) s.inner[i] = 1;
  uint32_t top = s.top[lower], arc = none;
  while (top != none && (below(s, s.base[s.heads[top]], lower) || lost_base(s, s.heads[top])))
    top = merged(s, s.left[top], s.right[top]);
  s.top[lower] = top;
  if (top != none && length(s, top) < best) best = length(s, top), arc = top;
  find_other_bases(s, lower, upper, best);
  return best_arc(s, lower, upper, arc, best);
}
// Lists of vertices, one after the other; vertices that find no room are counted, not written.
struct lists {
  uint32_t room, used, *vertices;
};
DEVICE void write(lists &out, uint32_t v) {
  if (out.used < out.room) out.vertices[out.used] = v;
  out.used++;
}
DEVICE void write_path(lists &out, const exchange &s, uint32_t x) {
  for (uint32_t v = x; v != none; v = lost_base(s, v) ? s.other_before[v] : s.before[v]) write(out, v);
}
DEVICE bool is_key(const exchange &s, uint32_t v) { return s.is_terminal[v] || s.children[v] != 1; }
// The moves of a pass, at most n: how much each saves, and where its three lists of vertices end in `paths` (room);
// `count`: how many there are.
struct moves {
  uint32_t room;
  uint64_t *gains;
  uint32_t *ends, *paths, *count;
};
// Looks at the key path that goes up from v. If a shorter path can replace it: returns how much that saves, and writes
// three lists of vertices, up to `ends`: from one end of its middle arc to the base, from the other end, and the key
// path.
DEVICE uint64_t serve(exchange &s, uint32_t v, lists &out, uint32_t *ends) {
  uint32_t upper = s.up[v];
  uint64_t own = s.weights[s.rise[v]];
  for (; !is_key(s, upper); upper = s.up[upper]) own += s.weights[s.rise[upper]];
  uint64_t best = own;
  const uint32_t arc = replacement(s, v, upper, best), begin = out.used;
  if (arc != none) {
    write_path(out, s, s.tails[arc]);
    ends[0] = out.used;
    write_path(out, s, s.heads[arc]);
    ends[1] = out.used;
    for (uint32_t w = v; w != upper; w = s.up[w]) write(out, w);
    write(out, upper);
    ends[2] = out.used;
  }
  forget(s, v, upper);
  if (out.used <= out.room) return own - best;
  out.used = begin;
  return 0;
}
// `chosen`: 1 for the tree's arcs, both ways; its root is a terminal. `words` (14 n + 2 m) and `distances` (n) are
// scratch.
KERNEL key_path_find(network net, uint32_t root, const uint32_t *tails, const uint32_t *chosen,
                     const uint64_t *distance, const uint32_t *before, const uint32_t *base, uint32_t *words,
                     uint64_t *distances, moves found) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  const uint32_t n = net.n;
  exchange s = {n, net.offsets, net.heads, tails, net.is_terminal, base, before, net.weights, distance};
  uint32_t **const tables[] = {&s.up,
                               &s.rise,
                               &s.children,
                               &s.enter,
                               &s.leave,
                               &s.order,
                               &s.first,
                               &s.next,
                               &s.top,
                               &s.inner,
                               &s.other_base,
                               &s.other_before,
                               &s.waiting.vertices,
                               &s.waiting.place};
  for (uint32_t i = 0; i < 14; i++) *tables[i] = words + (size_t)i * n;
  s.left = words + (size_t)14 * n, s.right = s.left + net.offsets[n];
  s.other = distances, s.waiting.keys = distances, s.waiting.size = 0;
  const uint32_t vertices = walk(s, root, chosen);
  collect_regions(s);
  lists out = {found.room, 0, found.paths};
  uint32_t count = 0;
  for (uint32_t i = vertices; i-- > 1;) {
    const uint32_t v = s.order[i];
    if (is_key(s, v)) found.gains[count] = serve(s, v, out, &found.ends[3 * count]), count += found.gains[count] > 0;
    s.top[s.up[v]] = merged(s, s.top[s.up[v]], s.top[v]);
  }
  *found.count = count;
}
EXPORT_KERNEL(key_path_find)
