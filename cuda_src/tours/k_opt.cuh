// Local search of tours by sequential k-exchanges (Lin and Kernighan, Operations Research 21, 1973), with candidate
// lists and don't-look bits (Bentley, ORSA Journal on Computing 4, 1992). Kernels (tours/k_opt.cu) and functions of the
// host include this file behind the header for their compiler.
//
// An exchange removes the edges t0 t1, t2 t3, ... and adds t1 t2, t3 t4, ... and at last the closing edge from its last
// node to t0. Each added edge but the closing one leads to a candidate of its first node. A step of an exchange adds
// one edge and removes one. It has items: the candidate, and which of the candidate's two edges in the tour is removed.
// Candidates that are so far that the sum of removed less added edges is not positive are left out. That loses nothing:
// every improving exchange has only positive sums if it is begun at the right one of its edges.
//   - If closing the exchange at some items gives a shorter tour, the item of the largest gain is taken.
//   - Else the search goes on, depth first, with the items of the largest sums: how many depends on the step.
// Ties go to the first item, so what is found depends on the tour and the lists alone. Where closing gives several
// cycles, the exchange may go on: segments are moved so. Fixed edges are never removed. So on a paired instance
// (tours/costs.cuh) no path of cities is reversed, and costs may be asymmetric.
//
// Nodes that are still to be looked at wait in a queue. The first one is tried as t0, in both directions. If there is
// an exchange, it is made and the ends of its edges join the queue; else the node leaves it.
//
// The tour is an array and its inverse, and the costs of its edges are beside it. To make an exchange, the segments
// between the removed edges are put in their new order: the longest keeps its place, the others are rewritten. An edge
// is named by the index of its first node in the array, times 2, plus 1 if the exchange comes to the second node first
// (`edge`). Whether an exchange leaves one tour follows from the order of its edges in the array: the r-th one has the
// ports 2 r and 2 r + 1 at its two nodes, a segment joins port 2 r + 1 to port 2 r + 2, and an added edge joins any
// two. All ports fit 64 bits, so the test needs no memory.
//
// Threads. The items of a step are dealt to the threads of a group: a warp of a GPU, the one thread of a CPU. The
// groups of a block try the first nodes of the queue at the same time. The first of these nodes that has an exchange
// gets it, and what later groups have found is forgotten. Most nodes have none, so little of the work is in vain, and
// the tour is the same for any number of threads.
#pragma once
#include "tours/costs.cuh"

constexpr uint32_t most_edges = 6;  // of an exchange
constexpr uint32_t most_items = 24;  // of a step, where several threads share them: two for each candidate
constexpr uint32_t most_listed = 5;  // items that a step goes on with
constexpr uint32_t not_waiting = 0xffffffffu, last_waiting = 0xfffffffeu;

struct k_opt_rules {
  uint32_t depth;  // the most edges of an exchange, 2 to most_edges
  uint32_t breadth;  // with how many items the step from k edges goes on: bits 4 k to 4 k + 3, at most most_listed
};
// A tour, and the queue of the nodes that are still to be looked at.
struct k_opt_tour {
  uint32_t n;
  uint32_t *order;  // order[0] to order[n - 1]: the nodes; order[-1] is the last one again, order[n] the first one
  uint32_t *position;  // the index of each node in `order`
  int32_t *leg;  // leg[i]: the cost of the edge from order[i] to order[i + 1]
  uint32_t *moved;  // (n,): segments while they are rewritten
  int32_t *moved_leg;  // (n,): their legs
  uint32_t *behind;  // the node behind each in the queue, last_waiting or not_waiting
};
DEVICE size_t k_opt_words(uint32_t n) { return 6 * (size_t)n + 2; }
// A tour in memory of k_opt_words(n) words.
DEVICE k_opt_tour k_opt_tour_in(uint32_t *words, uint32_t n) {
  uint32_t *p = words + n + 2;
  const size_t size = n;
  return {n, words + 1, p, (int32_t *)p + size, p + 2 * size, (int32_t *)p + 3 * size, p + 4 * size};
}

// How one thread works alone, as functions of the host do. Kernels have a crew of their own (tours/k_opt.cu).
struct k_opt_alone {
  static constexpr bool alone = true;
  static constexpr uint32_t most_groups = 1, most_threads = 1;
  MEMBER uint32_t lane() const { return 0; }  // of this thread in its group
  MEMBER uint32_t lanes() const { return 1; }  // of the group
  MEMBER uint32_t group() const { return 0; }
  MEMBER uint32_t groups() const { return 1; }
  MEMBER uint32_t thread() const { return 0; }
  MEMBER uint32_t threads() const { return 1; }
  MEMBER void sync_group() const {}
  MEMBER void sync() const {}
};

