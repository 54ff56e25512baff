// Iterated 1-Steiner on a table of distances (A. Kahng, G. Robins, IEEE Transactions on CAD 11, 1992; M. Alexander, G.
// Robins, IEEE Transactions on CAD 15, 1996). Nodes are the terminals and the Steiner vertices chosen so far; a vertex
// is worth adding if it makes the minimum spanning tree of the nodes' distances lighter.
//
// The weight of that tree with a vertex added follows from one pass from the leaves up. A leaf has two edges, one to
// its parent and one, its `way`, to the new node. The lighter one is in the new tree; the heavier one becomes the
// parent's way to the new node, if it is lighter than the parent's own:
//   weight += min(way, edge),  way of the parent = min(way of the parent, max(way, edge)),  and at last weight += way.
//
// The nodes stand in depth-first order, so from the last one back a node comes after its children, and a stack with an
// entry for each depth is all that the pass needs.
//
// measure does so for many vertices: a thread takes a panel of 32 columns of the table at a time, so that rows are read
// in the order of memory. A panel is a few vectors, and the stack stays in the caches. It reads the table once, with six
// operations for each entry: 1.4 GB for 14 500 nodes and 27 000 vertices, 0.3 s on one core.
//
// links does the same for vertices that are worth adding, and records which edge each way is: the edges of the new node
// in the new tree, a handful. No other edge of the node can ever be in a minimum spanning tree, because the longest
// edge of a cycle remains so whatever is added later. So these links stand for the vertex from then on.
//
// graft adds vertices, the most promising first, and keeps those that still save nine tenths of what was measured. A
// link joins two nodes of the tree: the longest edge on the path between them goes if it is longer; the subtree below
// it gets a new root, the link's end, and hangs on the link. A vertex that does not save enough is removed again, link
// by link. Nodes of the tree may be grafted again: with all links of its nodes any spanning tree becomes the minimum
// one. One thread works, a few steps along a path for each link.
//
// The table is (panels, room, 32): a row for each node, `slots` says which one, and each panel of columns lies
// together. measure and links read the tree by places, in depth-first order: `depths` and `edges`, the distance to the
// parent. graft reads it by nodes; the root is its own parent.
#include <algorithm>

#include "host/function.hpp"
#include "host/share.hpp"

constexpr uint32_t panel = 32;  // columns that lie together
constexpr uint32_t ahead = 16;  // rows that are fetched early
constexpr uint32_t none = ~0u;  // no node

template <class T>
struct placed_tree {  // by places; no node is deeper than `levels` - 1
  uint32_t room, nodes, levels;
  const uint32_t *slots, *depths;
  const T *edges, *table;
};
// Some columns of the table, ascending.
struct chosen {
  uint32_t count;
  const uint32_t *column;
};
// Vertices that may become nodes: the `number` of one that is a node already, else `none`; their links from `start` on;
// how much each must save, 0 if it is added in any case.
template <class T>
struct candidates {
  uint32_t count;
  const uint32_t *number;
  const uint64_t *least;
  const uint32_t *start, *to;
  const T *way;
};
inline uint32_t panels_of(const chosen &all) { return (all.count + panel - 1) / panel; }
inline chosen part_of(const chosen &all, uint32_t i) {
  const uint32_t first = i * panel, left = all.count - first;
  return {left < panel ? left : panel, all.column + first};
}
// Returns where a column's ways begin; those to the other nodes follow at distances of a panel.
template <class T>
const T *ways_of(const placed_tree<T> &tree, uint32_t column) {
  return tree.table + (size_t)(column / panel) * tree.room * panel + column % panel;
}
// Computes for the columns of a panel the weight of the tree with the column's vertex added.
template <class T>
struct measuring {
  const placed_tree<T> &tree;
  vector<T> stack;  // (levels, panel): the least way that the children of a node have passed up

  explicit measuring(const placed_tree<T> &tree) : tree(tree), stack((size_t)tree.levels * panel) {}
  void measure(const chosen &mine, T *weight) {
    const uint32_t *column = mine.column;
    const bool whole = mine.count == panel && column[0] % panel == 0 && column[panel - 1] - column[0] == panel - 1;
    const T *rows = ways_of(tree, column[0]);
    T sum[panel] = {}, gathered[panel] = {};
    stack.assign(stack.size(), ~(T)0);
    for (uint32_t place = tree.nodes; place-- > 0;) {
      const size_t slot = (size_t)tree.slots[place] * panel;
      for (uint32_t b = 0; !whole && b < mine.count; b++) gathered[b] = ways_of(tree, column[b])[slot];
      if (whole && place >= ahead) __builtin_prefetch(rows + (size_t)tree.slots[place - ahead] * panel);
      const T *row = whole ? rows + slot : gathered;
      T *here = stack.data() + (size_t)tree.depths[place] * panel;
      if (place > 0)
        pass_up(tree.edges[place], row, here, here - panel, sum);
      else
        for (uint32_t b = 0; b < mine.count; b++) weight[b] = sum[b] + (row[b] < here[b] ? row[b] : here[b]);
    }
  }

