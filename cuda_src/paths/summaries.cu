// Tables of distances reduced to a summary for each source, while the distances are on the device: nobody needs the
// table itself. The distances of a vertex from the W sources of a group are a line of memory (device/line.cuh), as
// phast.cu leaves them; `lines` brings the rows of other engines into that form.
//
// A summary has 6 + cutoffs + 2 decays + 2 nearest entries. The name of a target is its position in the input.
//
//   0                   number of targets reached
//   1, 2, 3             sum of their distances, in digits of half a word, the lowest first
//   4, 5                distance and name of the farthest target, of several the one with the smallest name
//   6 ...               for each cutoff the number of targets within it
//   then                for each decay the sum of opportunities * share, as two digits of one word each, the lower one first
//   then                distances of the nearest targets, ascending, and then their names; of several targets at one
//                       distance those with the smallest names; all ones where fewer are reached
//
// 1. fold: the targets are dealt to parts, stretches of neighbouring columns. A warp goes through a part piece by piece,
//    which stays in its caches: once for the sums and for the least and the largest distance of the piece, and again for
//    what these two may change. Its accumulators are lines too.
// 2. join: the parts of a source become one summary.
//
// Sums of integers, maxima and lists ordered by (distance, name) do not depend on the parts, so the host chooses their
// number as suits the device. Digits: with 32-bit keys a piece adds less than 2^16 values to a digit, which then is
// carried, so that nothing wraps; with 64-bit keys the third digit tells whether a sum fits 64 bits.
//
// Access: a target has opportunities, and a decay is a table of steps, each with the largest distance that it covers, in
// ascending order, and a share. With few steps they are added up as targets within cutoffs are counted, a line at a time,
// with the fall of the share from a step to the next one: opportunities within the limit of step i, times share i - share
// i+1. Else each distance looks up its step, since there may be a million of them: its leading bits are the number of a
// bucket, whose first step is known, and the steps from there to that of the next bucket are searched by halves. All are
// sums modulo 2^64, and the host makes sure that what comes out is less than 2^63.
//
// Memory traffic of a group: a line for each target, which is as much as the sweep writes.
#include "device/line.cuh"
#include "paths/distances.cuh"

constexpr uint32_t piece = 128;  // targets whose lines stay in the caches: 32 KiB of lines of 64 words
constexpr uint32_t few_steps = 16;
constexpr uint32_t sums = 1, farthest = 4, within = 6;  // entries of a summary; 0 is the number reached

