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
// measure does so for many vertices: a block takes a panel of 32 columns of the table, each thread one column at a
// time, so that rows are read in the order of memory. On a CPU a panel is a few vectors, and the stack stays in the
// caches. It reads the table once, with six operations for each entry: 1.4 GB for 14 500 nodes and 27 000 vertices, 0.3
// s on one core. It runs on the CPU, because the rows are in its memory.
//
// links does the same for vertices that are worth adding, and records which edge each way is: the edges of the new node
// in the new tree, a handful. No other edge of the node can ever be in a minimum spanning tree, because the longest
// edge of a cycle remains so whatever is added later. So these links stand for the vertex from then on.
//
// graft adds vertices, the most promising first, and keeps those that still save nine tenths of what was measured. A
// link joins two nodes of the tree: the longest edge on the path between them goes if it is longer; the subtree below
// it gets a new root, the link's end, and hangs on the link. A vertex that does not save enough is removed again, link
// by link. Nodes of the tree may be grafted again: with all links of its nodes any spanning tree becomes the minimum
// one. It runs on the CPU: the first thread of one block works, a few steps along a path for each link.
//
// The table is (panels, room, 32): a row for each node, `slots` says which one, and each panel of columns lies
// together. measure and links read the tree by places, in depth-first order: `depths` and `edges`, the distance to the
// parent. graft reads it by nodes; the root is its own parent.
#include "device/device.cuh"

constexpr uint32_t panel = 32;  // columns that lie together
constexpr uint32_t ahead = 16;  // rows that are fetched early
constexpr uint32_t none = ~0u;  // no node

