// Candidate lists: the nearest nodes of each node, and of each quadrant some first.
//
// Where cities stand in clusters, the nearest cities of each are in its own cluster, and no list leads to the next one.
// So a list first takes the nearest of each quadrant (D. S. Johnson and L. A. McGeoch in: Local Search in Combinatorial
// Optimization, Wiley 1997, section 3.3), then the nearest of all others. Between points a k-d tree finds them, in a
// matrix they are sought in each row.
//
// A quadrant is where both coordinates are smaller, or only the first one is, and so on; a city at the same place is in
// the one where none is. Of three coordinates two are taken: on the globe, where points are unit vectors, the two that
// are least in absolute value, since the globe is nearly parallel to their plane there; else the first two.
#include "host/kd_tree.hpp"
#include "host/share.hpp"

constexpr uint32_t nodes_at_once = 1024;

// The least keys that were offered, in their order.
struct least_keys {
  uint64_t *keys;
  uint32_t most, size;

  uint64_t limit() const { return size < most ? no_key : keys[size - 1]; }  // one that is not below has no place
  void offer(uint64_t key) {
    if (key >= limit()) return;
    uint32_t at = size < most ? size++ : size - 1;
    for (; at && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
    keys[at] = key;
  }
};
// Memory of a thread: the least of all and of each quadrant.
struct found_keys {
  vector<uint64_t> memory;
  least_keys all, of[4];

  found_keys(uint32_t width, uint32_t a_quadrant) : memory(width + 4 * (size_t)a_quadrant) {
    all = {memory.data(), width, 0};
    for (uint32_t q = 0; q < 4; q++) of[q] = {memory.data() + width + q * (size_t)a_quadrant, a_quadrant, 0};
  }
  void clear() {
    all.size = 0;
    for (least_keys &one : of) one.size = 0;
  }
};
inline uint32_t number_of(uint64_t key) { return (uint32_t)key; }

// Writes a list. What is missing is the node itself, at a forbidden cost.
static void write_list(const least_keys &list, uint32_t node, uint32_t width, uint32_t *near, int32_t *cost) {
  for (uint32_t i = 0; i < width; i++) {
    const bool there = i < list.size;
    near[(size_t)node * width + i] = there ? number_of(list.keys[i]) : node;
    cost[(size_t)node * width + i] = there ? (int32_t)(list.keys[i] >> 32) : forbidden;
  }
}

template <int D, class Costs, class Bounds>
class point_lists {
 public:
  point_lists(const cities &where, const Costs &costs, const Bounds &bounds, const kd_tree<D> &tree)
      : where(where), costs(costs), bounds(bounds), tree(tree) {}

  // Finds the list of a node, which is found.all afterwards.
  void find(uint32_t node, found_keys &found) const {
    found.clear();
    const bool apart = found.of[0].most;
    const double *here = tree.point(node);
    const axes two = axes_at(here);
    tree.search([&](uint32_t b) { return key_of(bounds(here, tree.boxes[b]), tree.boxes[b].least); },
                [&](uint64_t key, uint32_t b) {
                  if (key < found.all.limit()) return true;
                  if (!apart) return false;
                  const uint32_t meets = quadrants_of(two, here, tree.boxes[b]);
                  for (uint32_t q = 0; q < 4; q++)
                    if ((meets >> q & 1) && key < found.of[q].limit()) return true;
                  return false;
                },
                [&](uint32_t other) {
                  if (other == node || is_fixed(where, node, other)) return;
                  const uint64_t key = key_of(costs(node, other), other);
                  found.all.offer(key);
                  if (apart) found.of[quadrant(two, here, tree.point(other))].offer(key);
                });
    if (apart) put_quadrants_first(two, here, found);
  }

 private:
  const cities &where;
  const Costs &costs;
  const Bounds &bounds;
  const kd_tree<D> &tree;

