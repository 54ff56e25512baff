// A k-d tree over cities that are points (J. L. Bentley, Communications of the ACM 18, 1975, page 509), with searches that
// rest on lower bounds of the cost between boxes. The bounds hold to the last bit: the functions of costs.cuh do not
// fall when a difference of coordinates grows, in floating point too, and box_bounds sees to the two that may.
//
// A box has the cities of a range of `order`. It is split at the median of its widest axis, at equal coordinates by the
// cities' numbers, so that equal points make no deep tree. Searches compare (cost, number), and a box knows its least
// number, so that a thousand cities at the same cost are not gone through for the first eight of them.
#pragma once
#include <algorithm>

#include "host/function.hpp"
#include "tours/costs.cuh"

// The cities order[begin] to order[end - 1] and what encloses their points. Its halves are the box after it and `second`.
template <int D>
struct box {
  double low[D], high[D];
  uint32_t begin, end;
  uint32_t second;  // 0: a bucket, which has no halves
  uint32_t least;  // the least number of a city

  bool is_bucket() const { return !second; }
};

template <int D>
class kd_tree {
 public:
  vector<uint32_t> order;
  vector<box<D>> boxes;  // the first one has all cities; each comes before its halves

  // Of some cities, in any order; a bucket has at most `largest`. `points` (cities, D) must stay.
  kd_tree(const double *points, vector<uint32_t> &&some, uint32_t largest = 8)
      : order(std::move(some)), points(points), largest(largest) {
    size_t buckets = 1;
    while (buckets * largest < order.size()) buckets *= 2;
    boxes.reserve(2 * buckets - 1);
    if (!order.empty()) split(0, (uint32_t)order.size());
  }
  const double *point(uint32_t city) const { return points + D * (size_t)city; }

  // Calls use(city) for the cities of all buckets that are wanted, as far as possible those with the least key first.
  // The key of a box, key_of(box number), must not be above that of its halves. wanted(key, box number) says whether
  // the box can have a city that matters still.
  template <class Key, class Wanted, class Use>
  void search(const Key &key_of, const Wanted &wanted, const Use &use) const {
    using key = decltype(key_of(0u));
    struct {
      key least;
      uint32_t box;
    } waiting[deepest];
    if (boxes.empty()) return;
    waiting[0] = {key_of(0u), 0};
    for (uint32_t size = 1; size;) {
      key least = waiting[--size].least;
      uint32_t at = waiting[size].box;
      bool goes_on = wanted(least, at);
      while (goes_on && !boxes[at].is_bucket()) {
        uint32_t near = at + 1, far = boxes[at].second;
        key of_near = key_of(near), of_far = key_of(far);
        if (of_far < of_near) std::swap(near, far), std::swap(of_near, of_far);
        if (wanted(of_far, far)) waiting[size++] = {of_far, far};
        at = near, goes_on = wanted(of_near, at);
      }
      if (!goes_on) continue;
      for (uint32_t i = boxes[at].begin; i < boxes[at].end; i++) use(order[i]);
    }
  }

 private:
  static constexpr uint32_t deepest = 40;
  const double *points;
  uint32_t largest;

  void split(uint32_t begin, uint32_t end) {
    const size_t at = boxes.size();
    boxes.push_back(enclosing(begin, end));
    if (end - begin <= largest) return;
    int axis = 0;
    for (int i = 1; i < D; i++)
      if (boxes[at].high[i] - boxes[at].low[i] > boxes[at].high[axis] - boxes[at].low[axis]) axis = i;
    const uint32_t middle = begin + (end - begin) / 2;
    std::nth_element(order.begin() + begin, order.begin() + middle, order.begin() + end, [&](uint32_t a, uint32_t b) {
      const double x = point(a)[axis], y = point(b)[axis];
      return x != y ? x < y : a < b;
    });
    split(begin, middle);
    boxes[at].second = (uint32_t)boxes.size();
    split(middle, end);
  }
  box<D> enclosing(uint32_t begin, uint32_t end) const {
    box<D> made;
    made.begin = begin, made.end = end, made.second = 0, made.least = order[begin];
    for (int axis = 0; axis < D; axis++) made.low[axis] = made.high[axis] = point(order[begin])[axis];
    for (uint32_t i = begin; i < end; i++) {
      made.least = std::min(made.least, order[i]);
      for (int axis = 0; axis < D; axis++) {
        made.low[axis] = std::min(made.low[axis], point(order[i])[axis]);
        made.high[axis] = std::max(made.high[axis], point(order[i])[axis]);
      }
    }
    return made;
  }
};

