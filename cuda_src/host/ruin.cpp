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
// on the way to the root. Several searches of their own share the threads.
//
// Layout: an arc is an entry of the rows; `back` of an arc is its opposite. Entries that are valid in a single step are
// marked with its number. Memory of a search: 32 bytes for each vertex of the graph in `known`, 32 in the heaps and
// their keys, 4 in the links, and up to 12 in lists.
#include "host/network.hpp"
#include "host/share.hpp"

constexpr uint32_t gone = ~0u - 1;  // the component of a vertex that is taken out
constexpr uint32_t near = 4;  // sources at the begin of a step, for each vertex that is taken out
constexpr uint32_t step_work = 100, arc_work = 4;

struct plan {
  uint64_t end, whole;  // the work after this call, and after all calls
  uint32_t factor;  // of lengths
  uint32_t tolerance;  // at first, in 65536ths of the weight that a step takes out; at the end it is 0
  uint32_t keys;  // the most key vertices that a step takes out
};
// The arcs of the graph: tail, opposite, edge.
struct arcs {
  const uint32_t *tails, *back, *edge;
};
// What is known of a vertex, together in memory.
struct known {
  uint32_t rise = none, degree = 0;  // of a vertex of the tree: the arc to its parent, the number of its neighbours
  uint32_t place = nowhere;  // and its place in the list
  uint32_t mark = 0, part;  // the step in which its component is known; the component
  uint32_t seen = 0;  // the step in which a search has seen the vertex
  uint32_t owner, before;  // the component of the search, before unions; the arc to the predecessor, or none
};
inline uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

class ruin {
 public:
  uint64_t work;

  // Begins with the tree of the edges whose bits are set in `chosen`.
  ruin(const network &net, const arcs &all, const plan &how, uint32_t root, const uint32_t *chosen, uint64_t seed,
       uint64_t work)
      : work(work),
        net(net),
        all(all),
        how(how),
        random(mixed(seed)),
        at(net.n),
        distance(net.n),
        length(net.n),
        link(net.n),
        waiting(net.n, distance.data()),
        links(net.n, length.data()) {
    add_vertex(root);
    for (size_t i = 0; i < list.size(); i++) {
      const uint32_t v = list[i];
      for (uint32_t a : arcs_of(net, v)) {
        if (!(chosen[all.edge[a] >> 5] >> (all.edge[a] & 31) & 1)) continue;
        at[v].degree++;
        if (a == at[v].rise) continue;
        at[net.heads[a]].rise = all.back[a];
        add_vertex(net.heads[a]);
      }
    }
  }
  void run() {
    while (work < how.end) make_step();
  }
  uint32_t rise(uint32_t v) const { return at[v].rise; }

 private:
  const network net;
  const arcs all;
  const plan how;
  uint64_t random;
  uint32_t noise = 0, step = 0;  // a length is weight * (factor + less than `noise`)
  vector<known> at;
  vector<uint32_t> list;  // the vertices of the tree
  vector<uint32_t> ends;  // a vertex of each component; those from number `outer` on are terminals, each alone
  vector<uint32_t> top;  // of components: union-find
  uint32_t root_part = none, outer = 0;  // the component with the root
  vector<uint32_t> out;  // vertices that are taken out, and single terminals
  vector<uint64_t> distance, length;  // of vertices that are seen, and of their shortest links to other components
  vector<uint32_t> link;  // the middle arc
  vector<uint32_t> paths, path_ends;  // new paths, as lists of arcs
  waiting_vertices<uint64_t> waiting, links;

  // ---- the tree ----

