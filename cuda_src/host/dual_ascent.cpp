// A lower bound on the weight of Steiner trees, by dual ascent (R. T. Wong, Mathematical Programming 28, 1984), with
// the choice of cuts of T. Pajor, E. Uchoa, R. F. Werneck (Mathematical Programming Computation 10, 2018).
//
// Let a set of vertices hold a terminal but not the root: every tree that joins the terminal to the root has an arc
// into the set. So each such set may have a dual value. If the dual values of the sets that an arc enters never sum to
// more than its weight, the sum of all dual values is at most the weight of any tree. Here a terminal's set is all
// vertices with a path to it along saturated arcs, those whose reduced cost `rest` is 0. The ascent raises a set's dual
// value by the least rest of the arcs into it, which saturates one of them, until the root has such a path to every
// terminal. A terminal whose set holds another active terminal becomes inactive, because the other one's set serves
// both.
//
// The next set is the one with the fewest arcs into it, ties as in heap.cuh. That number is known only after a search,
// so the heap is ordered by each set's number when it was last searched. A set is raised as long as its present number
// is at most 5/4 of the next one's; then it returns to the heap.
//
// Invariants: `rest` never falls below 0; a raised set holds its terminal and not the root. So the bound is valid
// whenever the ascent ends, and `budget` (arcs scanned) ends it in time. Every raise is recorded, terminal and dual
// value, which is enough to repeat it on the original graph and to check it (problems/verify/steiner_bound.py).
//
// Layout: `rest` of an arc stands in the row of its head, because the search follows arcs from head to tail; an edge
// has one in each row. Memory traffic: 16 bytes for each arc of a new member, and for each arc into the set at each
// raise. Memory: 20 bytes for each vertex, up to 16 for each arc, and the sets.
#include "host/network.hpp"

// What is recorded of each raise: the terminal, the dual value, and, if asked for, the terminals in the raised set:
// `words` words of 64 bits, a bit for each terminal by its `number` in the list of terminals.
struct raises {
  uint32_t words;
  const uint32_t *number;
  vector<uint32_t> &terminals;
  vector<uint64_t> &duals, &sets;
};
struct ascent {
  const network net;
  const uint32_t root;
  uint64_t *const rest;
  raises record;
  uint64_t scanned = 0;
  uint32_t stamp = 0;
  vector<uint32_t> mark, members, border;  // the set (mark = stamp); the arcs into it, and some that are inside by now
  vector<uint32_t> arcs_into;  // of each active terminal's set, when it was last searched
  waiting_vertices<uint32_t> waiting;  // active terminals, except the one whose set this is

  ascent(const network &net, uint32_t root, uint64_t *rest, const raises &record)
      : net(net),
        root(net.terminals[root]),
        rest(rest),
        record(record),
        mark(net.n),
        arcs_into(net.n),
        waiting(net.n, arcs_into.data()) {
    const uint32_t arcs = net.offsets[net.n];  // each raise saturates one
    members.reserve(net.n), border.reserve(arcs);
    record.terminals.reserve(arcs), record.duals.reserve(arcs);
    for (uint32_t a = 0; a < arcs; a++) rest[a] = net.weights[a];
    for (uint32_t v = 0; v < net.n; v++) arcs_into[v] = net.offsets[v + 1] - net.offsets[v];
    for (uint32_t i = 0; i < net.count; i++)
      if (i != root) offer(waiting, net.terminals[i]);
  }
  void climb(uint64_t budget) {
    while (waiting.size && scanned < budget) {
      const uint32_t terminal = take(waiting);
      if (stays_active(terminal)) offer(waiting, terminal);
    }
  }

 private:
  bool inside(uint32_t v) const { return mark[v] == stamp; }
  void add(uint32_t v) {
    if (inside(v)) return;
    mark[v] = stamp, members.push_back(v);
  }
  // Raises the set of a terminal as long as it is its turn. Returns whether the terminal stays active.
  bool stays_active(uint32_t terminal) {
    stamp++, members.clear(), border.clear();
    add(terminal);
    for (uint32_t first = 0; grow(first);) {
      const uint64_t least = least_rest();
      if (border.empty()) return false;  // the terminal is in a connected component without the root
      arcs_into[terminal] = border.size();
      if (waiting.size && 4 * border.size() > 5 * (size_t)arcs_into[waiting.vertices[0]]) return true;
      note_raise(terminal, least, first);
      first = members.size();
      raise(least);
    }
    return false;
  }
  // Scans the rows of the members from number `first` on, including those that it adds. Returns whether the set holds
  // neither the root nor an active terminal.
  bool grow(uint32_t first) {
    const uint32_t now = stamp, *heads = net.heads;
    const uint64_t *left = rest;
    uint32_t *marks = mark.data();
    for (uint32_t i = first; i < members.size(); i++) {
      const uint32_t v = members[i];
      if (v == root || waiting.place[v] != nowhere) return false;
      scanned += net.offsets[v + 1] - net.offsets[v];
      for (uint32_t a : arcs_of(net, v)) {
        if (marks[heads[a]] == now) continue;
        if (left[a])
          border.push_back(a);
        else
          add(heads[a]);
      }
    }
    return true;
  }
  // Removes arcs that lie inside of the set from the border, and returns the least rest of the others.
  uint64_t least_rest() {
    uint64_t least = ~0ull;
    uint32_t *kept = border.data();
    const uint32_t *heads = net.heads, *marks = mark.data(), now = stamp;
    const uint64_t *left = rest;
    scanned += border.size();
    for (uint32_t a : border) {
      if (marks[heads[a]] == now) continue;
      *kept++ = a;
      least = left[a] < least ? left[a] : least;
    }
    border.resize(kept - border.data());
    return least;
  }
  // Raises the dual value of the set; arcs that this saturates add their tails to the set.
  void raise(uint64_t amount) {
    for (uint32_t a : border) {
      rest[a] -= amount;
      if (!rest[a]) add(net.heads[a]);
    }
  }
  // Records a raise. The set of its terminals is that of the raise before, and those among the members from `first` on.
  void note_raise(uint32_t terminal, uint64_t amount, uint32_t first) {
    record.terminals.push_back(terminal), record.duals.push_back(amount);
    const size_t before = record.sets.size() - record.words, now = record.sets.size();
    for (uint32_t w = 0; w < record.words; w++) record.sets.push_back(first ? uint64_t(record.sets[before + w]) : 0);
    for (uint32_t i = first; record.words && i < members.size(); i++) {
      const uint32_t number = record.number[members[i]];
      if (net.is_terminal[members[i]]) record.sets[now + number / 64] |= 1ull << number % 64;
    }
  }
};
// `rest` has an entry for each arc; `work`: the number of arcs scanned.
FUNCTION dual_ascent_climb(network net, uint32_t root, uint64_t budget, uint32_t words, const uint32_t *number,
                           uint64_t *rest, result<uint32_t> &raised, result<uint64_t> &duals, result<uint64_t> &sets,
                           result<uint64_t> &work) {
  ascent s(net, root, rest, {words, number, raised, duals, sets});
  s.climb(budget);
  work.push_back(s.scanned);
}
EXPORT_FUNCTION(dual_ascent_climb)
