// Local search of a Steiner tree by key-path exchange and key-vertex elimination (E. Uchoa, R. F. Werneck, ACM Journal
// of Experimental Algorithmics 17, 2012). Key vertices are the terminals and the vertices of degree 3 or more; a key
// path joins two of them. A move takes a key path out of the tree, or a key vertex that is no terminal with all key
// paths that end there, and joins the parts that are left by the shortest paths between them. A pass finds the best move
// of each key path, or of each key vertex. The caller makes those moves that share no vertex
// (hpcsolve/algorithms/steiner_kmb/local_search.py) and asks again, until there is none.
//
// Paths between parts come from regions: of every vertex the distance to the tree, the nearest vertex there (its base),
// and the neighbour on the path. A path between two parts is then an arc between two regions, with the paths from its
// ends to their bases. Vertices whose base is taken out have lost it: a search finds another one for each (`other`), so
// that an arc within one lost region counts, too.
//
// Key paths: the pass goes up the tree. The part of the tree that has been passed keeps its arcs to other regions in a
// heap (skew heaps, which are merged and keep no balance; D. Sleator, R. Tarjan, SIAM J. Computing 15, 1986). Arcs on
// top of it that lead inside are dropped for good, and so are those to the key path that is taken out, which lies inside
// from then on; the top is then the cheapest arc out. Key paths share no inner vertices, so that each vertex loses its
// base once in a pass: O(m log n).
//
// Key vertices: a minimum spanning tree of the parts (Boruvka), among all arcs between regions. So a pass takes (key
// vertices) x (arcs between regions + vertices of the tree) steps, and does nothing if these are more than `budget`.
//
// Memory: some 130 bytes for each vertex, 12 for each arc.
#include "host/network.hpp"

// The tree, from its root down. A subtree has the vertices that the depth-first walk visits from number `enter` to
// number `leave` - 1.
struct rooted_tree {
  vector<uint32_t> up, rise, children;  // the parent, the arc from there, and the number of children
  vector<uint32_t> order, walk;  // its vertices: parents before children; in depth-first order
  vector<uint32_t> enter, leave;

  rooted_tree(const network &net, uint32_t root, const vector<uint8_t> &chosen)
      : up(net.n, none), rise(net.n, none), children(net.n), order(1, root), enter(net.n, none), leave(net.n, 1) {
    for (size_t i = 0; i < order.size(); i++)
      for (uint32_t v = order[i], a = net.offsets[v]; a < net.offsets[v + 1]; a++) {
        const uint32_t child = net.heads[a];
        if (!chosen[a] || child == up[v]) continue;
        up[child] = v, rise[child] = a, children[v]++, order.push_back(child);
      }
    for (size_t i = order.size(); i-- > 1;) leave[up[order[i]]] += leave[order[i]];  // the sizes of subtrees
    walk.resize(order.size());
    for (uint32_t v : order) {  // until the last child of v has been given its number, leave[v] is that of the next one
      const uint32_t size = leave[v];
      enter[v] = v == root ? 0 : leave[up[v]], leave[v] = enter[v] + 1, walk[enter[v]] = v;
      if (v != root) leave[up[v]] += size;
    }
  }
  bool below(uint32_t v, uint32_t top) const { return enter[v] >= enter[top] && enter[v] < leave[top]; }
};

// The moves of a pass: how much each saves, and where its two lists of edges end in `ends`, those of the paths that it
// takes out and of those in their place, as pairs of vertices. There is room for some edges; moves beyond are left out.
struct moves {
  size_t room;
  vector<uint64_t> &gains;
  vector<uint32_t> &ends, &pairs;

  void add_edge(uint32_t v, uint32_t w) { pairs.push_back(v), pairs.push_back(w); }
};

// A tree, and the shortest paths that join its parts when some of its vertices are taken out.
struct open_tree {
  const network net;
  vector<uint32_t> tails;  // of arcs
  vector<uint64_t> distance;  // to the nearest vertex of the tree, with the next three lists
  vector<uint32_t> before, base, first, next;  // `first` and `next` list the vertices of each region
  rooted_tree tree;
  vector<uint8_t> gone;
  vector<uint32_t> out;  // vertices that are taken out
  vector<uint64_t> other;  // of vertices that have lost their base: the distance to another one, `no_path` of others
  vector<uint32_t> other_before, other_base;
  waiting_vertices<uint64_t> waiting;

