// Large instances: one tour, improved in many areas at once. edge_assembly.hpp says what each function takes and returns.
//
// All areas of a round begin with the same tour, and each holds what is outside of it, so areas depend on no other. The
// price: each area alone leaves one tour, but the changes of all areas together may leave several. These are few and
// long, and near each other in many places, so joining them costs next to nothing.
#include "host/area.hpp"
#include "host/joining.hpp"
#include "host/kd_tree.hpp"
#include "host/population.hpp"
#include "host/share.hpp"

constexpr uint32_t most_of_matrix = 4096;  // nodes of an area whose costs are copied as a matrix
constexpr uint32_t fewest_of_area = 8;

// Divides nodes into boxes, each by its longest side, near the middle at random: borders differ from round to round.
template <int D>
class divided {
 public:
  divided(const double *points, uint32_t *members, uint32_t most, uint64_t stream)
      : points_(points), members_(members), most_(most), random_(stream) {}
  // Appends the ends of `areas` areas of members[begin] to members[end - 1], which become sorted.
  void divide(uint32_t begin, uint32_t end, uint32_t areas, vector<uint64_t> &starts) {
    if (areas == 1) {
      std::sort(members_ + begin, members_ + end), starts.push_back(end);
      return;
    }
    const uint32_t first = std::max(1u, areas / 3 + random_.below(areas - 2 * (areas / 3))), count = end - begin;
    const uint64_t others = (uint64_t)(areas - first) * most_;  // as many as the second part may get
    const uint64_t least = count > others ? count - others : 0,
                   largest = std::min<uint64_t>(count, (uint64_t)first * most_);
    const uint32_t middle = begin + (uint32_t)least + random_.below((uint32_t)(largest - least + 1));
    const int axis = longest(begin, end);
    std::nth_element(members_ + begin, members_ + middle, members_ + end, [&](uint32_t a, uint32_t b) {
      const double x = points_[D * (size_t)a + axis], y = points_[D * (size_t)b + axis];
      return x != y ? x < y : a < b;
    });
    divide(begin, middle, first, starts), divide(middle, end, areas - first, starts);
  }

 private:
  const double *points_;
  uint32_t *members_;
  const uint32_t most_;
  random_numbers random_;

  int longest(uint32_t begin, uint32_t end) const {
    double low[D], high[D];
    for (int x = 0; x < D; x++) low[x] = high[x] = points_[D * (size_t)members_[begin] + x];
    for (uint32_t i = begin; i < end; i++)
      for (int x = 0; x < D; x++) {
        const double at = points_[D * (size_t)members_[i] + x];
        low[x] = std::min(low[x], at), high[x] = std::max(high[x], at);
      }
    int axis = 0;
    for (int x = 1; x < D; x++)
      if (high[x] - low[x] > high[axis] - low[axis]) axis = x;
    return axis;
  }
};
FUNCTION edge_assembly_areas(cities where, const uint32_t *tour, uint32_t most, uint64_t stream, uint32_t *members,
                             result<uint64_t> &starts) {
  const uint32_t n = where.n;
  starts.push_back(0);
  if (where.points) {
    const uint32_t areas = n / (most - most / 8) + 1;  // room for borders to move
    for (uint32_t c = 0; c < n; c++) members[c] = c;
    if (any_costs::dimensions(where.metric) == 2)
      divided<2>(where.points, members, most, stream).divide(0, n, areas, starts);
    else
      divided<3>(where.points, members, most, stream).divide(0, n, areas, starts);
    return;
  }
  most = std::min(most, most_of_matrix);
  random_numbers random(stream);
  const uint32_t shift = random.below(n), areas = (n + most - 1) / most;
  for (uint32_t i = 0; i < n; i++) members[i] = tour[(i + shift) % n];
  for (uint32_t a = 1; a <= areas; a++) starts.push_back((uint64_t)n * a / areas);
}

// Appends the free edges of tour a that are not in tour b.
static void append_difference(const area &own, const links &a, const links &b, vector<uint64_t> &keys) {
  for (uint32_t c = 0; c < own.where.n; c++)
    for (uint32_t x = 0; x < 2; x++) {
      const uint32_t d = a[2 * (size_t)c + x];
      if (c < d && !joined(b, c, d)) keys.push_back(edge_key(own.node[c], own.node[d]));
    }
}
FUNCTION edge_assembly_improve_areas(cities where, near_lists near, area_rules rules, const int64_t *entropy,
                                     const uint32_t *tour, uint32_t areas, const uint64_t *starts,
                                     const uint32_t *members, const uint64_t *streams, int64_t *gains,
                                     result<uint64_t> &removed, result<uint64_t> &added) {
  const uint32_t n = where.n;
  vector<uint32_t> place(n), area_of(n, no_area), local(n, no_area);
  for (uint32_t i = 0; i < n; i++) place[tour[i]] = i;
  for (uint32_t a = 0; a < areas; a++)
    for (uint64_t i = starts[a]; i < starts[a + 1]; i++) area_of[members[i]] = a;
  vector<vector<uint64_t>> changes(2 * (size_t)areas);
  const auto nothing = [] { return 0; };
  share(areas, rules.threads, nothing, [&](int, uint64_t a) {
    area own;
    gains[a] = 0;
    own.cut_out(where, tour, place.data(), area_of.data(), (uint32_t)a, members + starts[a],
                (uint32_t)(starts[a + 1] - starts[a]));
    if (own.where.n < fewest_of_area) return;
    for (uint32_t c = 0; c < own.where.n; c++) local[own.node[c]] = c;
    own.cut_out_lists(near, area_of.data(), (uint32_t)a, local.data());
    with_costs(own.where, [&](const auto &costs) {
      population<std::decay_t<decltype(costs)>> all(own.where, own.near, costs, rules, entropy, own.tour, streams[a]);
      all.improve();
      const uint32_t best = all.best();
      gains[a] = all.given_length - all.lengths[best];
      if (gains[a] <= 0) return;
      links old_links(2 * (size_t)own.where.n), new_links(2 * (size_t)own.where.n);
      link_up(own.where.n, own.tour.data(), old_links), link_up(own.where.n, all.tour(best), new_links);
      append_difference(own, old_links, new_links, changes[2 * a]);
      append_difference(own, new_links, old_links, changes[2 * a + 1]);
    });
  });
  for (size_t a = 0; a < areas; a++) {
    removed.insert(removed.end(), changes[2 * a].begin(), changes[2 * a].end());
    added.insert(added.end(), changes[2 * a + 1].begin(), changes[2 * a + 1].end());
  }
}
FUNCTION edge_assembly_join(cities where, near_lists near, uint32_t *tour, uint64_t count, const uint64_t *removed,
                            const uint64_t *added, int64_t *change, uint32_t *parts) {
  with_costs(where, [&](const auto &costs) {
    joining<std::decay_t<decltype(costs)>> all(where, near, costs, tour);
    all.replace(count, removed, added), all.join(), all.write(tour);
    *change = all.change, *parts = all.parts;
  });
}
EXPORT_FUNCTION(edge_assembly_areas)
EXPORT_FUNCTION(edge_assembly_improve_areas)
EXPORT_FUNCTION(edge_assembly_join)
