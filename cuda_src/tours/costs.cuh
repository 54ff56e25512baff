// Costs between cities, read from a matrix or computed from coordinates, so that no algorithm needs the matrix of all
// pairs. Kernels and functions of the host include this file after device.cuh or function.hpp.
//
// A tour's nodes are the cities. Where costs are asymmetric, each city is two nodes, its entry 2 i and its exit 2 i + 1,
// which a fixed edge joins (a paired instance; Jonker and Volgenant, Operations Research Letters 2, 1983). An edge from
// the exit of a to the entry of b costs what the arc from a to b costs, and no other edge is allowed. A tour of the
// nodes that keeps all fixed edges is a directed tour of the cities, so no search needs a second version for arcs.
//
// The metrics are those of hpcsolve/problems/distances.py, with the same bits: double precision, + - * / and square
// roots alone, in the same order. On the globe a point is a unit vector, and the arc sine is a quotient of polynomials.
#pragma once
#include <math.h>

constexpr uint32_t not_fixed = 0xffffffffu;
constexpr int32_t forbidden = 1 << 30;  // the cost of an edge that no tour may have; no other cost is larger

enum metric_code : uint32_t {  // as in hpcsolve/algorithms/tours/cities.py
  of_matrix,
  of_pairs,
  euclidean_2d,
  euclidean_3d,
  ceiling_2d,
  pseudo_euclidean,
  manhattan_2d,
  manhattan_3d,
  maximum_2d,
  maximum_3d,
  xray_1,
  xray_2,
  geographical,
  great_circle
};

// An instance of `n` nodes.
struct cities {
  uint32_t n;
  uint32_t metric;  // a metric_code
  NULLABLE const double *points;  // (n, 2) or (n, 3)
  NULLABLE const int32_t *matrix;  // (n, n) of of_matrix; (n / 2, n / 2) of of_pairs, from row to column
  NULLABLE const uint32_t *fixed;  // (n,): the node at the other end of a node's fixed edge, or not_fixed
};
// The nearest nodes of each, by (cost, number), and the costs of the edges to them.
struct near_lists {
  uint32_t width;
  const uint32_t *near;  // (n, width)
  const int32_t *cost;  // (n, width)
};

DEVICE bool is_fixed(const cities &c, uint32_t a, uint32_t b) { return c.fixed && c.fixed[a] == b; }

// ---- arc sine ----

// The arc sine of x, 0 <= x <= 1, with an error below 5e-16 of its value, as numpy computes it
// in hpcsolve/problems/globe.py.
//
// The quotient of polynomials is that of FreeBSD's msun, e_asin.c (Sun Microsystems 1993).
DEVICE double arc_sine(double x) {
  const double half_pi = 1.57079632679489655800;
  const bool small = x < 0.5;
  const double z = small ? x * x : (1.0 - x) * 0.5, root = small ? x : sqrt(z);
  const double p = z * (1.66666666666666657415e-01 +
                        z * (-3.25565818622400915405e-01 +
                             z * (2.01212532134862925881e-01 +
                                  z * (-4.00555345006794114027e-02 +
                                       z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05)))));
  const double q =
      1.0 + z * (-2.40339491173441421878e+00 +
                 z * (2.02094576023350569471e+00 + z * (-6.88283971605453293030e-01 + z * 7.70381505559019352791e-02)));
  const double angle = root + root * (p / q);
  return small ? angle : half_pi - 2.0 * angle;
}

// ---- metrics ----