  open_tree(const network &net, uint32_t root, uint32_t edges, const uint32_t *edge)
      : net(net),
        tails(net.offsets[net.n]),
        distance(net.n),
        before(net.n),
        base(net.n),
        first(net.n, none),
        next(net.n),
        tree(net, root, chosen_arcs(net, edges, edge)),
        gone(net.n),
        other(net.n, no_path),
        other_before(net.n, none),
        other_base(net.n, none),
        waiting(net.n, other.data()) {
    find_regions(net, tree.order.size(), tree.order.data(), {distance.data(), before.data(), base.data()});
    for (uint32_t v = 0; v < net.n; v++) {
      next[v] = first[base[v]], first[base[v]] = v;
      for (uint32_t a : arcs_of(net, v)) tails[a] = v;
    }
  }
  bool is_key(uint32_t v) const { return net.is_terminal[v] || tree.children[v] != 1; }
  void take_out(uint32_t v) { gone[v] = 1, out.push_back(v); }
  bool lost_base(uint32_t v) const { return gone[base[v]]; }
  uint64_t way(uint32_t v) const { return lost_base(v) ? other[v] : distance[v]; }
  uint32_t base_of(uint32_t v) const { return lost_base(v) ? other_base[v] : base[v]; }
  // Returns the length of the path through an arc from base to base.
  uint64_t length(uint32_t a) const { return way(tails[a]) + net.weights[a] + way(net.heads[a]); }
  // Calls use(v, a) for all arcs a of all vertices v that have lost their base.
  template <class Use>
  void each_lost_arc(const Use &use) const {
    for (uint32_t gone_base : out)
      for (uint32_t v = first[gone_base]; v != none; v = next[v])
        for (uint32_t a : arcs_of(net, v)) use(v, a);
  }
  // Finds other bases, nearer than `limit`, for the vertices that have lost theirs.
  void find_other_bases(uint64_t limit) {
    const auto improve = [&](uint32_t v, uint64_t offered, uint32_t from, uint32_t its_base) {
      if (offered >= other[v]) return;
      other[v] = offered, other_before[v] = from, other_base[v] = its_base;
      offer(waiting, v);
    };
    each_lost_arc([&](uint32_t v, uint32_t a) {
      const uint32_t w = net.heads[a];
      if (!lost_base(w)) improve(v, distance[w] + net.weights[a], w, base[w]);
    });
    while (waiting.size) {
      const uint32_t v = take(waiting);
      if (other[v] >= limit) continue;
      for (uint32_t a : arcs_of(net, v))
        if (lost_base(net.heads[a])) improve(net.heads[a], other[v] + net.weights[a], v, other_base[v]);
    }
  }
  void put_back() {
    for (uint32_t v : out) {
      for (uint32_t w = first[v]; w != none; w = next[w]) other[w] = no_path;
      gone[v] = 0;
    }
    out.clear();
  }
  // Ends the list of the edges that a move takes out: those above `lower` and all at vertices below that are taken out.
  // Adds those of the paths through `arcs` in their place, and the move itself, if there is room for them.
  void add_move(moves &found, uint64_t gain, const vector<uint32_t> &arcs) const {
    const size_t begin = found.ends.empty() ? 0 : found.ends.back(), middle = found.pairs.size();
    for (uint32_t a : arcs) {
      found.add_edge(tails[a], net.heads[a]);
      for (uint32_t end : {tails[a], net.heads[a]})
        for (uint32_t v = end, w; (w = lost_base(v) ? other_before[v] : before[v]) != none; v = w) found.add_edge(v, w);
    }
    if (found.pairs.size() > 2 * found.room) {
      found.pairs.resize(begin);
      return;
    }
    found.gains.push_back(gain), found.ends.push_back(middle), found.ends.push_back(found.pairs.size());
  }