// An item of a step.
struct k_opt_item {
  int64_t sum;  // of the removed less the added edges, without the closing one; 0: not possible
  int64_t closed;  // what the exchange gains if it is closed here; 0: no shorter tour
  uint32_t edge;  // that is removed
};
struct k_opt_listed {
  int64_t sum;
  uint32_t edge;
};
// An exchange that a group builds, and the items of its steps.
struct k_opt_exchange {
  int64_t gain;
  uint32_t count, edges[most_edges];  // the removed edges
  uint32_t ports[most_edges];  // ports[k]: at the nodes t0, t2, ... of the first k + 1 edges, 4 bits each
  k_opt_listed list[most_edges - 1][most_listed];
  k_opt_item items[most_items];  // of the present step, where several threads share them
};
// The segments that an exchange leaves, in the order of the new tour.
struct k_opt_segments {
  uint32_t count, longest, last[most_edges], from[most_edges], size[most_edges];
  uint32_t turned;  // a bit for each that the new tour reads backwards
};
// What the threads of a block share.
template <class Crew>
struct k_opt_shared {
  union {
    k_opt_exchange of_group[Crew::most_groups];
    uint32_t first_of_thread[Crew::most_threads];  // while a search begins
  };
  bool found[Crew::most_groups];
  k_opt_segments segments;
  uint32_t head, tail;  // the first and the last node of the queue; last_waiting: none
};
// An instance, and how it is searched.
template <class Costs>
struct k_opt_problem {
  Costs cost;
  cities where;
  near_lists near;
  k_opt_rules rules;
};

// ---- the test of an exchange ----

// The node at which an exchange comes to an edge, and the one at which it leaves the edge.
DEVICE uint32_t node_of(const k_opt_tour &t, uint32_t edge) { return t.order[(size_t)(edge >> 1) + (edge & 1)]; }
DEVICE uint32_t other_node_of(const k_opt_tour &t, uint32_t edge) { return t.order[(size_t)(edge >> 1) + (~edge & 1)]; }
// The edge from the node at an index to its successor (side 0) or predecessor (side 1).
DEVICE uint32_t edge_at(const k_opt_tour &t, uint32_t index, uint32_t side) {
  return side ? (index ? index - 1 : t.n - 1) << 1 | 1 : index << 1;
}
DEVICE uint32_t port_of(uint64_t ports, uint32_t k) { return (uint32_t)(ports >> 4 * k) & 15; }
// Returns the ports of `count` edges and one more. `there` becomes true if that is one of them.
DEVICE uint32_t with_port(const uint32_t *edges, uint32_t count, uint32_t ports, uint32_t edge, bool &there) {
  uint32_t before = count;
  for (uint32_t k = 0; k < count; k++) {
    const uint32_t is_behind = edges[k] > edge;
    ports += is_behind << (4 * k + 1), before -= is_behind, there |= (edges[k] ^ edge) < 2;
  }
  return ports | (2 * before + (edge & 1)) << 4 * count;
}
// Returns for each port the one at the other end of its added edge, 4 bits each.
DEVICE uint64_t joined_ports(uint32_t ports, uint32_t count) {
  const uint32_t first = port_of(ports, 0);
  uint64_t joined = 0;
  uint32_t open = first ^ 1;
  for (uint32_t k = 1; k < count; k++) {
    const uint32_t port = port_of(ports, k);
    joined |= (uint64_t)port << 4 * open | (uint64_t)open << 4 * port, open = port ^ 1;
  }
  return joined | (uint64_t)first << 4 * open | (uint64_t)open << 4 * first;
}
// Returns the port at the other end of a segment.
DEVICE uint32_t beyond_segment(uint32_t port, uint32_t count) {
  return port & 1 ? (port + 1 == 2 * count ? 0 : port + 1) : (port ? port : 2 * count) - 1;
}
DEVICE bool leaves_one_tour(uint32_t ports, uint32_t count) {
  const uint64_t joined = joined_ports(ports, count);
  const uint32_t first = port_of(ports, 0);
  uint32_t port = first, segments = 0;
  do port = port_of(joined, beyond_segment(port, count)), segments++;
  while (port != first);
  return segments == count;
}

// ---- the search for an exchange ----