// Each is called with two different nodes. `apart` has the cost of points whose coordinates differ by x, y and z in
// absolute value; it does not fall if one of them grows, but for the first one of xray, which is an angle.
struct matrix_costs {
  const int32_t *matrix;
  uint32_t n;
  explicit MEMBER matrix_costs(const cities &c) : matrix(c.matrix), n(c.n) {}
  MEMBER int32_t operator()(uint32_t a, uint32_t b) const { return matrix[(size_t)a * n + b]; }
};
struct paired_costs {
  const int32_t *matrix;
  uint32_t n;
  explicit MEMBER paired_costs(const cities &c) : matrix(c.matrix), n(c.n / 2) {}
  MEMBER paired_costs(const int32_t *matrix, uint32_t cities) : matrix(matrix), n(cities) {}
  MEMBER int32_t operator()(uint32_t a, uint32_t b) const {
    if (!((a ^ b) & 1)) return forbidden;
    const uint32_t leaves = a & 1 ? a : b, enters = a & 1 ? b : a;
    return leaves >> 1 == enters >> 1 ? 0 : matrix[(size_t)(leaves >> 1) * n + (enters >> 1)];
  }
};
struct euclidean_costs {
  const double *points;
  explicit MEMBER euclidean_costs(const cities &c) : points(c.points) {}
  static MEMBER int32_t apart(double x, double y) { return (int32_t)(sqrt(x * x + y * y) + 0.5); }
  MEMBER int32_t operator()(uint32_t a, uint32_t b) const {
    const double *p = points + 2 * (size_t)a, *q = points + 2 * (size_t)b;
    return apart(p[0] - q[0], p[1] - q[1]);
  }
};
// The other metrics, chosen at run time.
struct any_costs {
  const double *points;
  uint32_t metric;
  explicit MEMBER any_costs(const cities &c) : points(c.points), metric(c.metric) {}
  static MEMBER uint32_t dimensions(uint32_t metric) {
    return metric == ceiling_2d || metric == pseudo_euclidean || metric == manhattan_2d || metric == maximum_2d ||
                   metric == euclidean_2d
               ? 2
               : 3;
  }
  static MEMBER double larger(double x, double y) { return x > y ? x : y; }
  static MEMBER double rounded(double x) { return (double)(int64_t)(x + 0.5); }  // of x >= 0
  // The way by which a motor turns x degrees: the shorter one.
  static MEMBER double around(double x) { return x <= 180.0 ? x : x < 360.0 ? 360.0 - x : x - 360.0; }
  static MEMBER double turned(double x, double y, double z, double first, double second, double third) {
    return 100.0 * larger(larger(around(x) / first, y / second), z / third);
  }
  static MEMBER int32_t apart(uint32_t metric, double x, double y, double z) {
    switch (metric) {
      case ceiling_2d: {
        const double root = sqrt(x * x + y * y), below = (double)(int64_t)root;
        return (int32_t)below + (below < root);
      }
      case pseudo_euclidean: {
        const double root = sqrt((x * x + y * y) / 10.0), near = rounded(root);
        return (int32_t)near + (near < root);
      }
      case euclidean_2d: return (int32_t)(sqrt(x * x + y * y) + 0.5);
      case euclidean_3d: return (int32_t)(sqrt(x * x + y * y + z * z) + 0.5);
      case manhattan_2d: return (int32_t)rounded(x + y);
      case manhattan_3d: return (int32_t)rounded(x + y + z);
      case maximum_2d: return (int32_t)larger(rounded(x), rounded(y));
      case maximum_3d: return (int32_t)larger(larger(rounded(x), rounded(y)), rounded(z));
      case xray_1: return (int32_t)rounded(turned(x, y, z, 1.0, 1.0, 1.0));
      case xray_2: return (int32_t)rounded(turned(x, y, z, 1.25, 1.5, 1.15));
      default: {  // on the globe: half the chord is the sine of half the angle
        const double half = sqrt(x * x + y * y + z * z) * 0.5, angle = 2.0 * arc_sine(half < 1.0 ? half : 1.0);
        return metric == geographical ? (int32_t)(6378.388 * angle + 1.0) : (int32_t)(6371008.7714 * angle + 0.5);
      }
    }
  }
  static MEMBER double between(double x, double y) { return x < y ? y - x : x - y; }
  MEMBER int32_t operator()(uint32_t a, uint32_t b) const {
    if (dimensions(metric) == 2) {
      const double *p = points + 2 * (size_t)a, *q = points + 2 * (size_t)b;
      return apart(metric, between(p[0], q[0]), between(p[1], q[1]), 0.0);
    }
    const double *p = points + 3 * (size_t)a, *q = points + 3 * (size_t)b;
    return apart(metric, between(p[0], q[0]), between(p[1], q[1]), between(p[2], q[2]));
  }
};

// Those of any instance, chosen at run time.
struct chosen_costs {
  any_costs of_points;
  const int32_t *matrix;
  uint32_t n;
  explicit MEMBER chosen_costs(const cities &c) : of_points(c), matrix(c.matrix), n(c.n) {}
  MEMBER int32_t operator()(uint32_t a, uint32_t b) const {
    if (!matrix) return of_points(a, b);
    if (of_points.metric == of_matrix) return matrix[(size_t)a * n + b];
    return paired_costs(matrix, n / 2)(a, b);
  }
};

// Calls f(costs) with the costs of the instance. There are but two texts of f, so that functions of the host, of which
// costs are a small part, are compiled sooner.
template <class F>
DEVICE void with_costs(const cities &c, const F &f) {
  if (c.metric == euclidean_2d) return f(euclidean_costs(c));
  f(chosen_costs(c));
}