 private:
  // Returns which arcs belong to some edges. These are numbered as they stand in the rows of their smaller ends.
  static vector<uint8_t> chosen_arcs(const network &net, uint32_t edges, const uint32_t *edge) {
    uint32_t count = 0;
    vector<uint8_t> chosen(net.offsets[net.n]), wanted(net.offsets[net.n] / 2);
    vector<uint32_t> opposite(net.offsets, net.offsets + net.n);  // rows ascend: the next arc to a smaller end
    for (uint32_t i = 0; i < edges; i++) wanted[edge[i]] = 1;
    for (uint32_t v = 0; v < net.n; v++)
      for (uint32_t a : arcs_of(net, v))
        if (v < net.heads[a]) chosen[a] = chosen[opposite[net.heads[a]]++] = wanted[count++];
    return chosen;
  }
};

struct key_paths : open_tree {
  vector<uint32_t> left, right, top;  // heaps of arcs, an arc is its own node; the top of the heap of each tree vertex

  key_paths(const network &net, uint32_t root, uint32_t edges, const uint32_t *edge)
      : open_tree(net, root, edges, edge), left(tails.size(), none), right(tails.size(), none), top(net.n, none) {
    for (uint32_t v = 0; v < net.n; v++)
      for (uint32_t a : arcs_of(net, v))
        if (base[net.heads[a]] != base[v]) top[base[v]] = merged(top[base[v]], a);
  }
  void find(moves &found) {
    for (size_t i = tree.walk.size(); i-- > 1;) {
      const uint32_t v = tree.walk[i], up = tree.up[v];
      if (is_key(v)) exchange(v, found);
      top[up] = merged(top[up], top[v]);
    }
  }

 private:
  // Returns the length of the path through an arc when nothing is taken out, by which the heaps are ordered.
  uint64_t whole(uint32_t a) const { return distance[tails[a]] + net.weights[a] + distance[net.heads[a]]; }
  bool shorter(uint32_t a, uint32_t b) const {
    const uint64_t x = whole(a), y = whole(b);
    return x < y || (x == y && a < b);
  }
  // Merges two skew heaps of arcs, and returns the top.
  uint32_t merged(uint32_t a, uint32_t b) {
    uint32_t result = none, *link = &result;
    while (a != none && b != none) {
      const uint32_t least = shorter(a, b) ? a : b, rest = a ^ b ^ least;
      *link = least;
      a = right[least], b = rest;
      right[least] = left[least];
      link = &left[least];
    }
    *link = a != none ? a : b;
    return result;
  }
  // Looks at the key path that goes up from `lower`.
  void exchange(uint32_t lower, moves &found) {
    uint32_t upper = tree.up[lower], arc = none;
    uint64_t own = net.weights[tree.rise[lower]];
    for (; !is_key(upper); upper = tree.up[upper]) own += net.weights[tree.rise[upper]], take_out(upper);
    uint64_t best = own;
    uint32_t &out_of = top[lower];
    while (out_of != none && (tree.below(base[net.heads[out_of]], lower) || lost_base(net.heads[out_of])))
      out_of = merged(left[out_of], right[out_of]);
    if (out_of != none && whole(out_of) < best) best = whole(out_of), arc = out_of;
    find_other_bases(best);
    each_lost_arc([&](uint32_t v, uint32_t a) {
      const uint32_t w = net.heads[a];
      if (other[v] >= best || way(w) >= best || length(a) >= best) return;
      if (tree.below(base_of(w), lower) != tree.below(other_base[v], lower)) best = length(a), arc = a;
    });
    if (arc != none) {
      for (uint32_t v = lower; v != upper; v = tree.up[v]) found.add_edge(v, tree.up[v]);
      add_move(found, own - best, {arc});
    }
    put_back();
  }
};

struct key_vertices : open_tree {
  vector<uint32_t> part;  // of the tree's vertices; 0 has the root
  vector<uint32_t> link;  // by part: its shortest arc to another part
  vector<uint32_t> border;  // arcs between regions, then those within lost regions
  size_t kept;  // number of the former