// The step of an exchange that has removed `count` edges.
struct k_opt_step {
  uint32_t count, ports, start, from;  // start: t0; from: the node that is joined to a candidate
  int64_t gain;  // removed less added edges
  uint32_t after, before;  // the neighbours of `from`
  const uint32_t *near;
  const int32_t *price;
};
// Returns an item, by costs alone: `closed` is what the exchange would gain if closing it left one tour.
template <class Costs>
DEVICE k_opt_item item_of(const k_opt_problem<Costs> &p, const k_opt_tour &t, const k_opt_step &s, uint32_t item) {
  const uint32_t c = s.near[item / 2];
  if (c == s.after || c == s.before || c == s.from) return {0, 0, 0};
  const uint32_t edge = edge_at(t, t.position[c], item & 1);
  const int64_t sum = s.gain - s.price[item / 2] + t.leg[edge >> 1];
  return {sum, sum - p.cost(s.start, other_node_of(t, edge)), edge};
}
// Returns whether the edge of an item may be removed. Sets `closed` to 0 if that is not more than `least`, or if closing
// does not leave one tour.
template <class Costs>
DEVICE bool is_possible(const k_opt_problem<Costs> &p, const k_opt_tour &t, const uint32_t *edges, const k_opt_step &s,
                        k_opt_item &item, int64_t least) {
  const uint32_t d = other_node_of(t, item.edge);
  bool there = d == s.start || is_fixed(p.where, node_of(t, item.edge), d);
  const uint32_t ports = with_port(edges, s.count, s.ports, item.edge, there);
  if (there) return false;
  if (item.closed <= least || !leaves_one_tour(ports, s.count + 1)) item.closed = 0;
  return true;
}
// Fills the list of a step with the `breadth` items of the largest sums, and returns their number. `best` becomes the
// item that gains most when it is closed; then there may be no list. Of equal items the first is taken.
template <class Costs, class Crew>
DEVICE uint32_t try_items(const k_opt_problem<Costs> &p, const k_opt_tour &t, k_opt_exchange &e, const k_opt_step &s,
                          uint32_t breadth, k_opt_item &best, const Crew &crew) {
  const uint32_t items = 2 * p.near.width;
  k_opt_listed *list = e.list[s.count - 1];
  uint32_t listed = 0;
  best.closed = 0;
  if constexpr (Crew::alone) {
    for (uint32_t i = 0; i < items && s.gain > s.price[i / 2]; i++) {
      k_opt_item item = item_of(p, t, s, i);
      const bool is_listed = listed < breadth ? item.sum > 0 : breadth && item.sum > list[breadth - 1].sum;
      if (!is_listed && item.closed <= best.closed) continue;  // that is so for most
      if (!is_possible(p, t, e.edges, s, item, best.closed)) continue;
      if (item.closed > best.closed) best = item;
      if (!is_listed) continue;
      uint32_t k = listed < breadth ? listed++ : breadth - 1;
      for (; k > 0 && list[k - 1].sum < item.sum; k--) list[k] = list[k - 1];
      list[k] = {item.sum, item.edge};
    }
    return listed;
  } else {
    for (uint32_t i = crew.lane(); i < items; i += crew.lanes()) {
      k_opt_item item = s.gain > s.price[i / 2] ? item_of(p, t, s, i) : k_opt_item{0, 0, 0};
      e.items[i] = item.sum > 0 && is_possible(p, t, e.edges, s, item, 0) ? item : k_opt_item{0, 0, 0};
    }
    crew.sync_group();
    for (uint32_t i = 0; i < items; i++) {
      listed += e.items[i].sum > 0;
      if (e.items[i].closed > best.closed) best = e.items[i];
    }
    if (best.closed > 0) return 0;
    for (uint32_t i = crew.lane(); i < items; i += crew.lanes()) {
      const int64_t sum = e.items[i].sum;
      uint32_t rank = sum > 0 ? 0 : breadth;
      for (uint32_t other = 0; other < items; other++)
        rank += e.items[other].sum > sum || (e.items[other].sum == sum && other < i);
      if (rank < breadth) list[rank] = {sum, e.items[i].edge};
    }
    crew.sync_group();
    return listed < breadth ? listed : breadth;
  }
}
// Removes an edge after `count` others.
template <class Crew>
DEVICE void remove_edge(k_opt_exchange &e, uint32_t count, uint32_t ports, uint32_t edge, const Crew &crew) {
  if (crew.lane() == 0) e.edges[count] = edge, e.ports[count] = ports, e.count = count + 1;
  crew.sync_group();
}
// Looks for an exchange that first removes the edge from a node to its successor (side 0) or predecessor (side 1).
// Returns whether there is one, which is then in `e`.
template <class Costs, class Crew>
DEVICE bool find_exchange(const k_opt_problem<Costs> &p, const k_opt_tour &t, k_opt_exchange &e, uint32_t start,
                          uint32_t side, const Crew &crew) {
  uint32_t edge = edge_at(t, t.position[start], side), ports = edge & 1, count = 1;
  uint32_t from = other_node_of(t, edge), listed = 0, taken = 0;  // listed, taken: 4 bits for each number of edges
  if (is_fixed(p.where, start, from)) return false;
  int64_t gain = t.leg[edge >> 1];
  remove_edge(e, 0, ports, edge, crew);
  for (bool there = false;;) {
    const uint32_t *place = t.order + t.position[from];
    const size_t row = (size_t)from * p.near.width;
    const k_opt_step s = {
        count, ports, start, from, gain, place[1], *(place - 1), p.near.near + row, p.near.cost + row};
    const uint32_t breadth = count + 1 < p.rules.depth ? p.rules.breadth >> 4 * count & 15 : 0;
    k_opt_item best;
    const uint32_t own = try_items(p, t, e, s, breadth, best, crew);
    if (best.closed > 0) {
      if (crew.lane() == 0) e.gain = best.closed;
      remove_edge(e, count, with_port(e.edges, count, ports, best.edge, there), best.edge, crew);
      return true;
    }
    listed = (listed & ~(15u << 4 * count)) | own << 4 * count, taken &= ~(15u << 4 * count);
    while (port_of(taken, count) == port_of(listed, count))
      if (--count == 0) return false;
    const k_opt_listed next = e.list[count - 1][port_of(taken, count)];
    taken += 1u << 4 * count;
    ports = with_port(e.edges, count, e.ports[count - 1], next.edge, there);
    from = other_node_of(t, next.edge), gain = next.sum;
    remove_edge(e, count++, ports, next.edge, crew);
  }
}

