// Local search of a Steiner tree by key-vertex elimination (E. Uchoa, R. F. Werneck, ACM Journal of Experimental
// Algorithmics 17, 2012). A key vertex that is no terminal is taken out of the tree, with the key paths that end there.
// The components that this leaves are joined again by the shortest paths between their regions, by a minimum spanning
// tree of the components (Boruvka). A single thread does all the work; the kernel runs on the CPU even if the job has a
// GPU. The host applies moves that share no vertex (hpcsolve/algorithms/steiner_kmb/best/key_vertex.py) and asks again.
//
// Given, as in key_path.cu: the distance of every vertex to the tree, the tree's vertex that is nearest to it (`base`)
// and the neighbour on the path there (`before`). Vertices whose base is taken out have lost it: a search finds another
// one for each. A path between two components is then an arc between two regions, with the paths from its ends to their
// bases. This arc leads from one region to another (`border`), or between two vertices of one lost region.
//
// A key vertex takes a scan of the tree and a few of the border. So a pass takes (key vertices) x (arcs of the border +
// vertices of the tree) steps, and does nothing if these are more than `budget`. Scratch memory: 60 bytes for each
// vertex, 4 for each arc.
#include "steiner/network.cuh"

struct elimination {
  network net;
  const uint32_t *tails, *chosen, *base, *before;
  const uint64_t *distance;
  uint32_t *up, *rise, *children, *order;  // the tree: parents, arcs from them, numbers of children, parents first
  uint32_t *first, *next;  // the vertices of each region
  uint32_t *part, *other_base, *other_before;  // the component of a tree vertex; of vertices that have lost their base
  uint64_t *other;  // the distance to another base
  uint32_t *top, *link;  // by component: union-find; its shortest arc to another component
  uint32_t *border;
  uint32_t vertices, parts, size, kept;  // of the tree; components; arcs in `border`, `kept` of them between regions
  heap<uint64_t> waiting;
};
constexpr uint32_t outside = ~0u - 1;  // the part of a vertex that is taken out

