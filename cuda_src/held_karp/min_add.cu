// Min-adds and nothing else: the rate that no other kernel of min-adds exceeds, in the unit of Held-Karp.
//
// It is not part of any solver. Benchmarks compare Held-Karp's kernels with it. Each of 8 values of a thread becomes the
// minimum of itself and its neighbour plus a cost, `rounds` times, in registers alone. The 8 results of a round depend
// on the round before, so several min-adds are under way at a time. A block takes `chunk` positions r of the 8 rows; the
// bytes of `length` and of `chunk` values are multiples of 64; `cost` holds a 16-bit value twice, and no sum wraps.
#include "device/device.cuh"

KERNEL min_add_repeat(int length, int chunk, int rounds, uint32_t cost, const uint16_t *__restrict__ values,
                      uint16_t *__restrict__ out) {
  using lane_type = lanes<uint16_t>;
  const lane_type more = splat<uint16_t>(cost);
  int begin = blockIdx.x * chunk, end = begin + chunk < length ? begin + chunk : length;
  for (int r = begin + threadIdx.x * lane_type::width; r < end; r += blockDim.x * lane_type::width) {
    lane_type best[8];
    UNROLL for (int j = 0; j < 8; j++) best[j] = load(values + (size_t)j * length + r);
    for (int i = 0; i < rounds; i++)
      UNROLL for (int j = 0; j < 8; j++) best[j] = min_add(best[j], best[(j + 1) % 8], more);
    UNROLL for (int j = 0; j < 8; j++) store(out + (size_t)j * length + r, best[j]);
  }
}
EXPORT_KERNEL(min_add_repeat)