// Lower bounds of the costs between points of two boxes; none is above the cost of any two points in them. A point is a
// box whose low and high are the same.
template <int D, bool euclidean>
struct box_bounds {
  uint32_t metric;

  int32_t operator()(const double *low, const double *high, const double *other_low, const double *other_high) const {
    double gap[3] = {0.0, 0.0, 0.0};
    for (int axis = 0; axis < D; axis++)
      gap[axis] = std::max(0.0, std::max(low[axis] - other_high[axis], other_low[axis] - high[axis]));
    if (euclidean) return euclidean_costs::apart(gap[0], gap[1]);
    if (metric == xray_1 || metric == xray_2) {  // an angle's way is longest at 180 degrees, and 0 at 360
      const double most = std::max(high[0] - other_low[0], other_high[0] - low[0]);
      if (gap[0] <= 360.0 && most >= 360.0)
        gap[0] = 0.0;
      else if (any_costs::around(most) < any_costs::around(gap[0]))
        gap[0] = most;
    }
    if (metric == geographical || metric == great_circle)  // the arc sine's last bit may fall
      for (double &one : gap) one *= 1.0 - 0x1p-48;
    return any_costs::apart(metric, gap[0], gap[1], gap[2]);
  }
  int32_t operator()(const double *point, const box<D> &other) const {
    return (*this)(point, point, other.low, other.high);
  }
  int32_t operator()(const box<D> &one, const box<D> &other) const {
    return (*this)(one.low, one.high, other.low, other.high);
  }
};

// Calls f(costs, bounds, axes) with the costs between points, the bounds between boxes, and the number of coordinates as
// a std::integral_constant.
template <class F>
void with_points(const cities &c, const F &f) {
  using two = std::integral_constant<int, 2>;
  using three = std::integral_constant<int, 3>;
  if (c.metric == euclidean_2d) return f(euclidean_costs(c), box_bounds<2, true>{c.metric}, two());
  if (any_costs::dimensions(c.metric) == 2) return f(any_costs(c), box_bounds<2, false>{c.metric}, two());
  return f(any_costs(c), box_bounds<3, false>{c.metric}, three());
}

// Costs and numbers, compared together.
inline uint64_t key_of(int32_t cost, uint32_t number) { return (uint64_t)(uint32_t)cost << 32 | number; }
constexpr uint64_t no_key = ~0ull;

// Returns the key (cost, number) of the nearest other city of the tree, of those for which takes(city) holds, or no_key.
// A box is left out, if has_any(box number) says that it has none of them.
template <int D, class Costs, class Bounds, class Takes, class HasAny>
uint64_t nearest_city(const kd_tree<D> &tree, const Costs &costs, const Bounds &bounds, uint32_t city,
                      const Takes &takes, const HasAny &has_any) {
  uint64_t best = no_key;
  tree.search([&](uint32_t b) { return key_of(bounds(tree.point(city), tree.boxes[b]), tree.boxes[b].least); },
              [&](uint64_t key, uint32_t b) { return key < best && has_any(b); },
              [&](uint32_t other) {
                if (other == city || !takes(other)) return;
                best = std::min(best, key_of(costs(city, other), other));
              });
  return best;
}