  uint32_t random_below(uint32_t limit) {
    random += 0x9E3779B97F4A7C15ull;
    return (mixed(random) >> 32) * limit >> 32;
  }
  uint32_t parent(uint32_t v) const { return at[v].rise == none ? none : net.heads[at[v].rise]; }
  bool in_tree(uint32_t a) const { return at[all.tails[a]].rise == a || at[net.heads[a]].rise == all.back[a]; }
  bool is_key(uint32_t v) const { return net.is_terminal[v] || at[v].degree != 2; }
  bool is_gone(uint32_t v) const { return at[v].mark == step && at[v].part == gone; }
  void assign(uint32_t v, uint32_t part) { at[v].mark = step, at[v].part = part; }
  void add_vertex(uint32_t v) {
    if (at[v].place != nowhere) return;
    at[v].place = list.size(), list.push_back(v);
  }
  void drop_vertex(uint32_t v) {
    const uint32_t last = list.back();
    list.pop_back();
    if (last != v) list[at[v].place] = last, at[last].place = at[v].place;
    at[v].place = nowhere;
  }

  // ---- ruin ----

  void take_out(uint32_t v) { assign(v, gone), out.push_back(v); }
  // Returns the arc of the tree from v, which has two neighbours in the tree, that does not lead to `from`.
  uint32_t onward(uint32_t v, uint32_t from) const {
    if (at[v].rise != none && parent(v) != from) return at[v].rise;
    for (uint32_t a = net.offsets[v];; a++)
      if (net.heads[a] != from && in_tree(a)) return a;
  }
  // Takes out a key vertex with its key paths, whose other ends join the list of ends. Returns their weight.
  uint64_t ruined(uint32_t key) {
    uint64_t weight = 0;
    take_out(key);
    work += net.offsets[key + 1] - net.offsets[key];
    for (uint32_t a : arcs_of(net, key)) {
      if (!in_tree(a) || is_gone(net.heads[a])) continue;
      uint32_t last = a;
      for (; !is_key(net.heads[last]); last = onward(net.heads[last], all.tails[last]))
        take_out(net.heads[last]), weight += net.weights[last];
      weight += net.weights[last];
      ends.push_back(net.heads[last]);
    }
    return weight;
  }
  // Takes out up to `keys` neighbouring key vertices, and numbers the components. Returns the weight of what is removed.
  uint64_t ruin_some(uint32_t keys) {
    out.clear(), ends.clear();
    uint32_t first = list[random_below(list.size())];
    while (!is_key(first) && at[first].rise != none) first = parent(first);
    uint64_t weight = ruined(first);
    for (uint32_t count = 1; count < keys && ends.size(); count++) {
      const uint32_t i = random_below(ends.size()), next = ends[i];
      ends[i] = ends.back(), ends.pop_back();
      weight += ruined(next);
    }
    root_part = none, outer = ends.size();
    for (uint32_t i = 0; i < outer; i++) {
      assign(ends[i], i);
      if (at[ends[i]].rise == none || !is_gone(parent(ends[i]))) root_part = i;
    }
    for (uint32_t v : out)
      if (net.is_terminal[v]) ends.push_back(v);
    for (uint32_t i = outer; i < ends.size(); i++) assign(ends[i], i);
    top.resize(ends.size());
    for (uint32_t i = 0; i < ends.size(); i++) top[i] = i;
    return weight;
  }

  // ---- recreate ----

