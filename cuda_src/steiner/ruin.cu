// Local search of a Steiner tree by ruin and recreate (G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck, Journal
// of Computational Physics 159, 2000). A step takes some neighbouring key vertices out of the tree, with the key paths
// that end there (ruin), and joins the components that this leaves again by shortest paths (recreate).
//
// Recreate is Kruskal's algorithm on components that grow: the two nearest components are always joined next, by the
// shortest path between them, and the vertices of this path belong to the new component. All components search at once
// (one heap). A vertex of one component with a neighbour in another one offers its shortest link. No link that has not
// been found is shorter than twice the distance on top of the heap. So both ends of a link that is taken are no farther
// than that top. All predecessors are strictly nearer, since weights are above 0, so none of them is still waiting.
// Lengths are perturbed, by other factors in each step, so that other trees are found. The tree is weighed by the true
// weights.
//
// A tree that is somewhat heavier is accepted, too: by at most a random part of a limit, which falls to 0 (threshold
// accepting: G. Dueck, T. Scheuer, Journal of Computational Physics 90, 1990).
//
// The tree is a forest of parents without a fixed root. A step touches only what is near: the components' vertices near
// the gap are the first sources; others become sources when a search arrives. The component of such a vertex is found
// on the way to the root. Each block makes a search of its own, with its first thread, on the CPU whatever the device.
//
// Layout: an arc is an entry of the rows; `back` of an arc is its opposite. Entries that are valid in a single step are
// marked with its number. Memory of a search: 96 bytes for each vertex.
#include "steiner/ruin.cuh"

constexpr uint32_t near = 4;  // sources at the begin of a step, for each vertex that is taken out
constexpr uint32_t step_work = 100, arc_work = 4;