// Walks the tree from the root: parents before children.
DEVICE void walk(elimination &s, uint32_t root) {
  for (uint32_t v = 0; v < s.net.n; v++) {
    s.up[v] = s.first[v] = none, s.children[v] = s.part[v] = 0, s.other[v] = unreached, s.waiting.place[v] = nowhere;
    s.other_base[v] = s.other_before[v] = none;
  }
  s.order[0] = root, s.vertices = 1, s.rise[root] = none;
  for (uint32_t i = 0; i < s.vertices; i++)
    for (uint32_t v = s.order[i], a = s.net.offsets[v]; a < s.net.offsets[v + 1]; a++) {
      const uint32_t child = s.net.heads[a];
      if (!s.chosen[a] || child == s.up[v]) continue;
      s.up[child] = v, s.rise[child] = a, s.children[v]++, s.order[s.vertices++] = child;
    }
}
DEVICE void collect_regions(elimination &s) {
  s.kept = 0;
  for (uint32_t v = 0; v < s.net.n; v++) {
    s.next[v] = s.first[s.base[v]], s.first[s.base[v]] = v;
    for (uint32_t a = s.net.offsets[v]; a < s.net.offsets[v + 1]; a++)
      if (v < s.net.heads[a] && s.base[v] != s.base[s.net.heads[a]]) s.border[s.kept++] = a;
  }
}
DEVICE bool is_key(const elimination &s, uint32_t v) { return s.net.is_terminal[v] || s.children[v] != 1; }
DEVICE bool can_go(const elimination &s, uint32_t v) { return !s.net.is_terminal[v] && s.children[v] > 1; }
// Takes a key vertex out: the parts of the tree's vertices become `outside`, or the number of their component, of which
// 0 has the root. Returns the weight of the key paths.
DEVICE uint64_t take_out(elimination &s, uint32_t key) {
  for (uint32_t i = 0; i < s.vertices; i++) s.part[s.order[i]] = 0;
  s.part[key] = outside, s.parts = 1;
  uint64_t weight = s.net.weights[s.rise[key]];
  for (uint32_t v = s.up[key]; !is_key(s, v); v = s.up[v]) s.part[v] = outside, weight += s.net.weights[s.rise[v]];
  bool below = false;  // `order` has the key vertex before all that is below it
  for (uint32_t i = 0; i < s.vertices; i++) {
    const uint32_t v = s.order[i];
    if (v == key) below = true;
    if (!below || v == key || s.part[v] == outside) continue;
    const uint32_t upper = s.part[s.up[v]];
    s.part[v] = upper;
    if (upper != outside) continue;
    weight += s.net.weights[s.rise[v]];
    if (is_key(s, v)) s.part[v] = s.parts++;
  }
  for (uint32_t p = 0; p < s.parts; p++) s.top[p] = p;
  return weight;
}
DEVICE bool lost_base(const elimination &s, uint32_t v) { return s.part[s.base[v]] == outside; }
DEVICE uint64_t way(const elimination &s, uint32_t v) { return lost_base(s, v) ? s.other[v] : s.distance[v]; }
DEVICE uint32_t base_of(const elimination &s, uint32_t v) { return lost_base(s, v) ? s.other_base[v] : s.base[v]; }
DEVICE void improve(elimination &s, uint32_t v, uint64_t offered, uint32_t from, uint32_t base) {
  if (offered >= s.other[v]) return;
  s.other[v] = offered, s.other_before[v] = from, s.other_base[v] = base;
  offer(s.waiting, v);
}
// Finds other bases for the vertices that have lost theirs, and adds their arcs to the border.
DEVICE void find_other_bases(elimination &s) {
  s.size = s.kept;
  for (uint32_t i = 0; i < s.vertices; i++)
    for (uint32_t v = s.part[s.order[i]] == outside ? s.first[s.order[i]] : none; v != none; v = s.next[v])
      for (uint32_t a = s.net.offsets[v]; a < s.net.offsets[v + 1]; a++) {
        const uint32_t w = s.net.heads[a];
        if (!lost_base(s, w)) improve(s, v, s.distance[w] + s.net.weights[a], w, s.base[w]);
        if (lost_base(s, w) && v < w && s.base[v] == s.base[w]) s.border[s.size++] = a;
      }
  while (s.waiting.size) {
    const uint32_t v = take(s.waiting);
    for (uint32_t a = s.net.offsets[v]; a < s.net.offsets[v + 1]; a++)
      if (lost_base(s, s.net.heads[a])) improve(s, s.net.heads[a], s.other[v] + s.net.weights[a], v, s.other_base[v]);
  }
}
// Makes `other` far away again, for the next key vertex.
DEVICE void forget(elimination &s) {
  for (uint32_t i = 0; i < s.vertices; i++)
    for (uint32_t v = s.part[s.order[i]] == outside ? s.first[s.order[i]] : none; v != none; v = s.next[v])
      s.other[v] = unreached;
}
DEVICE uint64_t length(const elimination &s, uint32_t a) {
  return way(s, s.tails[a]) + s.net.weights[a] + way(s, s.net.heads[a]);
}
DEVICE uint32_t part_of(const elimination &s, uint32_t v) {
  uint32_t p = s.part[base_of(s, v)];
  while (s.top[p] != p) p = s.top[p];
  return p;
}
DEVICE void note(elimination &s, uint32_t part, uint32_t a) {
  const uint32_t b = s.link[part];
  if (b == none || length(s, a) < length(s, b) || (length(s, a) == length(s, b) && a < b)) s.link[part] = a;
}
// Joins all components by shortest arcs, and writes these parts - 1 arcs to `arcs`. Returns the sum of their lengths.
// If the sum reaches `limit`, it stops there and returns what it has.
DEVICE uint64_t joined(elimination &s, uint64_t limit, uint32_t *arcs) {
  uint64_t sum = 0;
  for (uint32_t count = 0; count + 1 < s.parts && sum < limit;) {
    for (uint32_t p = 0; p < s.parts; p++) s.link[p] = none;
    for (uint32_t i = 0; i < s.size; i++) {
      const uint32_t a = s.border[i], x = part_of(s, s.tails[a]), y = part_of(s, s.net.heads[a]);
      if (x != y) note(s, x, a), note(s, y, a);
    }
    for (uint32_t p = 0; p < s.parts; p++) {
      const uint32_t a = s.link[p];
      if (a == none) continue;
      const uint32_t x = part_of(s, s.tails[a]), y = part_of(s, s.net.heads[a]);
      if (x == y) continue;
      s.top[x] = y, sum += length(s, a), arcs[count++] = a;
    }
  }
  return sum;
}
// The moves of a pass: how much each saves, and where its two lists of vertex pairs end in `pairs` (room): the edges of
// the key paths, and those of the paths in their place. `count`: how many there are.
struct eliminations {
  uint32_t room;
  uint64_t *gains;
  uint32_t *ends, *pairs, *count;
};
DEVICE void write(const eliminations &out, uint32_t &used, uint32_t v, uint32_t w) {
  if (used + 2 <= out.room) out.pairs[used] = v, out.pairs[used + 1] = w;
  used += 2;
}
DEVICE void write_path(const elimination &s, const eliminations &out, uint32_t &used, uint32_t x) {
  for (uint32_t v = x, w; (w = lost_base(s, v) ? s.other_before[v] : s.before[v]) != none; v = w)
    write(out, used, v, w);
}
// Writes a move's lists from `used` on. Returns whether there was room.
DEVICE bool write_move(const elimination &s, const eliminations &out, uint32_t &used, uint32_t *ends,
                       const uint32_t *arcs) {
  const uint32_t begin = used;
  for (uint32_t i = 1; i < s.vertices; i++) {
    const uint32_t v = s.order[i];
    if (s.part[v] == outside || s.part[s.up[v]] == outside) write(out, used, v, s.up[v]);
  }
  ends[0] = used;
  for (uint32_t i = 0; i + 1 < s.parts; i++) {
    write(out, used, s.tails[arcs[i]], s.net.heads[arcs[i]]);
    write_path(s, out, used, s.tails[arcs[i]]);
    write_path(s, out, used, s.net.heads[arcs[i]]);
  }
  ends[1] = used;
  if (used <= out.room) return true;
  used = begin;
  return false;
}
// `chosen`: 1 for the tree's arcs, both ways; its root is a terminal. `words` (13 n + m) and `distances` (n) are scratch.
KERNEL key_vertex_find(network net, uint32_t root, uint64_t budget, const uint32_t *tails, const uint32_t *chosen,
                       const uint64_t *distance, const uint32_t *before, const uint32_t *base, uint32_t *words,
                       uint64_t *distances, eliminations found) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  const uint32_t n = net.n;
  elimination s = {net, tails, chosen, base, before, distance};
  uint32_t **const tables[] = {&s.up,   &s.rise,       &s.children,     &s.order, &s.first, &s.next,
                               &s.part, &s.other_base, &s.other_before, &s.top,   &s.link};
  for (uint32_t i = 0; i < 11; i++) *tables[i] = words + (size_t)i * n;
  s.other = distances, s.waiting = {0, words + (size_t)11 * n, words + (size_t)12 * n, distances};
  s.border = words + (size_t)13 * n;
  uint32_t *arcs = s.border + net.offsets[n] / 2;
  walk(s, root);
  collect_regions(s);
  uint64_t keys = 0;
  for (uint32_t i = 1; i < s.vertices; i++) keys += can_go(s, s.order[i]);
  uint32_t count = 0, used = 0;
  for (uint32_t i = 1; i < s.vertices && keys * (s.kept + s.vertices) <= budget; i++) {
    if (!can_go(s, s.order[i])) continue;
    const uint64_t own = take_out(s, s.order[i]);
    find_other_bases(s);
    const uint64_t sum = joined(s, own, arcs);
    if (sum < own && write_move(s, found, used, &found.ends[2 * count], arcs)) found.gains[count++] = own - sum;
    forget(s);
  }
  *found.count = count;
}
EXPORT_KERNEL(key_vertex_find)