  struct axes {
    int first, second;
  };
  axes axes_at(const double *here) const {
    if (D == 2 || (where.metric != geographical && where.metric != great_circle)) return {0, 1};
    int most = 0;
    for (int axis = 1; axis < D; axis++)
      if (std::abs(here[axis]) > std::abs(here[most])) most = axis;
    return {most ? 0 : 1, most == 2 ? 1 : 2};
  }
  static uint32_t quadrant(axes two, const double *here, const double *there) {
    return (there[two.first] < here[two.first] ? 1 : 0) + (there[two.second] < here[two.second] ? 2 : 0);
  }
  // Returns the set of quadrants, a bit each, in which a box may have points.
  static uint32_t quadrants_of(axes two, const double *here, const box<D> &there) {
    const uint32_t first =
        (there.high[two.first] >= here[two.first] ? 0b0101 : 0) | (there.low[two.first] < here[two.first] ? 0b1010 : 0);
    const uint32_t second = (there.high[two.second] >= here[two.second] ? 0b0011 : 0) |
                            (there.low[two.second] < here[two.second] ? 0b1100 : 0);
    return first & second;
  }
  // Replaces the last ones of the list by those of the quadrants that it lacks.
  void put_quadrants_first(axes two, const double *here, found_keys &found) const {
    uint32_t places = found.all.most, kept = 0;
    for (const least_keys &one : found.of) places -= one.size;
    for (uint32_t i = 0; i < found.all.size && places; i++) {
      const least_keys &own = found.of[quadrant(two, here, tree.point(number_of(found.all.keys[i])))];
      if (own.size && found.all.keys[i] <= own.keys[own.size - 1]) continue;
      found.all.keys[kept++] = found.all.keys[i], places--;
    }
    found.all.size = kept;
    for (const least_keys &one : found.of)
      for (uint32_t i = 0; i < one.size; i++) found.all.offer(one.keys[i]);
  }
};

// Calls find(node, found) for each node of `order`, some at a time in each thread, and writes the lists.
template <class Find>
static void find_lists(const uint32_t *order, uint32_t n, const found_keys &empty, uint32_t threads, const Find &find,
                       uint32_t *near, int32_t *cost) {
  const uint32_t width = empty.all.most, a_quadrant = empty.of[0].most;
  share((n + nodes_at_once - 1) / nodes_at_once, threads, [&] { return found_keys(width, a_quadrant); },
        [&](found_keys &found, uint64_t part) {
          const uint32_t first = (uint32_t)part * nodes_at_once;
          for (uint32_t i = first; i < n && i < first + nodes_at_once; i++) {
            const uint32_t node = order ? order[i] : i;
            find(node, found);
            write_list(found.all, node, width, near, cost);
          }
        });
}

// Writes the `width` nearest nodes of each node by (cost, number), and the costs: shape (n, width) each. Between
// points, the nearest `a_quadrant` nodes of each quadrant are listed, whatever else is nearer; 4 a_quadrant must be at
// most `width`. The other end of a fixed edge and nodes at a forbidden cost are not listed. Where there are fewer
// nodes, the node itself fills the rest, at a forbidden cost.
FUNCTION near_cities_list(cities where, uint32_t width, uint32_t a_quadrant, uint32_t threads, uint32_t *near,
                          int32_t *cost) {
  if (where.metric == of_matrix || where.metric == of_pairs) {
    const auto rows = [&](const auto &costs) {
      find_lists(
          nullptr, where.n, found_keys(width, 0), threads,
          [&](uint32_t node, found_keys &found) {
            found.clear();
            for (uint32_t other = 0; other < where.n; other++) {
              if (other == node || is_fixed(where, node, other)) continue;
              const int32_t between = costs(node, other);
              if (between < forbidden) found.all.offer(key_of(between, other));
            }
          },
          near, cost);
    };
    if (where.metric == of_matrix) return rows(matrix_costs(where));
    return rows(paired_costs(where));
  }
  with_points(where, [&](const auto &costs, const auto &bounds, auto axes) {
    vector<uint32_t> all(where.n);
    for (uint32_t i = 0; i < where.n; i++) all[i] = i;
    const kd_tree<axes> tree(where.points, std::move(all));
    const point_lists lists(where, costs, bounds, tree);
    find_lists(
        tree.order.data(), where.n, found_keys(width, a_quadrant), threads,
        [&](uint32_t node, found_keys &found) { lists.find(node, found); }, near, cost);
  });
}
EXPORT_FUNCTION(near_cities_list)