  key_vertices(const network &net, uint32_t root, uint32_t edges, const uint32_t *edge)
      : open_tree(net, root, edges, edge), part(net.n) {
    for (uint32_t v = 0; v < net.n; v++)
      for (uint32_t a : arcs_of(net, v))
        if (v < net.heads[a] && base[v] != base[net.heads[a]]) border.push_back(a);
    kept = border.size();
  }
  void find(uint64_t budget, moves &found) {
    vector<uint32_t> keys;
    for (uint32_t v : tree.order)
      if (tree.rise[v] != none && !net.is_terminal[v] && tree.children[v] > 1) keys.push_back(v);
    if (keys.size() * (kept + tree.order.size()) > budget) return;
    for (uint32_t key : keys) eliminate(key, found);
  }

 private:
  void eliminate(uint32_t key, moves &found) {
    const size_t begin = found.pairs.size();
    uint32_t parts = 1;
    uint64_t own = 0;
    const auto take_edge = [&](uint32_t v) { own += net.weights[tree.rise[v]], found.add_edge(v, tree.up[v]); };
    take_out(key), take_edge(key);
    for (uint32_t v = tree.up[key]; !is_key(v); v = tree.up[v]) take_out(v), take_edge(v);
    for (uint32_t i = tree.enter[key] + 1; i < tree.leave[key]; i++) {
      const uint32_t v = tree.walk[i], up = tree.up[v];
      part[v] = part[up];
      if (!gone[up]) continue;
      take_edge(v);
      if (is_key(v))
        part[v] = parts++;
      else
        take_out(v);
    }
    find_other_bases(no_path);
    border.resize(kept);
    each_lost_arc([&](uint32_t v, uint32_t a) {
      if (v < net.heads[a] && base[v] == base[net.heads[a]]) border.push_back(a);
    });
    const joint way = joined(parts, own);
    if (way.length < own)
      add_move(found, own - way.length, way.arcs);
    else
      found.pairs.resize(begin);
    for (uint32_t i = tree.enter[key]; i < tree.leave[key]; i++) part[tree.walk[i]] = 0;
    put_back();
  }
  struct joint {
    uint64_t length;
    vector<uint32_t> arcs;
  };
  // Joins all parts by shortest arcs. If the sum of their lengths reaches `limit`, it stops there.
  joint joined(uint32_t parts, uint64_t limit) {
    joint found = {0, {}};
    united_sets sets(parts);
    const auto note = [&](uint32_t &shortest, uint32_t a) {
      if (shortest == none) shortest = a;
      const uint64_t x = length(a), y = length(shortest);
      if (x < y || (x == y && a < shortest)) shortest = a;
    };
    while (found.arcs.size() + 1 < parts && found.length < limit) {
      link.assign(parts, none);
      for (uint32_t a : border) {
        const uint32_t x = sets.top(part[base_of(tails[a])]), y = sets.top(part[base_of(net.heads[a])]);
        if (x != y) note(link[x], a), note(link[y], a);
      }
      for (uint32_t a : link) {
        if (a == none) continue;
        const uint32_t x = sets.top(part[base_of(tails[a])]), y = sets.top(part[base_of(net.heads[a])]);
        if (x == y) continue;
        sets.unite(y, x), found.length += length(a), found.arcs.push_back(a);
      }
    }
    return found;
  }
};

// The tree has `edges` edges, and its root is a terminal. `ends` has two entries for each move.
FUNCTION tree_moves_paths(network net, uint32_t root, uint32_t edges, const uint32_t *edge, uint64_t room,
                          result<uint64_t> &gains, result<uint32_t> &ends, result<uint32_t> &pairs) {
  moves found = {room, gains, ends, pairs};
  key_paths(net, root, edges, edge).find(found);
}
EXPORT_FUNCTION(tree_moves_paths)

FUNCTION tree_moves_vertices(network net, uint32_t root, uint32_t edges, const uint32_t *edge, uint64_t room,
                             uint64_t budget, result<uint64_t> &gains, result<uint32_t> &ends,
                             result<uint32_t> &pairs) {
  moves found = {room, gains, ends, pairs};
  key_vertices(net, root, edges, edge).find(budget, found);
}
EXPORT_FUNCTION(tree_moves_vertices)
