// The tables from which an ant chooses among all cities (head_tail.cuh says how). ant_system.cu makes them from the
// pheromone in every iteration.
//
// A city's row has a head, its 32 nearest cities, and a tail, all others.
#pragma once
#include "ants/construction.cuh"

// What a step needs of the city that it leaves: 256 bytes.
struct head_row {
  uint32_t sums[32];  // running sums of the head's weights, in units in which the whole row is below 2^30
  uint16_t city[32];  // the head's cities; with fewer than 32 the city itself follows, with weight 0
  uint64_t tail;      // the weight of the tail
  uint32_t total;     // the weight of the whole row, in the units of `sums`
  uint32_t tail_sum;  // the weight of the tail in units of 2^tail_shift
  uint32_t tail_shift;
  uint32_t unused[11];
};
// Each has one row for each city of each colony, except the heuristic, which is the same for all colonies.
struct head_tail_tables {
  int stride;                 // length of a row of the tail: n, rounded up to a multiple of 64
  uint32_t *rows;             // one head_row each
  uint64_t *head;             // 32 in each row: exact weights
  uint32_t *tail;             // `stride` in each row: weights in units of 2^tail_shift, 0 at the head's cities
  uint32_t *tail_prefix;      // stride / 64 in each row: running sums of the tail, one for each 64 cities
  uint64_t *pheromone;        // `stride` in each row
  const uint32_t *heuristic;  // `stride` in each row, 0 at the head's cities
};
DEVICE head_row *row_of(const head_tail_tables &t, const colony_city &c) { return (head_row *)t.rows + row_number(c); }
