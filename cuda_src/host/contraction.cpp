// The order and the arcs of a contraction hierarchy, from the topology of a graph alone (after Dibbelt, Strasser and
// Wagner, Customizable Contraction Hierarchies, 2014). hierarchy.cpp says what it is for, and does the rest.
//
// Vertices are contracted one after the other, the one with the smallest key 8 degree + 2 depth first: it is taken out,
// and its neighbours are joined to a clique. Its arcs to them are arcs of the hierarchy: each leads from a lower to a
// higher vertex. The depth of a vertex is the length of the longest chain of neighbours below it; it spreads contraction
// over the graph, so that there are fewer levels. Of vertices with the same key the one that got it last comes first
// (257 levels for New York; 392 with the first one first). All follows from the graph and its numbering.
//
// `work` counts steps, each about a nanosecond: one for each entry of the lists of neighbours that is joined, and
// `arc_steps` for each arc of the hierarchy, which has to get its place and its weight too. Graphs without small
// separators become dense and take any amount of work. So contraction forecasts at some points what is left to do, and
// gives up
// - if the forecast is more than `worth`, the steps that the hierarchy would save (`pays`);
// - if the lists have grown between two forecasts, unless it has cost little or surely pays (`pays`);
// - if it has taken one and a half times `worth`;
// - if the lists outgrow their memory.
//
// Memory: the lists of neighbours stand in one array, each in a place of 2^bits entries; a list that outgrows its place
// moves to one of twice the size, and leaves the old place to others.
#include "host/function.hpp"

constexpr uint32_t none = ~0u;  // no vertex, no place
constexpr uint32_t most_keys = 1 << 16, most_bits = 32;
constexpr uint64_t arc_steps = 300;  // measured; choice.py counts in the same steps
enum ending : uint64_t { finished, too_much_work, out_of_room };

// The neighbours of each vertex that are not contracted yet. The lists throw `full` when they outgrow their room.
struct neighbour_lists {
  struct full {};
  const size_t room;
  vector<uint32_t> entry, begin, count;
  vector<uint8_t> bits;
  vector<uint32_t> spare;  // the first spare place of each size, or `none`: each place begins with the next one

  neighbour_lists(uint32_t n, size_t room) : room(room), begin(n), count(n), bits(n, 1), spare(most_bits, none) {
    entry.reserve(room);
    for (uint32_t v = 0; v < n; v++) begin[v] = take_place(1);
  }
  uint32_t *of(uint32_t v) { return &entry[begin[v]]; }
  void append(uint32_t v, uint32_t u) {
    if (count[v] == 1u << bits[v]) {
      const uint32_t old = begin[v], place = take_place(bits[v] + 1);
      for (uint32_t i = 0; i < count[v]; i++) entry[place + i] = entry[old + i];
      entry[old] = spare[bits[v]], spare[bits[v]] = old;
      begin[v] = place, bits[v]++;
    }
    entry[begin[v] + count[v]++] = u;
  }

 private:
  // Returns a place of 2^size entries.
  uint32_t take_place(uint32_t size) {
    const uint32_t found = spare[size], behind = entry.size();
    if (found != none) {
      spare[size] = entry[found];
      return found;
    }
    if (room - behind < 1u << size) throw full();
    entry.resize(behind + (1u << size));
    return behind;
  }
};
// Vertices that wait to be contracted, in one doubly linked stack for each key.
struct key_stacks {
  vector<uint32_t> key, before, after, first;
  uint32_t least = 0;  // no vertex has a smaller key

  explicit key_stacks(uint32_t n) : key(n), before(n), after(n), first(most_keys, none) {}
  void enter(uint32_t v, uint32_t its_key) {
    const uint32_t next = first[its_key];
    key[v] = its_key, before[v] = none, after[v] = next, first[its_key] = v;
    if (next != none) before[next] = v;
    least = its_key < least ? its_key : least;
  }
  void leave(uint32_t v) {
    (before[v] == none ? first[key[v]] : after[before[v]]) = after[v];
    if (after[v] != none) before[after[v]] = before[v];
  }
  uint32_t take() {
    while (first[least] == none) least++;
    const uint32_t v = first[least];
    leave(v);
    return v;
  }
};
// The arcs that leave and that enter each vertex, by their other ends. An undirected graph has those that leave alone.
struct topology {
  uint32_t n;
  const uint32_t *offsets, *heads;
  NULLABLE const uint32_t *in_offsets;
  NULLABLE const uint32_t *tails;
};
struct contraction {
  const uint32_t n;
  neighbour_lists near;
  key_stacks waiting;
  vector<uint32_t> depth, mark;  // a list that is read has the mark `stamp`
  uint32_t stamp;
  uint64_t work = 0, entries = 0;  // steps so far, and the entries in the lists of all vertices that wait

  contraction(const topology &graph, size_t room) : n(graph.n), near(n, room), waiting(n), depth(n), mark(n), stamp(n) {
    for (uint32_t v = 0; v < n; v++) {
      list_ends(v, graph.offsets, graph.heads);
      if (graph.tails) list_ends(v, graph.in_offsets, graph.tails);
      waiting.enter(v, key_of(v));
      entries += near.count[v];
    }
  }
  // Fills `order`, the vertices as they are contracted, and leaves in `near` the neighbours of each that came later.
  ending run(uint64_t worth, uint32_t *order) {
    uint64_t before = entries;
    for (uint32_t k = 0, look = n / 2; k < n; k++) {
      order[k] = waiting.take();
      contract(order[k]);
      if (work / 3 > worth / 2) return too_much_work;
      if (n - k > look || n - k == 1) continue;
      if (!pays(n - k - 1, before, worth)) return too_much_work;
      before = entries, look = look / 4 * 3;
    }
    return finished;
  }