  // Returns the perturbed length of an arc, the same both ways.
  uint64_t perturbed(uint32_t a) const {
    const uint32_t edge = a < all.back[a] ? a : all.back[a];
    return net.weights[a] * (how.factor + ((mixed(random + edge) >> 48) * noise >> 16));
  }
  // Returns the component of a vertex of the tree that is not taken out.
  uint32_t part_of(uint32_t vertex) {
    uint32_t v = vertex, found = root_part;
    for (; v != none && at[v].mark != step; v = parent(v)) work++;
    if (v != none) found = at[v].part;
    for (v = vertex; v != none && at[v].mark != step; v = parent(v)) assign(v, found);
    return found;
  }
  // Returns the component of a vertex after all unions so far.
  uint32_t merged_part(uint32_t v) {
    uint32_t part = at[v].owner;
    while (top[part] != part) part = top[part] = top[top[part]];
    return part;
  }
  void see(uint32_t v, uint64_t here, uint32_t owner, uint32_t before) {
    at[v].seen = step, distance[v] = here, at[v].owner = owner, at[v].before = before;
    offer(waiting, v);
  }
  // Makes sources of the components' vertices near their ends, as many as `most`.
  void begin_search(uint32_t most) {
    vector<uint32_t> &queue = paths;  // empty between two steps
    queue = ends;
    for (uint32_t i = 0; i < ends.size(); i++) see(ends[i], 0, i, none);
    for (size_t i = 0; i < queue.size() && queue.size() < most; i++)
      for (uint32_t u = queue[i], a = net.offsets[u]; a < net.offsets[u + 1] && queue.size() < most; a++) {
        const uint32_t v = net.heads[a];
        if (at[v].seen == step || !in_tree(a) || is_gone(v)) continue;
        assign(v, at[u].owner), see(v, 0, at[u].owner, none);
        queue.push_back(v);
      }
  }
  // Offers a link of u to another component, unless u offers a shorter one.
  void offer_link(uint32_t u, uint32_t arc, uint64_t its_length) {
    if (arc == none || (links.place[u] != nowhere && length[u] <= its_length)) return;
    length[u] = its_length, link[u] = arc;
    offer(links, u);
  }
  // Scans the row of a settled vertex. A vertex of the tree is a source as soon as a search from another component
  // arrives. A search from its own component reaches it at a distance, so that it is scanned after nearer ones, but its
  // paths begin there: it has no predecessor.
  void scan(uint32_t u) {
    uint64_t least = ~0ull;
    uint32_t arc = none;
    work += arc_work * (net.offsets[u + 1] - net.offsets[u]);
    for (uint32_t a : arcs_of(net, u)) {
      const uint32_t v = net.heads[a];
      const uint64_t there = distance[u] + perturbed(a);
      const bool kept = at[v].place != nowhere && !is_gone(v);
      if (kept) {
        const uint32_t part = part_of(v);
        if (at[v].seen != step) distance[v] = ~0ull, at[v].owner = part;
        if (distance[v] && merged_part(u) != merged_part(v)) see(v, 0, part, none);
      }
      if ((at[v].seen != step && !kept) || there < distance[v])
        see(v, there, at[u].owner, kept ? none : all.back[a]);
      else if (there + distance[v] < least && merged_part(u) != merged_part(v))
        least = there + distance[v], arc = a;
    }
    offer_link(u, arc, least);
  }
  // Offers the best link of a vertex whose last one leads to its own component by now.
  void link_again(uint32_t u) {
    uint64_t least = ~0ull;
    uint32_t arc = none;
    work += net.offsets[u + 1] - net.offsets[u];
    for (uint32_t a : arcs_of(net, u)) {
      const uint32_t v = net.heads[a];
      if (at[v].seen != step || merged_part(u) == merged_part(v)) continue;
      const uint64_t through = distance[u] + perturbed(a) + distance[v];
      if (through < least) least = through, arc = a;
    }
    offer_link(u, arc, least);
  }
  // Joins two components by the link of a vertex, and makes the vertices of the path sources. Returns its weight, or 0
  // if the link leads to its own component.
  uint64_t join(uint32_t u) {
    const uint32_t middle = link[u], x = merged_part(u), y = merged_part(net.heads[middle]);
    uint64_t weight = 0;
    if (x != y) {
      top[x] = y;
      const size_t begin = paths.size();
      for (uint32_t w = u; at[w].before != none; w = net.heads[at[w].before]) paths.push_back(all.back[at[w].before]);
      for (size_t i = begin, j = paths.size(); i + 1 < j; i++) std::swap(paths[i], paths[--j]);
      paths.push_back(middle);
      for (uint32_t w = net.heads[middle]; at[w].before != none; w = net.heads[at[w].before])
        paths.push_back(at[w].before);
      path_ends.push_back(paths.size());
      for (size_t i = begin; i < paths.size(); i++) {
        weight += net.weights[paths[i]];
        const uint32_t w = net.heads[paths[i]];
        if (i + 1 < paths.size()) see(w, 0, at[w].owner, none);
      }
    }
    link_again(u);
    return weight;
  }
  // Joins all components. Returns the weight of the new paths, or more than `most` if they weigh more.
  uint64_t recreated(uint64_t most) {
    uint64_t weight = 0;
    paths.clear(), path_ends.clear();
    while (path_ends.size() + 1 < ends.size() && weight <= most) {
      const uint64_t nearest = waiting.size ? distance[waiting.vertices[0]] : no_path;
      const uint64_t shortest = links.size ? length[links.vertices[0]] : no_path;
      if (!waiting.size && !links.size) return ~0ull;
      if (waiting.size && nearest / how.factor > most - weight &&
          (!links.size || shortest / (2 * how.factor) > most - weight))
        return ~0ull;
      if (links.size && (!waiting.size || shortest <= 2 * nearest))
        weight += join(take(links));
      else
        scan(take(waiting));
    }
    return weight;
  }