 private:
  // Does one step of the pass, for a node with the ways `row` and an edge of length `own` to its parent. `here` has the
  // least way that its children have passed up, `above` that of its parent.
  static void pass_up(T own, const T *__restrict__ row, T *__restrict__ here, T *__restrict__ above,
                      T *__restrict__ sum) {
    for (uint32_t b = 0; b < panel; b++) {
      const T way = row[b] < here[b] ? row[b] : here[b];
      const T less = way < own ? way : own, more = way < own ? own : way;
      sum[b] += less;
      above[b] = more < above[b] ? more : above[b];
      here[b] = ~(T)0;
    }
  }
};
// Finds the links of the vertices of a panel's columns, and keeps them.
template <class T>
struct linking {
  const placed_tree<T> &tree;
  vector<T> ways;  // (panel, nodes): to each place
  vector<T> best;  // the stack, by levels: a way, and the place where it leads, or `none` for an edge of the tree
  vector<uint32_t> from, panels, to;  // the panels that this thread has had, and their links
  vector<T> way;

  explicit linking(const placed_tree<T> &tree)
      : tree(tree), ways((size_t)tree.nodes * panel), best(tree.levels), from(tree.levels) {}
  // Finds the links of panel i, and sets `length` to how many each column has.
  void link(uint32_t i, const chosen &mine, uint32_t *length) {
    panels.push_back(i);
    for (uint32_t place = 0; place < tree.nodes; place++)
      for (uint32_t b = 0; b < mine.count; b++)
        ways[(size_t)b * tree.nodes + place] = ways_of(tree, mine.column[b])[(size_t)tree.slots[place] * panel];
    for (uint32_t b = 0; b < mine.count; b++) length[b] = find(ways.data() + (size_t)b * tree.nodes);
  }

 private:
  uint32_t find(const T *way_to) {
    const size_t before = to.size();
    best.assign(tree.levels, ~(T)0);
    for (uint32_t place = tree.nodes; place-- > 0;) {
      const uint32_t level = tree.depths[place];
      const bool direct = way_to[place] <= best[level];
      const T own = tree.edges[place], here = direct ? way_to[place] : best[level];
      const uint32_t link = direct ? place : from[level];
      const bool joins = place == 0 || here < own;
      const T more = joins ? own : here;
      best[level] = ~(T)0;
      if (place > 0 && more < best[level - 1]) best[level - 1] = more, from[level - 1] = joins ? none : link;
      if (joins && link != none) to.push_back(link), way.push_back(here);
    }
    std::reverse(to.begin() + before, to.end()), std::reverse(way.begin() + before, way.end());  // by places
    return to.size() - before;
  }
};
// A tree that changes: the parent of each node, and the edge to it. Changes are noted, so that they can be undone.
template <class T>
struct node_tree {
  struct change {
    uint32_t end, cut, to;
    T way;
  };
  vector<uint32_t> &parent;
  vector<T> &edge;
  vector<uint32_t> mark;
  vector<change> changes;
  uint32_t stamp = 0;

  void add(uint32_t to, T way) { parent.push_back(to), edge.push_back(way), mark.push_back(0); }
  void remove_last() { parent.pop_back(), edge.pop_back(), mark.pop_back(); }
  // Puts a link in if it makes the tree lighter, and returns by how much.
  T put_in(uint32_t a, uint32_t b, T way) {
    const uint32_t top = meeting(a, b);
    uint32_t cut = none, end = a;
    T longest = way;
    for (uint32_t v = a; v != top; v = parent[v])
      if (edge[v] > longest) longest = edge[v], cut = v;
    for (uint32_t v = b; v != top; v = parent[v])
      if (edge[v] > longest) longest = edge[v], cut = v, end = b;
    if (cut == none) return 0;
    changes.push_back({end, cut, parent[cut], longest});
    rehang(end, cut, a ^ b ^ end, way);
    return longest - way;
  }
  void undo() {
    for (; !changes.empty(); changes.pop_back()) {
      const change &last = changes.back();
      rehang(last.cut, last.end, last.to, last.way);
    }
  }