// ---- making an exchange ----

// Finds the segments that an exchange leaves. It is one thread's work.
DEVICE void find_segments(const k_opt_tour &t, const k_opt_exchange &e, k_opt_segments &s) {
  const uint32_t count = e.count, ports = e.ports[count - 1];
  const uint64_t joined = joined_ports(ports, count);
  for (uint32_t k = 0; k < count; k++) s.last[port_of(ports, k) / 2] = e.edges[k] >> 1;
  s.count = count, s.longest = 0, s.turned = 0;
  uint32_t port = port_of(ports, 0);
  for (uint32_t k = 0; k < count; k++) {
    const uint32_t beyond = beyond_segment(port, count), segment = (port & 1 ? beyond : port) / 2;
    const uint32_t before = s.last[segment ? segment - 1 : count - 1], last = s.last[segment];
    s.from[k] = before + 1 == t.n ? 0 : before + 1;
    s.size[k] = last > before ? last - before : last + t.n - before;
    s.turned |= (~port & 1) << k;
    if (s.size[k] > s.size[s.longest]) s.longest = k;
    port = port_of(joined, beyond);
  }
}
DEVICE uint32_t around(const k_opt_tour &t, uint32_t index) { return index >= t.n ? index - t.n : index; }
template <class Crew>
DEVICE void close_order(const k_opt_tour &t, const Crew &crew) {
  if (crew.thread() == 0) *(t.order - 1) = t.order[t.n - 1], t.order[t.n] = t.order[0];
  crew.sync();
}
// Puts the segments in the order of the new tour, behind the longest one, which keeps its place and direction.
template <class Costs, class Crew>
DEVICE void rewrite(const k_opt_problem<Costs> &p, const k_opt_tour &t, const k_opt_segments &s, const Crew &crew) {
  const bool backwards = s.turned >> s.longest & 1;
  uint32_t moved = 0;
  for (uint32_t k = 1; k < s.count; k++) {
    const uint32_t own = (s.longest + (backwards ? s.count - k : k)) % s.count, from = s.from[own], size = s.size[own];
    const bool turned = (s.turned >> own & 1) != backwards;
    for (uint32_t i = crew.thread(); i < size; i += crew.threads()) {
      const uint32_t index = around(t, from + (turned ? size - 1 - i : i));
      t.moved[moved + i] = t.order[index];
      t.moved_leg[moved + i] = t.leg[turned ? (index ? index : t.n) - 1 : index];  // of the last one below
    }
    moved += size;
  }
  const uint32_t first = around(t, s.from[s.longest] + s.size[s.longest]);
  crew.sync();
  for (uint32_t i = crew.thread(); i < moved; i += crew.threads()) {
    const uint32_t index = around(t, first + i), node = t.moved[i];
    t.order[index] = node, t.position[node] = index, t.leg[index] = t.moved_leg[i];
  }
  crew.sync();
  close_order(t, crew);
  uint32_t last = first ? first - 1 : t.n - 1;
  for (uint32_t k = 0; k < s.count; k++) {
    if (k) last = around(t, last + s.size[(s.longest + (backwards ? s.count - k : k)) % s.count]);
    if (crew.thread() == k % crew.threads()) t.leg[last] = p.cost(t.order[last], t.order[(size_t)last + 1]);
  }
  crew.sync();
}
// Puts a node into the queue, unless it waits already. It is one thread's work.
template <class Crew>
DEVICE void k_opt_wake(const k_opt_tour &t, k_opt_shared<Crew> &s, uint32_t node) {
  if (t.behind[node] != not_waiting) return;
  t.behind[node] = last_waiting;
  if (s.head == last_waiting)
    s.head = node;
  else
    t.behind[s.tail] = node;
  s.tail = node;
}
// Makes the exchange that a group has found.
template <class Costs, class Crew>
DEVICE void make_exchange(const k_opt_problem<Costs> &p, const k_opt_tour &t, k_opt_shared<Crew> &s,
                          const k_opt_exchange &e, const Crew &crew) {
  if (crew.thread() == 0) {
    find_segments(t, e, s.segments);
    for (uint32_t k = 0; k < e.count; k++)
      k_opt_wake(t, s, node_of(t, e.edges[k])), k_opt_wake(t, s, other_node_of(t, e.edges[k]));
  }
  crew.sync();
  rewrite(p, t, s.segments, crew);
}