template <class T>
struct placed_tree {  // by places; no node is deeper than `levels` - 1
  uint32_t room, nodes, levels;
  const uint32_t *slots, *depths;
  const T *edges, *table;
};
// Links of columns: `length` of them in `to` (places) and `way` from `begin` on, if there is room. `used`, 0 at first:
// how much room all columns together need.
template <class T>
struct links {
  uint32_t room, *used, *begin, *length, *to;
  T *way;
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
// Returns where a column's ways begin; those to the other nodes follow at distances of a panel.
template <class T>
DEVICE const T *ways_of(const placed_tree<T> &s, uint32_t column) {
  return s.table + (size_t)(column / panel) * s.room * panel + column % panel;
}
// Does one step of the pass, for a node with the ways `row` and an edge of length `own` to its parent. `here` has the
// least way that its children have passed up, `above` that of its parent.
template <class T>
DEVICE void pass_up(T own, const T *__restrict__ row, T *__restrict__ here, T *__restrict__ above,
                    T *__restrict__ sum) {
  for (uint32_t b = threadIdx.x; b < panel; b += blockDim.x) {
    const T way = row[b] < here[b] ? row[b] : here[b];
    const T less = way < own ? way : own, more = way < own ? own : way;
    sum[b] += less;
    above[b] = more < above[b] ? more : above[b];
    here[b] = ~(T)0;
  }
}
// Computes for each column the weight of the tree with its vertex added. `scratch` is (blocks, levels + 2, panel).
template <class T>
DEVICE void measure_all(const placed_tree<T> &s, uint32_t columns, const uint32_t *column, T *scratch, T *weight) {
  T *stack = scratch + (size_t)blockIdx.x * (s.levels + 2) * panel;
  T *sum = stack + (size_t)s.levels * panel, *gathered = sum + panel;
  for (uint32_t first = blockIdx.x * panel; first < columns; first += gridDim.x * panel) {
    const uint32_t *mine = column + first, count = columns - first < panel ? columns - first : panel;
    const bool whole = count == panel && mine[0] % panel == 0 && mine[panel - 1] - mine[0] == panel - 1;
    const T *rows = ways_of(s, mine[0]);
    for (uint32_t b = threadIdx.x; b < panel; b += blockDim.x) {
      for (uint32_t level = 0; level < s.levels; level++) stack[level * panel + b] = ~(T)0;
      sum[b] = gathered[b] = 0;
    }
    for (uint32_t place = s.nodes; place-- > 0;) {
      const size_t slot = (size_t)s.slots[place] * panel;
      for (uint32_t b = threadIdx.x; !whole && b < count; b += blockDim.x) gathered[b] = ways_of(s, mine[b])[slot];
      if (whole && place >= ahead) prefetch(rows + (size_t)s.slots[place - ahead] * panel);
      const T *row = whole ? rows + slot : gathered;
      T *here = stack + (size_t)s.depths[place] * panel;
      if (place > 0)
        pass_up(s.edges[place], row, here, here - panel, sum);
      else
        for (uint32_t b = threadIdx.x; b < count; b += blockDim.x)
          weight[first + b] = sum[b] + (row[b] < here[b] ? row[b] : here[b]);
    }
  }
}
// Writes the links of a vertex, whose ways to the nodes are given, to the ends of `way` and `to`, and returns how many.
// `best` and `from` are the stack, by levels: a way, and the place where it leads, or `none` for an edge of the tree.
template <class T>
DEVICE uint32_t find_links(const placed_tree<T> &s, T *way, uint32_t *to, T *best, uint32_t *from) {
  for (uint32_t level = 0; level < s.levels; level++) best[level] = ~(T)0;
  uint32_t end = s.nodes;
  for (uint32_t place = s.nodes; place-- > 0;) {
    const uint32_t level = s.depths[place];
    const bool direct = way[place] <= best[level];
    const T own = s.edges[place], here = direct ? way[place] : best[level];
    const uint32_t link = direct ? place : from[level];
    const bool joins = place == 0 || here < own;
    const T more = joins ? own : here;
    best[level] = ~(T)0;
    if (place > 0 && more < best[level - 1]) best[level - 1] = more, from[level - 1] = joins ? none : link;
    if (joins && link != none) way[--end] = here, to[end] = link;
  }
  return s.nodes - end;
}
// Finds each column's links. `ways` and `words` are scratch, (blocks, panel, nodes + levels).
template <class T>
DEVICE void link_all(const placed_tree<T> &s, uint32_t columns, const uint32_t *column, T *ways, uint32_t *words,
                     const links<T> &out) {
  const size_t each = (size_t)s.nodes + s.levels;
  ways += blockIdx.x * panel * each, words += blockIdx.x * panel * each;
  for (uint32_t first = blockIdx.x * panel; first < columns; first += gridDim.x * panel) {
    const uint32_t count = columns - first < panel ? columns - first : panel;
    for (uint32_t place = 0; place < s.nodes; place++)
      for (uint32_t b = threadIdx.x; b < count; b += blockDim.x)
        ways[b * each + place] = ways_of(s, column[first + b])[(size_t)s.slots[place] * panel];
    for (uint32_t b = threadIdx.x; b < count; b += blockDim.x) {
      T *mine = ways + b * each;
      uint32_t *ends = words + b * each;
      const uint32_t count = find_links(s, mine, ends, mine + s.nodes, ends + s.nodes), skip = s.nodes - count;
      const uint32_t at = atomicAdd(out.used, count);
      out.begin[first + b] = at, out.length[first + b] = count;
      for (uint32_t i = 0; i < count && at + count <= out.room; i++)
        out.to[at + i] = ends[skip + i], out.way[at + i] = mine[skip + i];
    }
  }
}
// A tree that changes: the parent of each node, and the edge to it.
template <class T>
struct node_tree {
  uint32_t *parent, *mark, stamp;
  T *edge;
};
// Returns the lowest common ancestor of two nodes. It climbs from both by turns.
template <class T>
DEVICE uint32_t meeting(node_tree<T> &s, uint32_t a, uint32_t b) {
  s.mark[a] = ++s.stamp;
  if (a == b) return a;
  s.mark[b] = s.stamp;
  for (uint32_t at = a, other = b;;) {
    const uint32_t up = s.parent[at];
    if (up != at && s.mark[up] == s.stamp) return up;
    s.mark[up] = s.stamp;
    at = other, other = up;
  }
}
// Makes `end` the root of the subtree below `cut`, and hangs it on the node `to` by an edge of length `way`.
template <class T>
DEVICE void rehang(node_tree<T> &s, uint32_t end, uint32_t cut, uint32_t to, T way) {
  for (uint32_t v = end;;) {
    const uint32_t next = s.parent[v];
    const T old = s.edge[v];
    s.parent[v] = to, s.edge[v] = way;
    if (v == cut) return;
    to = v, way = old, v = next;
  }
}
// What links have changed, so that it can be undone.
template <class T>
struct change {
  uint32_t *end, *cut, *to;
  T *way;
  uint32_t count;
};
// Puts a link in if it makes the tree lighter, and returns by how much.
template <class T>
DEVICE T put_in(node_tree<T> &s, uint32_t a, uint32_t b, T way, change<T> &log) {
  const uint32_t top = meeting(s, a, b);
  uint32_t cut = none, end = a;
  T longest = way;
  for (uint32_t v = a; v != top; v = s.parent[v])
    if (s.edge[v] > longest) longest = s.edge[v], cut = v;
  for (uint32_t v = b; v != top; v = s.parent[v])
    if (s.edge[v] > longest) longest = s.edge[v], cut = v, end = b;
  if (cut == none) return 0;
  const uint32_t i = log.count++;
  log.end[i] = end, log.cut[i] = cut, log.to[i] = s.parent[cut], log.way[i] = longest;
  rehang(s, end, cut, a ^ b ^ end, way);
  return longest - way;
}
template <class T>
DEVICE void take_out(node_tree<T> &s, change<T> &log) {
  while (log.count) {
    const uint32_t i = --log.count;
    rehang(s, log.cut[i], log.end[i], log.to[i], log.way[i]);
  }
}
// Grafts candidates onto a tree, and keeps up to `most` of them as new nodes; `accepted`: how many, and which ones.
// `parent` and `edge` (nodes + most) become those of the new tree; `words` is scratch of 4 times that length, `lengths`
// of once.
template <class T>
DEVICE void graft_all(uint32_t nodes, uint32_t most, const candidates<T> &offered, const uint32_t *old_parent,
                      const T *old_edge, uint32_t *words, T *lengths, uint32_t *parent, T *edge, uint32_t *accepted) {
  const uint32_t *number = offered.number, *start = offered.start, *to = offered.to;
  const T *way = offered.way;
  const size_t room = (size_t)nodes + most;
  node_tree<T> s = {parent, words, 0, edge};
  change<T> log = {words + room, words + 2 * room, words + 3 * room, lengths, 0};
  for (uint32_t v = 0; v < room; v++) s.mark[v] = 0;
  for (uint32_t v = 0; v < nodes; v++) parent[v] = old_parent[v], edge[v] = old_edge[v];
  uint32_t count = 0;
  for (uint32_t c = 0; c < offered.count; c++) {
    const bool is_new = number[c] == none;
    if (is_new && count == most) continue;
    const uint32_t v = is_new ? nodes + count : number[c];
    uint64_t cost = 0, saved = 0;
    if (is_new) parent[v] = to[start[c]], edge[v] = way[start[c]], cost = way[start[c]];
    log.count = 0;
    for (uint32_t i = start[c]; i < start[c + 1]; i++) saved += put_in(s, v, to[i], way[i], log);
    if (!is_new) continue;
    if (offered.least[c] && saved < cost + offered.least[c])
      take_out(s, log);
    else
      accepted[1 + count++] = c;
  }
  accepted[0] = count;
}
#define ONE_STEINER_KERNELS(code, T)                                                                                \
  KERNEL one_steiner_measure_##code(placed_tree<T> tree, uint32_t columns, const uint32_t *column, T *scratch,      \
                                    T *weight) {                                                                    \
    measure_all<T>(tree, columns, column, scratch, weight);                                                         \
  }                                                                                                                 \
  EXPORT_KERNEL(one_steiner_measure_##code)                                                                         \
  KERNEL one_steiner_links_##code(placed_tree<T> tree, uint32_t columns, const uint32_t *column, T *ways,           \
                                  uint32_t *words, links<T> found) {                                                \
    link_all<T>(tree, columns, column, ways, words, found);                                                         \
  }                                                                                                                 \
  EXPORT_KERNEL(one_steiner_links_##code)                                                                           \
  KERNEL one_steiner_graft_##code(uint32_t nodes, uint32_t most, candidates<T> offered, const uint32_t *old_parent, \
                                  const T *old_edge, uint32_t *words, T *lengths, uint32_t *parent, T *edge,        \
                                  uint32_t *accepted) {                                                             \
    if (threadIdx.x > 0 || blockIdx.x > 0) return;                                                                  \
    graft_all<T>(nodes, most, offered, old_parent, old_edge, words, lengths, parent, edge, accepted);               \
  }                                                                                                                 \
  EXPORT_KERNEL(one_steiner_graft_##code)
ONE_STEINER_KERNELS(u4, uint32_t)
ONE_STEINER_KERNELS(u8, uint64_t)
