// How many tours of a population have each edge, in a table that grows.
#pragma once
#include "host/edge_assembly.hpp"

// Adds `by` to the counts of edges, and to `used` the keys that are new. Returns false, with the counts as they were, if
// the table would get more than half full.
inline bool add_to_counts(const edge_counts &edges, const uint64_t *changed, uint64_t count, int32_t by,
                          uint64_t &used) {
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t place = place_of(edges, changed[i]);
    if (edges.keys[place] == ~0ull) {
      if (2 * (used + 1) > edges.capacity) {
        while (i-- > 0) edges.counts[place_of(edges, changed[i])] -= by;
        return false;
      }
      edges.keys[place] = changed[i], used++;
    }
    edges.counts[place] += by;
  }
  return true;
}

class edge_table {
 public:
  edge_counts view() { return {keys_.size(), keys_.data(), counts_.data()}; }
  void add(const vector<uint64_t> &changed, int32_t by) {
    while (!add_to_counts(view(), changed.data(), changed.size(), by, used_)) grow();
  }

 private:
  vector<uint64_t> keys_ = vector<uint64_t>(1 << 12, ~0ull);
  vector<int32_t> counts_ = vector<int32_t>(1 << 12);
  uint64_t used_ = 0;

  void grow() {
    vector<uint64_t> keys(2 * keys_.size(), ~0ull);
    vector<int32_t> counts(keys.size());
    keys.swap(keys_), counts.swap(counts_), used_ = 0;
    for (size_t i = 0; i < keys.size(); i++)
      if (counts[i] > 0) add_to_counts(view(), &keys[i], 1, counts[i], used_);
  }
};