// ---- searches ----

// Begins a search of the tour in `order`. The nodes for whose indices `wakes` returns true wait, in the order of the
// tour. `wakes` may read `position`, which is filled after that.
template <class Costs, class Crew, class Wakes>
DEVICE void k_opt_begin(const k_opt_problem<Costs> &p, const k_opt_tour &t, k_opt_shared<Crew> &s, const Wakes &wakes,
                        const Crew &crew) {
  const uint32_t share = (t.n + crew.threads() - 1) / crew.threads();
  for (uint32_t i = crew.thread(); i < t.n; i += crew.threads()) t.behind[i] = not_waiting;
  if (crew.thread() == 0) s.head = last_waiting;
  crew.sync();
  uint32_t first = last_waiting, last = last_waiting;
  for (uint32_t i = crew.thread() * share; i < t.n && i < (crew.thread() + 1) * share; i++) {
    if (!wakes(i)) continue;
    const uint32_t node = t.order[i];
    if (last == last_waiting)
      first = node;
    else
      t.behind[last] = node;
    last = node;
  }
  s.first_of_thread[crew.thread()] = first;
  crew.sync();
  if (first != last_waiting) {
    uint32_t other = crew.thread() + 1;
    while (other < crew.threads() && s.first_of_thread[other] == last_waiting) other++;
    t.behind[last] = other < crew.threads() ? s.first_of_thread[other] : last_waiting;
    if (other == crew.threads()) s.tail = last;
    for (other = 0; other < crew.thread() && s.first_of_thread[other] == last_waiting;) other++;
    if (other == crew.thread()) s.head = first;
  }
  close_order(t, crew);
  for (uint32_t i = crew.thread(); i < t.n; i += crew.threads())
    t.position[t.order[i]] = i, t.leg[i] = p.cost(t.order[i], t.order[i + 1]);
  crew.sync();
}
// Improves a tour until no node waits, and returns what it gains.
template <class Costs, class Crew>
DEVICE int64_t k_opt_search(const k_opt_problem<Costs> &p, const k_opt_tour &t, k_opt_shared<Crew> &s,
                            const Crew &crew) {
  for (int64_t gain = 0;;) {
    uint32_t node = s.head, found = 0;
    if (node == last_waiting) return gain;
    if (crew.group() < crew.groups()) {
      for (uint32_t k = 0; k < crew.group() && node != last_waiting; k++) node = t.behind[node];
      k_opt_exchange &e = s.of_group[crew.group()];
      bool one = false;
      for (uint32_t side = 0; side < 2 && node != last_waiting && !one; side++)
        one = find_exchange(p, t, e, node, side, crew);
      if (crew.lane() == 0) s.found[crew.group()] = one;
    }
    crew.sync();
    while (found < crew.groups() && !s.found[found]) found++;
    if (crew.thread() == 0)
      for (uint32_t k = 0; k < found && s.head != last_waiting; k++) {
        const uint32_t one = s.head;
        s.head = t.behind[one], t.behind[one] = not_waiting;
      }
    crew.sync();
    if (found < crew.groups()) gain += s.of_group[found].gain, make_exchange(p, t, s, s.of_group[found], crew);
  }
}
