// A generation of edge assembly crossover, as independent pairs of tours that are dealt to threads, and the counts of the
// population's edges. edge_assembly.hpp says what each function takes and returns.
#include "host/edge_assembly.hpp"

#include "host/edge_table.hpp"
#include "host/pairs.hpp"
#include "host/share.hpp"

FUNCTION edge_assembly_generation(cities where, near_lists near, assembly_rules rules, edge_counts edges,
                                  const int64_t *entropy, uint32_t count, uint32_t *tours, const uint32_t *partners,
                                  const uint32_t *partner_of, const uint64_t *streams, int64_t *lengths,
                                  uint32_t *taken, result<uint64_t> &removed, result<uint64_t> &added) {
  const size_t n = where.n;
  vector<vector<uint64_t>> changes(2 * (size_t)count);
  with_costs(where, [&](const auto &costs) {
    using costs_type = std::decay_t<decltype(costs)>;
    share(
        count, rules.threads, [&] { return pair_worker<costs_type>(where, near, costs, rules); },
        [&](pair_worker<costs_type> &worker, uint64_t i) {
          taken[i] =
              worker.assemble(edges, entropy, tours + i * n, partners + partner_of[i] * n, streams[i], lengths[i]);
          changes[2 * i] = worker.removed, changes[2 * i + 1] = worker.added;
          worker.removed.clear(), worker.added.clear();
        });
  });
  for (size_t i = 0; i < count; i++) {
    removed.insert(removed.end(), changes[2 * i].begin(), changes[2 * i].end());
    added.insert(added.end(), changes[2 * i + 1].begin(), changes[2 * i + 1].end());
  }
}
FUNCTION edge_assembly_count(edge_counts edges, uint64_t count, const uint64_t *changed, int32_t by, uint64_t *used,
                             uint32_t *refused) {
  *refused = !add_to_counts(edges, changed, count, by, *used);
}
FUNCTION edge_assembly_keys(uint32_t n, uint32_t count, const uint32_t *tours, result<uint64_t> &found) {
  found.reserve((size_t)n * count);
  for (const uint32_t *tour = tours; tour != tours + (size_t)n * count; tour += n)
    for (uint32_t i = 0; i < n; i++) found.push_back(edge_key(tour[i], tour[i + 1 == n ? 0 : i + 1]));
}
FUNCTION edge_assembly_cycles(uint32_t n, const uint32_t *a, const uint32_t *b, uint64_t stream,
                              result<uint32_t> &cycles, result<uint64_t> &starts) {
  links of_a(2 * (size_t)n), of_b(2 * (size_t)n);
  link_up(n, a, of_a), link_up(n, b, of_b);
  random_numbers random(stream);
  ab_cycles found(n);
  found.find(of_a, of_b, random);
  cycles.assign(found.nodes.begin(), found.nodes.end()), starts.assign(found.starts.begin(), found.starts.end());
}
EXPORT_FUNCTION(edge_assembly_generation)
EXPORT_FUNCTION(edge_assembly_count)
EXPORT_FUNCTION(edge_assembly_keys)
EXPORT_FUNCTION(edge_assembly_cycles)
