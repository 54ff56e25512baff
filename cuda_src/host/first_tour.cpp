// First tours by quick Boruvka (host/first_tour.hpp).
#include "host/first_tour.hpp"

#include "host/random.hpp"
#include "host/share.hpp"

// Writes `count` tours, shape (count, n): the nodes in order. Tour i follows from the instance, the lists and
// streams[i].
FUNCTION first_tour_construct(cities where, near_lists near, uint32_t count, const uint64_t *streams, uint32_t threads,
                              uint32_t *tours) {
  share(
      count, threads, [&] { return first_tour(where, near); },
      [&](first_tour &own, uint64_t i) {
        random_numbers random(streams[i]);
        own.construct(random, tours + i * where.n);
      });
}
EXPORT_FUNCTION(first_tour_construct)