  // ---- the new tree ----

  // Makes v the root of its tree: reverses the arcs on the way to the old root.
  void make_root(uint32_t v) {
    for (uint32_t a = at[v].rise, last = none; v != none;) {
      const uint32_t up = a == none ? none : net.heads[a], next = up == none ? none : at[up].rise;
      at[v].rise = last;
      last = a == none ? none : all.back[a], a = next, v = up;
      work++;
    }
  }
  // Puts a path between two trees in. The one with the shorter way to its root gets a new root.
  void hang(uint32_t begin, uint32_t end) {
    const uint32_t x = all.tails[paths[begin]], y = net.heads[paths[end - 1]];
    uint32_t v = x, w = y;
    while (at[v].rise != none && at[w].rise != none) v = parent(v), w = parent(w), work++;
    const bool first = at[v].rise == none;
    make_root(first ? x : y);
    for (uint32_t i = begin; i < end; i++) {
      const uint32_t a = paths[i], tail = all.tails[a], head = net.heads[a];
      if (first)
        at[tail].rise = a;
      else
        at[head].rise = all.back[a];
      for (uint32_t v : {tail, head}) at[v].degree++, add_vertex(v);
    }
  }
  void commit() {
    for (uint32_t i = 0; i < outer; i++) {
      at[ends[i]].degree--;
      if (i != root_part) at[ends[i]].rise = none;
    }
    for (uint32_t v : out) {
      at[v].rise = none, at[v].degree = 0;
      if (!net.is_terminal[v]) drop_vertex(v);
    }
    uint32_t begin = 0;
    for (uint32_t end : path_ends) hang(begin, end), begin = end;
  }

  // Takes some key vertices out, and joins what is left, if that is not much heavier.
  void make_step() {
    step++;
    const uint64_t old = ruin_some(1 + random_below(how.keys));
    noise = (uint64_t)how.factor * random_below(4) / 4;
    const double left = work < how.whole ? (double)(how.whole - work) / (double)how.whole : 0;
    const double accepted = left * left * how.tolerance / 65536 * random_below(1 << 16) / 65536;
    const uint64_t most = old + (uint64_t)(accepted * (double)old);
    begin_search(16 + near * out.size());
    if (recreated(most) <= most) commit();
    for (waiting_vertices<uint64_t> *rest : {&waiting, &links})
      while (rest->size) rest->place[rest->vertices[--rest->size]] = nowhere;
    work += step_work;
  }
};
// A row of `chosen` has `row` words with the bits of a search's tree. `rise`: of its new tree, the arc from each vertex
// to its parent, or `none`. `begin` and `work`: what each search has done so far, before and after.
FUNCTION ruin_recreate(network net, uint32_t threads, uint32_t searches, uint32_t root, plan how, arcs all,
                       uint32_t row, const uint32_t *chosen, const uint64_t *seeds, const uint64_t *begin,
                       uint32_t *rise, uint64_t *work) {
  const auto nothing = [] { return 0; };
  share(searches, threads, nothing, [&](int, size_t i) {
    ruin search(net, all, how, root, chosen + i * row, seeds[i], begin[i]);
    search.run();
    for (uint32_t v = 0; v < net.n; v++) rise[i * net.n + v] = search.rise(v);
    work[i] = search.work;
  });
}
EXPORT_FUNCTION(ruin_recreate)
