// Candidates between clusters. Where cities stand in clusters, a node's nearest nodes are all in its own cluster, at
// quadrants' borders too, and edges between clusters are in no list, though a good tour has some. So the lists are made
// longer by the nearest node outside of the node's cluster, where clusters are taken at all scales.
//
// The clusters at all scales are the parts of the rounds of Boruvka's algorithm for a minimum spanning tree: in a round,
// each part is joined to its nearest other part. Here the nearest one is sought in the lists, and beyond them only if no
// list of the part leads out of it.
//
// Parts are there in every instance. It has clusters if many nodes are in parts that stand apart: the way to the next
// part is half as long again as the longest edge of the spanning tree within.
#include "host/kd_tree.hpp"
#include "host/share.hpp"

constexpr uint32_t nodes_at_once = 256;

class scales {
 public:
  vector<vector<uint32_t>> parts;  // of each scale, the part of each node
  uint64_t apart = 0;  // nodes in parts that stand apart, over all scales

  // nearest(node, part) returns the key of the nearest node outside of a node's part.
  template <class Nearest>
  scales(const cities &where, const near_lists &near, const Nearest &nearest)
      : near_(near), part_(where.n), longest_(where.n), size_(where.n, 1) {
    for (uint32_t c = 0; c < where.n; c++) part_[c] = c;
    for (uint32_t c = 0; c < where.n && where.fixed; c++)
      if (where.fixed[c] != not_fixed && where.fixed[c] > c) join(c, where.fixed[c], 0);
    while (round(where.n, nearest)) {
    }
  }

 private:
  struct way {
    int32_t cost;
    uint32_t from, to;
    bool operator<(const way &other) const {
      return cost != other.cost ? cost < other.cost : from != other.from ? from < other.from : to < other.to;
    }
  };
  const near_lists &near_;
  vector<uint32_t> part_, longest_, size_;

  uint32_t root(uint32_t c) {
    while (part_[c] != c) c = part_[c] = part_[part_[c]];
    return c;
  }
  bool join(uint32_t a, uint32_t b, int32_t cost) {
    a = root(a), b = root(b);
    if (a == b) return false;
    part_[a] = b, size_[b] += size_[a];
    longest_[b] = std::max({longest_[a], longest_[b], (uint32_t)cost});
    return true;
  }
  // Joins each part to its nearest other one. Returns whether several are left.
  template <class Nearest>
  bool round(uint32_t n, const Nearest &nearest) {
    const way nowhere{forbidden, 0, 0};
    vector<uint32_t> &part = parts.emplace_back(n);
    vector<way> best(n, nowhere);
    vector<uint8_t> is_open(n);
    for (uint32_t c = 0; c < n; c++) part[c] = root(c);
    const auto offer = [&](uint32_t c, int32_t cost, uint32_t d) {
      const way found{cost, std::min(c, d), std::max(c, d)};
      if (found < best[part[c]]) best[part[c]] = found;
    };
    for (uint32_t c = 0; c < n; c++)
      for (uint32_t q = 0; q < near_.width && !is_open[c]; q++) {
        const size_t at = (size_t)c * near_.width + q;
        if (part[near_.near[at]] != part[c]) is_open[c] = 1, offer(c, near_.cost[at], near_.near[at]);
      }
    vector<uint8_t> is_closed(n, 1);
    for (uint32_t c = 0; c < n; c++)
      if (is_open[c]) is_closed[part[c]] = 0;
    for (uint32_t c = 0; c < n; c++) {
      if (!is_closed[part[c]]) continue;
      const uint64_t key = nearest(c, part);
      if (key != no_key) offer(c, (int32_t)(key >> 32), (uint32_t)key);
    }
    for (uint32_t c = 0; c < n; c++)
      apart += !is_open[c] && size_[part[c]] > near_.width && best[part[c]].cost < forbidden &&
               2 * (int64_t)best[part[c]].cost >= 3 * (int64_t)longest_[part[c]];
    bool joins = false;
    uint32_t left = 0;
    std::sort(best.begin(), best.end());
    for (const way &one : best)
      if (one.cost < forbidden) joins |= join(one.from, one.to, one.cost);
    for (uint32_t c = 0; c < n; c++) left += part_[c] == c;
    return joins && left > 1;
  }
};

// Returns the lists with up to `extra` more nodes each, in the order of (cost, number): shape (n, near.width + extra).
// What is missing is the node itself, at a forbidden cost. If fewer than `least_apart` nodes are in parts that stand
// apart, over all scales, there are no lists.
FUNCTION near_clusters_list(cities where, near_lists near, uint32_t extra, uint64_t least_apart, uint32_t threads,
                            result<uint32_t> &wider, result<int32_t> &cost) {
  const uint32_t n = where.n, width = near.width + extra;
  const auto extend = [&](const auto &nearest) {
    const scales found(where, near, nearest);
    if (found.apart < least_apart) return;
    wider.resize((size_t)n * width), cost.resize((size_t)n * width);
    const auto is_listed = [&](uint32_t c, uint32_t d) {
      const uint32_t *list = near.near + (size_t)c * near.width;
      return std::find(list, list + near.width, d) != list + near.width;
    };
    share((n + nodes_at_once - 1) / nodes_at_once, threads, [] { return vector<uint64_t>(); },
          [&](vector<uint64_t> &more, uint64_t number) {
            for (uint32_t c = (uint32_t)number * nodes_at_once; c < n && c / nodes_at_once == number; c++) {
              const uint32_t *list = near.near + (size_t)c * near.width;
              more.clear();
              for (const vector<uint32_t> &part : found.parts) {
                const uint64_t key = nearest(c, part);
                if (key != no_key && !is_listed(c, (uint32_t)key) &&
                    std::find(more.begin(), more.end(), key) == more.end())
                  more.push_back(key);
              }
              std::sort(more.begin(), more.end());
              if (more.size() > extra) more.resize(extra);
              for (uint32_t q = 0; q < near.width; q++)
                if (list[q] != c) more.push_back(key_of(near.cost[(size_t)c * near.width + q], list[q]));
              std::sort(more.begin(), more.end());
              for (uint32_t q = 0; q < width; q++) {
                wider[(size_t)c * width + q] = q < more.size() ? (uint32_t)more[q] : c;
                cost[(size_t)c * width + q] = q < more.size() ? (int32_t)(more[q] >> 32) : forbidden;
              }
            }
          });
  };
  const auto rows = [&](const auto &costs) {
    extend([&](uint32_t c, const vector<uint32_t> &part) {
      uint64_t best = no_key;
      for (uint32_t d = 0; d < n; d++)
        if (part[d] != part[c]) best = std::min(best, key_of(costs(c, d), d));
      return best < key_of(forbidden, 0) ? best : no_key;
    });
  };
  if (where.metric == of_matrix) return rows(matrix_costs(where));
  if (where.metric == of_pairs) return rows(paired_costs(where));
  with_points(where, [&](const auto &costs, const auto &bounds, auto axes) {
    vector<uint32_t> all(n);
    for (uint32_t c = 0; c < n; c++) all[c] = c;
    const kd_tree<axes> tree(where.points, std::move(all));
    extend([&](uint32_t c, const vector<uint32_t> &part) {
      return nearest_city(
          tree, costs, bounds, c, [&](uint32_t d) { return part[d] != part[c]; }, [](uint32_t) { return true; });
    });
  });
}
EXPORT_FUNCTION(near_clusters_list)