DEVICE void see(ruin &s, uint32_t v, uint64_t distance, uint32_t owner, uint32_t before) {
  s.at[v].seen = s.step, s.distance[v] = distance, s.at[v].owner = owner, s.at[v].before = before;
  offer(s.waiting, v);
}
// Makes sources of the components' vertices near their ends, as many as `most`.
DEVICE void begin_search(ruin &s, uint32_t most) {
  uint32_t *queue = s.arcs, size = 0;
  for (; size < s.ends; size++) queue[size] = s.end[size], see(s, queue[size], 0, size, none);
  for (uint32_t i = 0; i < size && size < most; i++)
    for (uint32_t u = queue[i], a = s.net.offsets[u]; a < s.net.offsets[u + 1] && size < most; a++) {
      const uint32_t v = s.net.heads[a];
      if (s.at[v].seen == s.step || !in_tree(s, a) || is_gone(s, v)) continue;
      assign(s, v, s.at[u].owner), see(s, v, 0, s.at[u].owner, none);
      queue[size++] = v;
    }
}
// Offers a link of u to another component, unless u offers a shorter one.
DEVICE void offer_link(ruin &s, uint32_t u, uint32_t arc, uint64_t length) {
  if (arc == none || (s.links.place[u] != nowhere && s.length[u] <= length)) return;
  s.length[u] = length, s.link[u] = arc;
  offer(s.links, u);
}
// Scans the row of a settled vertex. A vertex of the tree is a source as soon as a search from another component
// arrives. A search from its own component reaches it at a distance, so that it is scanned after nearer ones, but its
// paths begin there: it has no predecessor.
DEVICE void scan(ruin &s, uint32_t u) {
  uint64_t least = ~0ull;
  uint32_t arc = none;
  s.work += arc_work * (s.net.offsets[u + 1] - s.net.offsets[u]);
  for (uint32_t a = s.net.offsets[u]; a < s.net.offsets[u + 1]; a++) {
    const uint32_t v = s.net.heads[a];
    const uint64_t there = s.distance[u] + perturbed(s, a);
    const bool kept = s.at[v].place != nowhere && !is_gone(s, v);
    if (kept) {
      const uint32_t part = part_of(s, v);
      if (s.at[v].seen != s.step) s.distance[v] = ~0ull, s.at[v].owner = part;
      if (s.distance[v] && merged_part(s, u) != merged_part(s, v)) see(s, v, 0, part, none);
    }
    if ((s.at[v].seen != s.step && !kept) || there < s.distance[v])
      see(s, v, there, s.at[u].owner, kept ? none : s.back[a]);
    else if (there + s.distance[v] < least && merged_part(s, u) != merged_part(s, v))
      least = there + s.distance[v], arc = a;
  }
  offer_link(s, u, arc, least);
}
// Offers the best link of a vertex whose last one leads to its own component by now.
DEVICE void link_again(ruin &s, uint32_t u) {
  uint64_t least = ~0ull;
  uint32_t arc = none;
  s.work += s.net.offsets[u + 1] - s.net.offsets[u];
  for (uint32_t a = s.net.offsets[u]; a < s.net.offsets[u + 1]; a++) {
    const uint32_t v = s.net.heads[a];
    if (s.at[v].seen != s.step || merged_part(s, u) == merged_part(s, v)) continue;
    const uint64_t length = s.distance[u] + perturbed(s, a) + s.distance[v];
    if (length < least) least = length, arc = a;
  }
  offer_link(s, u, arc, least);
}
// Writes the path through an arc from base to base.
DEVICE void write_path(ruin &s, uint32_t arc) {
  const uint32_t u = s.tails[arc], v = s.net.heads[arc], begin = s.used;
  for (uint32_t w = u; s.at[w].before != none; w = s.net.heads[s.at[w].before])
    s.arcs[s.used++] = s.back[s.at[w].before];
  for (uint32_t i = begin, j = s.used; i + 1 < j; i++) {
    j--;
    const uint32_t a = s.arcs[i];
    s.arcs[i] = s.arcs[j], s.arcs[j] = a;
  }
  s.arcs[s.used++] = arc;
  for (uint32_t w = v; s.at[w].before != none; w = s.net.heads[s.at[w].before]) s.arcs[s.used++] = s.at[w].before;
  s.path_end[s.paths++] = s.used;
}
// Joins two components by the link of a vertex, and makes the vertices of the path sources. Returns its weight, or 0 if
// the link leads to its own component.
DEVICE uint64_t join(ruin &s, uint32_t u) {
  const uint32_t x = merged_part(s, u), y = merged_part(s, s.net.heads[s.link[u]]), begin = s.used;
  if (x == y) {
    link_again(s, u);
    return 0;
  }
  s.top[x] = y;
  write_path(s, s.link[u]);
  uint64_t weight = 0;
  for (uint32_t i = begin; i < s.used; i++) {
    weight += s.net.weights[s.arcs[i]];
    const uint32_t w = s.net.heads[s.arcs[i]];
    if (i + 1 < s.used) see(s, w, 0, s.at[w].owner, none);
  }
  link_again(s, u);
  return weight;
}
// Joins all components. Returns the weight of the new paths, or more than `most` if they weigh more.
DEVICE uint64_t recreated(ruin &s, uint64_t most) {
  uint64_t weight = 0;
  s.paths = s.used = 0;
  while (s.paths + 1 < s.ends && weight <= most) {
    if (s.waiting.size && s.distance[s.waiting.vertices[0]] / s.factor > most - weight &&
        (!s.links.size || s.length[s.links.vertices[0]] / (2 * s.factor) > most - weight))
      return ~0ull;
    const bool found =
        s.links.size && (!s.waiting.size || s.length[s.links.vertices[0]] <= 2 * s.distance[s.waiting.vertices[0]]);
    if (found)
      weight += join(s, take(s.links));
    else if (s.waiting.size)
      scan(s, take(s.waiting));
    else
      return ~0ull;
  }
  return weight;
}
DEVICE void forget(ruin &s) {
  while (s.waiting.size) s.waiting.place[s.waiting.vertices[--s.waiting.size]] = nowhere;
  while (s.links.size) s.links.place[s.links.vertices[--s.links.size]] = nowhere;
}
struct plan {
  uint64_t end, whole;  // the work after this launch, and after all launches
  uint32_t factor;  // of lengths
  uint32_t tolerance;  // at first, in 65536ths of the weight that a step takes out; at the end it is 0
  uint32_t keys;  // the most key vertices that a step takes out
};
struct scratch {
  uint32_t *words;
  uint64_t *lengths;
};
DEVICE void place_tables(ruin &s, const scratch &space, size_t search) {
  const uint32_t n = s.net.n;
  uint32_t *words = space.words + search * 20 * n;
  s.at = (known *)words;
  uint32_t **const tables[] = {
      &s.list,           &s.end,         &s.top, &s.out, &s.path_end, &s.waiting.vertices, &s.waiting.place,
      &s.links.vertices, &s.links.place, &s.link};
  for (uint32_t i = 0; i < 10; i++) *tables[i] = words + (size_t)(8 + i) * n;
  s.arcs = words + (size_t)18 * n;
  s.distance = space.lengths + search * 2 * n, s.length = s.distance + n;
  s.waiting.keys = s.distance, s.links.keys = s.length;
}
// Takes some key vertices out, and joins what is left, if that is not much heavier.
DEVICE void make_step(ruin &s, const plan &how) {
  s.step++;
  const uint64_t old = ruin_some(s, 1 + random_below(s, how.keys));
  s.noise = (uint64_t)how.factor * random_below(s, 4) / 4;
  const double left = s.work < how.whole ? (double)(how.whole - s.work) / (double)how.whole : 0;
  const double share = left * left * how.tolerance / 65536 * random_below(s, 1 << 16) / 65536;
  const uint64_t most = old + (uint64_t)(share * (double)old);
  begin_search(s, 16 + near * s.removed);
  if (recreated(s, most) <= most) commit(s);
  forget(s);
  s.work += step_work;
}
// A row of `chosen` has `row` words with the bits of a search's tree; `edge` has the edge of each arc. `words` (20 n)
// and `lengths` (2 n) are scratch of each search. `rise`: of its new tree, the arc from each vertex to its parent, or
// `none`. `begin` and `work`: what each search has done so far, before and after.
KERNEL ruin_recreate(network net, uint32_t root, plan how, const uint32_t *tails, const uint32_t *back,
                     const uint32_t *edge, uint32_t row, const uint32_t *chosen, const uint64_t *seeds,
                     const uint64_t *begin, scratch space, uint32_t *rise, uint64_t *work) {
  if (threadIdx.x > 0) return;
  const size_t search = blockIdx.x;
  ruin s = {net, tails, back, how.factor};
  place_tables(s, space, search);
  walk(s, root, {edge, chosen + search * row});
  s.random = mixed(seeds[search]), s.work = begin[search];
  while (s.work < how.end) make_step(s, how);
  for (uint32_t v = 0; v < net.n; v++) rise[search * net.n + v] = s.at[v].rise;
  work[search] = s.work;
}
EXPORT_KERNEL(ruin_recreate)
