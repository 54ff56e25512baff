// A tour for local search, and the path that remains when one edge is removed from it. The tour is an array of cities,
// changed in place, with its inverse. The path is read in either direction, and some flips of it may be pending. The
// k-th has reversed the path's first cut[k] cities, but nothing is moved for that: a position is mapped through the
// flips instead.
//
// To reverse a segment of a tour is the same as to reverse the rest and read the tour in the other direction. Where
// costs are symmetric the shorter of the two is moved, and the path notes the direction.
#pragma once
#include "device/device.cuh"

// The instance and a tour of it, or in a launch the tours of all blocks, one after the other.
struct tour {
  uint32_t n, stride, breadth;
  const int32_t *cost;  // (n, n)
  const uint16_t *neighbours;  // (n, stride): the nearest cities of each, nearest first; `breadth` of them are tried
  const int32_t *near_cost;  // (n, breadth): the costs to these
  uint16_t *order, *position;  // the cities of the tour in order, and the index in it of each city
  uint64_t *awake;  // a bit for each city, set while it is still to be looked at (don't-look bits, inverted)
};
// The path that is read from index `start` of the tour to `city`.
struct path {
  uint32_t start;
  bool backwards;
  uint32_t city;
};

DEVICE int64_t cost_of(const tour &t, uint32_t from, uint32_t to) { return t.cost[(size_t)from * t.n + to]; }
DEVICE uint32_t around(const tour &t, uint32_t index) { return index >= t.n ? index - t.n : index; }

// Returns the position of a city on the path after `flips` flips; `city_at` returns the city at a position.
template <int flips>
DEVICE uint32_t position_of(const tour &t, const path &p, const uint32_t *cut, uint32_t city) {
  const uint32_t index = t.position[city];
  uint32_t at = around(t, p.backwards ? p.start + t.n - index : index + t.n - p.start);
  UNROLL for (int k = 0; k < flips; k++) at = at < cut[k] ? cut[k] - 1 - at : at;
  return at;
}
template <int flips>
DEVICE uint32_t city_at(const tour &t, const path &p, const uint32_t *cut, uint32_t at) {
  UNROLL for (int k = flips - 1; k >= 0; k--) at = at < cut[k] ? cut[k] - 1 - at : at;
  return t.order[around(t, p.backwards ? p.start + t.n - at : p.start + at)];
}
// The path that ends at a city.
DEVICE path path_to(const tour &t, uint32_t city, bool backwards) {
  const uint32_t index = t.position[city];
  return {around(t, index + (backwards ? t.n - 1 : 1)), backwards, city};
}
DEVICE void wake(const tour &t, uint32_t city) { atomicOr_block(&t.awake[city / 64], (uint64_t)1 << city % 64); }

// Reverses `length` cities of the path from position `low` on, around its end if need be, and wakes the ends of the
// edges that this changes. With `either_way` the rest may be reversed instead.
template <bool either_way>
DEVICE void reverse(const tour &t, path &p, uint32_t low, uint32_t length) {
  const uint32_t before = around(t, low + t.n - 1), last = around(t, low + length - 1), after = around(t, low + length);
  for (uint32_t i = threadIdx.x; i < 4; i += blockDim.x) {
    const uint32_t end = i == 0 ? before : i == 1 ? low : i == 2 ? last : after;
    wake(t, city_at<0>(t, p, nullptr, end));
  }
  const bool rest = either_way && length > t.n - length;
  const uint32_t begin = rest ? after : low, moved = rest ? t.n - length : length;
  // The position of what is moved that has the first index in `order`, and that index.
  const uint32_t least = p.backwards ? around(t, begin + moved - 1) : begin;
  const uint32_t from = around(t, p.backwards ? p.start + t.n - least : p.start + least);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < moved / 2; i += blockDim.x) {
    const uint32_t a = around(t, from + i), b = around(t, from + moved - 1 - i);
    const uint16_t x = t.order[a], y = t.order[b];
    t.order[a] = y, t.order[b] = x, t.position[y] = a, t.position[x] = b;
  }
  if (rest) {  // the path is read in the other direction
    const uint32_t shift = around(t, low + last);
    p.start = around(t, p.backwards ? p.start + t.n - shift : p.start + shift);
    p.backwards = !p.backwards;
  }
  __syncthreads();
}
