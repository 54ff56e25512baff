// The min-plus product of a cost matrix with rows of values: out[j][r] = min over i of rows[i][r] + cost[i][j].
//
// It is not part of any solver. It is the smallest kernel that shows the rule "one source, two compilers" at the
// machine's speed. Tests run it. A block takes `chunk` positions r; a thread keeps 8 targets in registers. `targets` is a
// multiple of 8; the bytes of `length` and of `chunk` values are multiples of 64; values stay below 2^15, so that no sum
// wraps.
#include "device/device.cuh"

KERNEL minplus_multiply(int sources, int targets, int length, int chunk, const uint16_t *__restrict__ rows,
                        const uint32_t *__restrict__ cost, uint16_t *__restrict__ out) {
  using lane_type = lanes<uint16_t>;
  int begin = blockIdx.x * chunk, end = begin + chunk < length ? begin + chunk : length;
  for (int j0 = 0; j0 < targets; j0 += 8)
    for (int r = begin + threadIdx.x * lane_type::width; r < end; r += blockDim.x * lane_type::width) {
      lane_type best[8];
      UNROLL for (int j = 0; j < 8; j++) best[j] = splat<uint16_t>(0x7fff7fff);
      for (int i = 0; i < sources; i++) {
        lane_type x = load(rows + (size_t)i * length + r);
        UNROLL for (int j = 0; j < 8; j++) best[j] = min(best[j], x + splat<uint16_t>(cost[i * targets + j0 + j]));
      }
      UNROLL for (int j = 0; j < 8; j++) store(out + (size_t)(j0 + j) * length + r, best[j]);
    }
}
EXPORT_KERNEL(minplus_multiply)