 private:
  uint32_t key_of(uint32_t v) const {
    const uint64_t key = 8 * (uint64_t)near.count[v] + 2 * (uint64_t)depth[v];
    return key < most_keys ? (uint32_t)key : most_keys - 1;
  }
  // Lists the other ends of arcs of v, each once.
  void list_ends(uint32_t v, const uint32_t *offsets, const uint32_t *ends) {
    for (uint32_t a = offsets[v]; a < offsets[v + 1]; a++) {
      if (mark[ends[a]] == v + 1) continue;
      mark[ends[a]] = v + 1;
      near.append(v, ends[a]);
    }
  }
  // Contracts a vertex: joins its neighbours to a clique.
  void contract(uint32_t v) {
    entries -= near.count[v];
    for (uint32_t i = 0; i < near.count[v]; i++) {
      const uint32_t u = near.of(v)[i];
      work += arc_steps + near.count[u] + near.count[v];
      entries -= near.count[u];
      join(v, u);
      entries += near.count[u];
      depth[u] = depth[u] > depth[v] ? depth[u] : depth[v] + 1;
      const uint32_t key = key_of(u);
      if (key != waiting.key[u]) waiting.leave(u), waiting.enter(u, key);
    }
  }
  // Takes v out of the list of u, one of its neighbours, and puts the others into it.
  void join(uint32_t v, uint32_t u) {
    uint32_t *list = near.of(u), *marks = mark.data(), kept = 0;
    const uint32_t *others = near.of(v), now = ++stamp, count = near.count[u];
    marks[u] = now;
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t w = list[i];
      marks[w] = now;
      if (w != v) list[kept++] = w;
    }
    near.count[u] = kept;
    for (uint32_t i = 0; i < near.count[v]; i++)
      if (marks[others[i]] != now) near.append(u, others[i]);
  }
  // Returns whether it pays to go on with `left` vertices. `before`: the entries at the last look, when a third more
  // vertices were left (twice as many at the first look).
  //
  // Each arc that is left stands in two lists. In road networks it leads to about 4 arcs of the hierarchy, whatever
  // part of the vertices is left (3.6 to 4.4 with a half, a quarter and an eighth of New York, BAY, NE), which makes 2
  // for each entry. The lists can only grow together, so those that are left take at least 2 entries^2 / left more
  // steps. Where the lists grow from one look to the next, as in grids and random graphs, more arcs are to come than
  // that. Then contraction goes on only while it has cost little or is sure to pay. What it has cost is lost either way,
  // so it counts in no other case.
  bool pays(uint64_t left, uint64_t before, uint64_t worth) const {
    const uint64_t to_come = arc_steps * 2 * entries + 2 * entries / left * entries;
    if (to_come > worth) return false;
    return entries <= before || work <= worth / 8 || work + to_come <= worth / 2;
  }
};
// Writes the lists of neighbours in order: the arcs of the k-th vertex are head[first[k]] to head[first[k + 1] - 1],
// ascending, by rank.
void sort_arcs(const contraction &done, const uint32_t *order, vector<uint32_t> &first, vector<uint32_t> &head) {
  const uint32_t n = done.n;
  const neighbour_lists &near = done.near;
  vector<uint32_t> rank(n), next(n + 1), begin(n);
  for (uint32_t k = 0; k < n; k++) rank[order[k]] = k;
  first.assign(n + 1, 0);
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t v = order[k];
    begin[k] = first[k], first[k + 1] = first[k] + near.count[v];
    for (uint32_t i = 0; i < near.count[v]; i++) next[rank[near.entry[near.begin[v] + i]] + 1]++;
  }
  for (uint32_t k = 0; k < n; k++) next[k + 1] += next[k];
  vector<uint32_t> below(first[n]);  // the lower ends of the arcs to each vertex, one vertex after the other
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 0, v = order[k]; i < near.count[v]; i++) below[next[rank[near.entry[near.begin[v] + i]]]++] = k;
  head.resize(first[n]);
  for (uint32_t u = 0, i = 0; u < n; u++)
    for (; i < next[u]; i++) head[begin[below[i]]++] = u;
}
// Contracts a graph, with `room` entries for the lists of neighbours and `most` arcs of the hierarchy. `report`: how it
// ended, and the work. `first` and `head` are empty if it gave up.
FUNCTION contraction_contract(topology graph, uint64_t worth, uint64_t room, uint64_t most, uint32_t *order,
                              uint64_t *report, result<uint32_t> &first, result<uint32_t> &head) {
  report[0] = out_of_room, report[1] = 0;
  try {
    contraction made(graph, room);
    report[0] = made.run(worth, order), report[1] = made.work;
    uint64_t arcs = 0;
    for (uint32_t v = 0; v < graph.n; v++) arcs += made.near.count[v];
    if (report[0] == finished && arcs > most) report[0] = out_of_room;
    if (report[0] == finished) sort_arcs(made, order, first, head);
  } catch (const neighbour_lists::full &) {
  }
}
EXPORT_FUNCTION(contraction_contract)
