// Finds the shortest tour of each colony in an iteration, so that the host downloads one array with all lengths and these
// tours, not all tours or one tour after the other.
#include "ants/construction.cuh"

// best[colony]: its shortest tour, the first of equal ones, four cities to a word. A group of threads
// (device/group.cuh) works on a colony.
KERNEL best_tours(colony_sizes sizes, const uint64_t *__restrict__ lengths, const uint16_t *__restrict__ tours,
                  uint64_t *__restrict__ best) {
  const int n = sizes.n, words = (n + 3) / 4;
  for (int colony = blockIdx.x * warps() + warp(); colony < sizes.colonies; colony += gridDim.x * warps()) {
    const uint64_t *own = lengths + (size_t)colony * sizes.ants;
    uint64_t shortest = ~0ull, first = ~0ull;
    for (int ant = lane(); ant < sizes.ants; ant += warp_size)
      if (own[ant] < shortest) shortest = own[ant], first = ant;
    const uint64_t least = group_min(shortest);
    const uint64_t ant = group_min(shortest == least ? first : ~0ull);
    const uint16_t *tour = tours + ((size_t)colony * sizes.ants + ant) * n;
    for (int word = lane(); word < words; word += warp_size) {
      uint64_t four = 0;
      for (int k = 0; k < 4 && 4 * word + k < n; k++) four |= (uint64_t)tour[4 * word + k] << 16 * k;
      best[(size_t)colony * words + word] = four;
    }
  }
}
EXPORT_KERNEL(best_tours)