 private:
  // Returns the lowest common ancestor of two nodes. It climbs from both by turns.
  uint32_t meeting(uint32_t a, uint32_t b) {
    mark[a] = ++stamp;
    if (a == b) return a;
    mark[b] = stamp;
    for (uint32_t at = a, other = b;;) {
      const uint32_t up = parent[at];
      if (up != at && mark[up] == stamp) return up;
      mark[up] = stamp;
      at = other, other = up;
    }
  }
  // Makes `end` the root of the subtree below `cut`, and hangs it on the node `to` by an edge of length `way`.
  void rehang(uint32_t end, uint32_t cut, uint32_t to, T way) {
    for (uint32_t v = end;;) {
      const uint32_t next = parent[v];
      const T old = edge[v];
      parent[v] = to, edge[v] = way;
      if (v == cut) return;
      to = v, way = old, v = next;
    }
  }
};
// `weight` has an entry for each column.
template <class T>
void measure_all(const placed_tree<T> &tree, const chosen &columns, uint32_t threads, T *weight) {
  share(
      panels_of(columns), threads, [&] { return measuring<T>(tree); },
      [&](measuring<T> &own, uint32_t i) { own.measure(part_of(columns, i), weight + (size_t)i * panel); });
}
// Sets `length` to the number of links of each column, and lists them in `to` and `way`, column by column.
template <class T>
void link_all(const placed_tree<T> &tree, const chosen &columns, uint32_t threads, uint32_t *length,
              vector<uint32_t> &to, vector<T> &way) {
  const auto owns = share(
      panels_of(columns), threads, [&] { return linking<T>(tree); },
      [&](linking<T> &own, uint32_t i) { own.link(i, part_of(columns, i), length + (size_t)i * panel); });
  vector<size_t> begin(panels_of(columns) + 1);
  for (uint32_t c = 0; c < columns.count; c++) begin[c / panel + 1] += length[c];
  for (uint32_t i = 0; i + 1 < begin.size(); i++) begin[i + 1] += begin[i];
  to.resize(begin.back()), way.resize(begin.back());
  for (const linking<T> &own : owns) {
    size_t from = 0;
    for (uint32_t i : own.panels)
      for (size_t at = begin[i]; at < begin[i + 1]; at++, from++) to[at] = own.to[from], way[at] = own.way[from];
  }
}
// Grafts candidates onto a tree, and keeps up to `most` of them as new nodes; `accepted`: which ones. `parent` and
// `edge` become those of the new tree.
template <class T>
void graft_all(uint32_t nodes, uint32_t most, const candidates<T> &offered, const uint32_t *old_parent,
               const T *old_edge, vector<uint32_t> &parent, vector<T> &edge, vector<uint32_t> &accepted) {
  parent.assign(old_parent, old_parent + nodes), edge.assign(old_edge, old_edge + nodes);
  node_tree<T> tree{parent, edge, vector<uint32_t>(nodes), {}};
  for (uint32_t c = 0; c < offered.count; c++) {
    const uint32_t first = offered.start[c];
    const bool is_new = offered.number[c] == none;
    if (is_new && accepted.size() == most) continue;
    const uint32_t v = is_new ? parent.size() : offered.number[c];
    const uint64_t cost = is_new ? offered.way[first] : 0;
    if (is_new) tree.add(offered.to[first], offered.way[first]);
    uint64_t saved = 0;
    tree.changes.clear();
    for (uint32_t i = first; i < offered.start[c + 1]; i++) saved += tree.put_in(v, offered.to[i], offered.way[i]);
    if (!is_new) continue;
    if (offered.least[c] && saved < cost + offered.least[c])
      tree.undo(), tree.remove_last();
    else
      accepted.push_back(c);
  }
}
#define ONE_STEINER(T, code)                                                                                          \
  FUNCTION one_steiner_measure_##code(placed_tree<T> tree, chosen columns, uint32_t threads, T *weight) {             \
    measure_all<T>(tree, columns, threads, weight);                                                                   \
  }                                                                                                                   \
  EXPORT_FUNCTION(one_steiner_measure_##code)                                                                         \
  FUNCTION one_steiner_link_##code(placed_tree<T> tree, chosen columns, uint32_t threads, uint32_t *length,           \
                                   result<uint32_t> &to, result<T> &way) {                                            \
    link_all<T>(tree, columns, threads, length, to, way);                                                             \
  }                                                                                                                   \
  EXPORT_FUNCTION(one_steiner_link_##code)                                                                            \
  FUNCTION one_steiner_graft_##code(uint32_t nodes, uint32_t most, candidates<T> offered, const uint32_t *old_parent, \
                                    const T *old_edge, result<uint32_t> &parent, result<T> &edge,                     \
                                    result<uint32_t> &accepted) {                                                     \
    graft_all<T>(nodes, most, offered, old_parent, old_edge, parent, edge, accepted);                                 \
  }                                                                                                                   \
  EXPORT_FUNCTION(one_steiner_graft_##code)
ONE_STEINER(uint32_t, u4)
ONE_STEINER(uint64_t, u8)