// What is wanted: of each column its line and its name; distances larger than `most` count as not reached.
template <class T>
struct wanted_columns {
  uint32_t columns;
  const uint32_t *vertex, *name;
  T most;
  uint32_t cutoffs;
  const T *cutoff;
  uint32_t decays;
  const uint32_t *first_step;  // of each decay, and behind them the number of all steps
  const T *step;  // the largest distance that each step covers
  const uint32_t *share;  // of each step
  const uint32_t *first_bucket, *dropped;  // of each decay, and how many bits of a distance are no part of its bucket
  const uint32_t *bucket;  // of each bucket the first step that covers its least distance, and at the end the last step
  const uint64_t *opportunities;  // of each column
  uint32_t nearest;
};
template <class T>
DEVICE uint32_t first_access(const wanted_columns<T> &asked) {
  return within + asked.cutoffs;
}
template <class T>
DEVICE uint32_t first_nearest(const wanted_columns<T> &asked) {
  return first_access(asked) + 2 * asked.decays;
}
template <class T>
DEVICE uint32_t entries(const wanted_columns<T> &asked) {
  return first_nearest(asked) + 2 * asked.nearest;
}
// Digits of a sum: half of a word each. What is more in a word is carried to the next one.
template <class T>
constexpr int digit_bits = 4 * sizeof(T);
template <class T>
constexpr T digit_mask = (T)-1 >> digit_bits<T>;
// The least and the largest distance of a piece, for each source: all ones and 0 where nothing is reached.
template <class T, int W>
struct extremes {
  line<T, W> least = all_of<W>(no_path<T>()), most = all_of<W>((T)0);
};
template <int W, class T>
DEVICE extremes<T, W> add_sums(const wanted_columns<T> &asked, const T *lines, uint32_t begin, uint32_t end,
                               T *summary) {
  const line<T, W> one = all_of<W>((T)1), nothing = all_of<W>((T)0);
  line<T, W> reached = read_line<W>(summary), low = read_line<W>(summary + W), middle = read_line<W>(summary + 2 * W),
             high = read_line<W>(summary + 3 * W);
  extremes<T, W> found;
  for (uint32_t c = begin; c < end; c++) {
    const line<T, W> x = read_line<W>(lines + W * (size_t)asked.vertex[c]);
    UNROLL for (int k = 0; k < x.parts; k++) {
      const auto counts = x.part[k] <= asked.most;
      const auto value = where(counts, x.part[k], nothing.part[k]);
      reached.part[k] += where(counts, one.part[k], nothing.part[k]);
      middle.part[k] += value >> digit_bits<T>;
      low.part[k] += value & digit_mask<T>;
      found.most.part[k] = value > found.most.part[k] ? value : found.most.part[k];
      found.least.part[k] = x.part[k] < found.least.part[k] ? x.part[k] : found.least.part[k];
    }
  }
  // Not a function template, which would drop the alignment from the type of these words, and assume a register's.
  UNROLL for (int k = 0; k < low.parts; k++) {
    middle.part[k] += low.part[k] >> digit_bits<T>, low.part[k] &= digit_mask<T>;
    high.part[k] += middle.part[k] >> digit_bits<T>, middle.part[k] &= digit_mask<T>;
  }
  store_line(summary, reached), store_line(summary + W, low);
  store_line(summary + 2 * W, middle), store_line(summary + 3 * W, high);
  return found;
}
// Returns whether x <= limit for any of this thread's sources.
template <class T, int W>
DEVICE bool any_within(const line<T, W> &x, const line<T, W> &limit) {
  line<T, W> is;
  UNROLL for (int k = 0; k < x.parts; k++) is.part[k] =
      where(x.part[k] <= limit.part[k], all_of<W>((T)1).part[k], all_of<W>((T)0).part[k]);
  return any_value(is);
}
template <int W, class T>
DEVICE void find_farthest(const wanted_columns<T> &asked, const T *lines, uint32_t begin, uint32_t end, T *summary) {
  line<T, W> most = read_line<W>(summary), who = read_line<W>(summary + W);
  for (uint32_t c = begin; c < end; c++) {
    const line<T, W> x = read_line<W>(lines + W * (size_t)asked.vertex[c]), name = all_of<W>((T)asked.name[c]);
    UNROLL for (int k = 0; k < x.parts; k++) {
      const auto farther = (x.part[k] > most.part[k]) | ((x.part[k] == most.part[k]) & (name.part[k] < who.part[k]));
      const auto is = farther & (x.part[k] <= asked.most);
      most.part[k] = where(is, x.part[k], most.part[k]);
      who.part[k] = where(is, name.part[k], who.part[k]);
    }
  }
  store_line(summary, most), store_line(summary + W, who);
}
template <int W, class T>
DEVICE void count_within(const wanted_columns<T> &asked, T cutoff, const T *lines, uint32_t begin, uint32_t end,
                         T *summary) {
  const line<T, W> one = all_of<W>((T)1), nothing = all_of<W>((T)0);
  line<T, W> count = read_line<W>(summary);
  for (uint32_t c = begin; c < end; c++) {
    const line<T, W> x = read_line<W>(lines + W * (size_t)asked.vertex[c]);
    UNROLL for (int k = 0; k < x.parts; k++) count.part[k] += where(x.part[k] <= cutoff, one.part[k], nothing.part[k]);
  }
  store_line(summary, count);
}
// A sum modulo 2^64 has two digits, words of T: with 64-bit keys the second one is 0.
template <class T>
constexpr bool carries = sizeof(T) < sizeof(uint64_t);
template <class T>
DEVICE T high_digit(uint64_t value) {
  return carries<T> ? (T)(value >> 4 * sizeof(T) >> 4 * sizeof(T)) : 0;
}
template <class T>
DEVICE void add_to(T *low, T *high, T low_digit, T high_digit) {
  const T sum = *low + low_digit;
  *high += high_digit + (carries<T> && sum < low_digit), *low = sum;
}
// Adds the opportunities of the targets within a limit, times a share.
template <int W, class T>
DEVICE void add_within(const wanted_columns<T> &asked, T limit, uint64_t share, const T *lines, uint32_t begin,
                       uint32_t end, T *summary) {
  const line<T, W> nothing = all_of<W>((T)0), one = all_of<W>((T)carries<T>);
  line<T, W> low = read_line<W>(summary), high = read_line<W>(summary + W);
  for (uint32_t c = begin; c < end; c++) {
    const uint64_t value = asked.opportunities[c] * share;
    const line<T, W> x = read_line<W>(lines + W * (size_t)asked.vertex[c]);
    const line<T, W> more = all_of<W>((T)value), above = all_of<W>(high_digit<T>(value));
    UNROLL for (int k = 0; k < x.parts; k++) {
      const auto is = x.part[k] <= limit;
      const auto adds = where(is, more.part[k], nothing.part[k]);
      low.part[k] += adds;
      high.part[k] += where(is, above.part[k], nothing.part[k]);
      high.part[k] += where(low.part[k] < adds, one.part[k], nothing.part[k]);
    }
  }
  store_line(summary, low), store_line(summary + W, high);
}
// Adds the opportunities of the targets, each times the share of its step.
template <int W, class T>
DEVICE void add_by_steps(const wanted_columns<T> &asked, uint32_t decay, T most, const T *lines, uint32_t begin,
                         uint32_t end, T *summary) {
  const uint32_t *const bucket = asked.bucket + asked.first_bucket[decay], dropped = asked.dropped[decay];
  for (uint32_t c = begin; c < end; c++) {
    const line<T, W> x = read_line<W>(lines + W * (size_t)asked.vertex[c]);
    if (!any_within(x, all_of<W>(most))) continue;
    each_value(x, [=](uint32_t k, T value) {
      if (value > most) return;
      const uint32_t *const near = bucket + (value >> dropped);
      uint32_t step = near[0];  // the step sought is this one, or one of the next `more`
      for (uint32_t more = near[1] - step; more > 0;) {
        const uint32_t half = (more + 1) / 2;
        step += half & -(uint32_t)(asked.step[step + half - 1] < value), more -= half;
      }
      const uint64_t adds = asked.opportunities[c] * asked.share[step];
      add_to(summary + k, summary + W + k, (T)adds, high_digit<T>(adds));
    });
  }
}
template <int W, class T>
DEVICE void add_access(const wanted_columns<T> &asked, uint32_t decay, const line<T, W> &least, const T *lines,
                       uint32_t begin, uint32_t end, T *summary) {
  const uint32_t first = asked.first_step[decay], last = asked.first_step[decay + 1] - 1;
  if (!any_within(least, all_of<W>(asked.step[last]))) return;
  if (last - first >= few_steps) return add_by_steps<W>(asked, decay, asked.step[last], lines, begin, end, summary);
  for (uint32_t i = first; i <= last; i++) {  // the share minus the next one, modulo 2^64
    const uint64_t falls = asked.share[i] - (uint64_t)(i < last ? asked.share[i + 1] : 0);
    if (any_within(least, all_of<W>(asked.step[i])))
      add_within<W>(asked, asked.step[i], falls, lines, begin, end, summary);
  }
}
// Inserts a target into a list in ascending order, whose entries lie `step` apart, distances and then names; the last
// one falls out.
template <class T>
DEVICE void insert(T *list, uint32_t length, size_t step, T distance, T name) {
  T *const names = list + length * step;
  uint32_t i = length;
  for (; i > 0; i--) {
    const T before = list[(i - 1) * step];
    if (before < distance || (before == distance && names[(i - 1) * step] <= name)) break;
    if (i < length) list[i * step] = before, names[i * step] = names[(i - 1) * step];
  }
  if (i < length) list[i * step] = distance, names[i * step] = name;
}
template <int W, class T>
DEVICE void find_nearest(const wanted_columns<T> &asked, const T *lines, uint32_t begin, uint32_t end, T *summary) {
  const T *const last = summary + W * (size_t)(asked.nearest - 1);
  line<T, W> limit = read_line<W>(last);
  for (uint32_t c = begin; c < end; c++) {
    const line<T, W> x = read_line<W>(lines + W * (size_t)asked.vertex[c]);
    if (!any_within(x, limit)) continue;
    each_value(x, [=](uint32_t k, T value) {
      if (value <= last[k] && value <= asked.most) insert(summary + k, asked.nearest, W, value, (T)asked.name[c]);
    });
    limit = read_line<W>(last);
  }
}
// Folds the columns from `begin` to `end` into a summary, which is empty before.
template <int W, class T>
DEVICE void fold(const wanted_columns<T> &asked, const T *lines, uint32_t begin, uint32_t end, T *summary) {
  const uint32_t count = entries(asked), access = first_access(asked), nearest = first_nearest(asked);
  for (uint32_t i = 0; i < count; i++)
    store_line(summary + W * (size_t)i, all_of<W>(i == farthest + 1 || i >= nearest ? no_path<T>() : (T)0));
  for (uint32_t from = begin; from < end; from += piece) {
    const uint32_t to = end - from < piece ? end : from + piece;
    const extremes<T, W> found = add_sums<W>(asked, lines, from, to, summary);
    if (any_within(read_line<W>(summary + W * farthest), found.most))
      find_farthest<W>(asked, lines, from, to, summary + W * farthest);
    for (uint32_t i = 0; i < asked.cutoffs; i++)
      if (any_within(found.least, all_of<W>(asked.cutoff[i])))
        count_within<W>(asked, asked.cutoff[i], lines, from, to, summary + W * (size_t)(within + i));
    for (uint32_t i = 0; i < asked.decays; i++)
      add_access<W>(asked, i, found.least, lines, from, to, summary + W * (size_t)(access + 2 * i));
    if (asked.nearest && any_within(found.least, read_line<W>(summary + W * (size_t)(nearest + asked.nearest - 1))))
      find_nearest<W>(asked, lines, from, to, summary + W * (size_t)nearest);
  }
}
// Adds a part's summary, whose entries lie `step` apart, to one whose entries lie side by side.
template <class T>
DEVICE void add_part(const wanted_columns<T> &asked, const T *part, size_t step, T *whole) {
  const uint32_t access = first_access(asked), nearest = first_nearest(asked);
  for (uint32_t i = 0; i < farthest; i++) whole[i] += part[i * step];
  for (uint32_t i = sums; i < sums + 2; i++) whole[i + 1] += whole[i] >> digit_bits<T>, whole[i] &= digit_mask<T>;
  const T distance = part[farthest * step], name = part[(farthest + 1) * step];
  if (distance > whole[farthest] || (distance == whole[farthest] && name < whole[farthest + 1]))
    whole[farthest] = distance, whole[farthest + 1] = name;
  for (uint32_t i = within; i < access; i++) whole[i] += part[i * step];
  for (uint32_t i = access; i < nearest; i += 2) add_to(whole + i, whole + i + 1, part[i * step], part[(i + 1) * step]);
  for (uint32_t i = 0; i < asked.nearest && part[(nearest + i) * step] != no_path<T>(); i++)
    insert(whole + nearest, asked.nearest, 1, part[(nearest + i) * step], part[(nearest + asked.nearest + i) * step]);
}
// The kernels. Block b of fold and lines works for group b % groups, and is number b / groups of its blocks.
// summaries_fold_*: `lines` (groups, n, W) to `summaries` (groups, parts, entries, W).
// summaries_join_*: these to `out` (sources, entries).
// summaries_lines_*: `rows` (sources, columns) to `lines` (groups, columns, W).
template <int W, class T>
DEVICE void fold_parts(uint32_t n, uint32_t groups, uint32_t parts, const wanted_columns<T> &asked, const T *lines,
                       T *summaries) {
  const uint32_t group = blockIdx.x % groups, own = blockIdx.x / groups, blocks = gridDim.x / groups;
  lines += group * (size_t)n * W, summaries += group * (size_t)parts * entries(asked) * W;
  for (uint32_t p = own * warps() + warp(); p < parts; p += blocks * warps()) {
    const uint32_t begin = (uint32_t)((uint64_t)asked.columns * p / parts);
    const uint32_t end = (uint32_t)((uint64_t)asked.columns * (p + 1) / parts);
    fold<W>(asked, lines, begin, end, summaries + p * (size_t)entries(asked) * W);
  }
}
template <int W, class T>
DEVICE void join_parts(uint32_t parts, uint32_t sources, const wanted_columns<T> &asked, const T *summaries, T *out) {
  const uint32_t count = entries(asked);
  for (uint32_t s = blockIdx.x * blockDim.x + threadIdx.x; s < sources; s += gridDim.x * blockDim.x) {
    const T *own = summaries + s / W * ((size_t)parts * count * W) + s % W;
    T *whole = out + s * (size_t)count;
    for (uint32_t i = 0; i < count; i++) whole[i] = own[i * (size_t)W];
    for (uint32_t p = 1; p < parts; p++) add_part(asked, own + p * (size_t)count * W, W, whole);
  }
}
template <int W, class T>
DEVICE void lines_of(uint32_t groups, uint32_t sources, uint32_t columns, const T *rows, T *lines) {
  const uint32_t group = blockIdx.x % groups, own = blockIdx.x / groups, blocks = gridDim.x / groups;
  for (uint32_t c = own * blockDim.x + threadIdx.x; c < columns; c += blocks * blockDim.x)
    for (uint32_t k = 0; k < W; k++) {
      const uint32_t s = group * W + k;
      lines[(group * (size_t)columns + c) * W + k] = s < sources ? rows[s * (size_t)columns + c] : no_path<T>();
    }
}
#define SUMMARY_KERNELS(T, code, W)                                                                                 \
  KERNEL summaries_fold_##code##_##W(uint32_t n, uint32_t groups, uint32_t parts, wanted_columns<T> asked,          \
                                     const T *lines, T *summaries) {                                                \
    fold_parts<W>(n, groups, parts, asked, lines, summaries);                                                       \
  }                                                                                                                 \
  EXPORT_KERNEL(summaries_fold_##code##_##W)                                                                        \
  KERNEL summaries_join_##code##_##W(uint32_t parts, uint32_t sources, wanted_columns<T> asked, const T *summaries, \
                                     T *out) {                                                                      \
    join_parts<W>(parts, sources, asked, summaries, out);                                                           \
  }                                                                                                                 \
  EXPORT_KERNEL(summaries_join_##code##_##W)
#define LINE_KERNEL(T, code, W)                                                                                       \
  KERNEL summaries_lines_##code##_##W(uint32_t groups, uint32_t sources, uint32_t columns, const T *rows, T *lines) { \
    lines_of<W>(groups, sources, columns, rows, lines);                                                               \
  }                                                                                                                   \
  EXPORT_KERNEL(summaries_lines_##code##_##W)
SUMMARY_KERNELS(uint32_t, u4, 16)
SUMMARY_KERNELS(uint32_t, u4, 32)
SUMMARY_KERNELS(uint32_t, u4, 64)
SUMMARY_KERNELS(uint64_t, u8, 16)
SUMMARY_KERNELS(uint64_t, u8, 32)
LINE_KERNEL(uint32_t, u4, 16)
LINE_KERNEL(uint64_t, u8, 16)
