// Bits: logic, shifts, fields, permutations. Counts of shifts beyond the width give 0 or the sign, as PTX says, and not
// what C++ leaves open.
#include "compute.hpp"

namespace ptx {
namespace {

struct And {
  template <class T>
  static T of(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  static T of(T a) {
    return (T)~a;
  }
  static bool of(bool a) { return !a; }
};
template <class T>
void shift_left(uint64_t *p, const Instruction &i) {
  const uint32_t by = get<uint32_t>(p, i.source[1]);
  put(p, i.result[0], by < 8 * sizeof(T) ? (T)(get<T>(p, i.source[0]) << by) : (T)0);
}
template <class T>
void shift_right(uint64_t *p, const Instruction &i) {
  constexpr uint32_t width = 8 * sizeof(T);
  const uint32_t by = get<uint32_t>(p, i.source[1]);
  const T x = get<T>(p, i.source[0]), beyond = std::is_signed_v<T> ? (T)(x >> (width - 1)) : (T)0;
  put(p, i.result[0], by < width ? (T)(x >> by) : beyond);
}
template <class... T>
void add_shifts(Table &table, Typed<T>... types) {
  ((table[std::string("shl.") + types.name] = shift_left<T>), ...);
  ((table[std::string("shr.") + types.name] = shift_right<T>), ...);
}

// Counts of bits: 32-bit results.
template <class T>
void leading_zeros(uint64_t *p, const Instruction &i) {
  const T x = get<T>(p, i.source[0]);
  put(p, i.result[0], (uint32_t)(x ? __builtin_clzll(x) - (64 - 8 * sizeof(T)) : 8 * sizeof(T)));
}
template <class T>
void population(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], (uint32_t)__builtin_popcountll(get<T>(p, i.source[0])));
}
// The position of the highest bit that differs from the sign, or all ones.
template <class T>
void find_highest(uint64_t *p, const Instruction &i) {
  const T x = get<T>(p, i.source[0]);
  const uint64_t bits = (std::make_unsigned_t<T>)(std::is_signed_v<T> && x < 0 ? (T)~x : x);
  put(p, i.result[0], bits ? (uint32_t)(63 - __builtin_clzll(bits)) : ~0u);
}
struct Reverse {
  template <class T>
  static T of(T a) {
    T b = 0;
    for (unsigned k = 0; k < 8 * sizeof(T); k++) b = (T)(b << 1 | (a >> k & 1));
    return b;
  }
};

// Fields of bits. Position and length are the low 8 bits of their operands.
template <class T>
void extract_field(uint64_t *p, const Instruction &i) {
  constexpr unsigned width = 8 * sizeof(T);
  const T a = get<T>(p, i.source[0]);
  const unsigned position = (uint8_t)p[i.source[1]], length = (uint8_t)p[i.source[2]];
  const unsigned top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
  const bool sign = std::is_signed_v<T> && length > 0 && (uint64_t)a >> top & 1;
  T field = 0;
  for (unsigned k = 0; k < width; k++) {
    const bool bit = k < length && position + k < width ? (uint64_t)a >> (position + k) & 1 : sign;
    field = (T)((uint64_t)field | (uint64_t)bit << k);
  }
  put(p, i.result[0], field);
}
template <class T>
void insert_field(uint64_t *p, const Instruction &i) {
  const uint64_t a = get<T>(p, i.source[0]), b = get<T>(p, i.source[1]);
  const unsigned position = (uint8_t)p[i.source[2]], length = (uint8_t)p[i.source[3]];
  const uint64_t ones = length < 64 ? (1ull << length) - 1 : ~0ull;
  const uint64_t mask = position < 64 ? ones << position : 0, value = position < 64 ? a << position : 0;
  put(p, i.result[0], (T)((b & ~mask) | (value & mask)));
}

// 64 bits (b high, a low) shifted by c, of which the upper or the lower half is the result.
template <bool left, bool clamp>
void funnel(uint64_t *p, const Instruction &i) {
  const uint64_t both = (uint64_t)get<uint32_t>(p, i.source[1]) << 32 | get<uint32_t>(p, i.source[0]);
  const uint32_t c = get<uint32_t>(p, i.source[2]), by = clamp ? (c < 32 ? c : 32) : c & 31;
  put(p, i.result[0], (uint32_t)(left ? both << by >> 32 : both >> by));
}
// Any logical function of three inputs: bit k of the table is its value for the inputs k = abc.
void lookup3(uint64_t *p, const Instruction &i) {
  const uint32_t a = get<uint32_t>(p, i.source[0]), b = get<uint32_t>(p, i.source[1]),
                 c = get<uint32_t>(p, i.source[2]);
  const uint32_t table = get<uint32_t>(p, i.source[3]);
  uint32_t x = 0;
  for (int k = 0; k < 8; k++)
    if (table >> k & 1) x |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  put(p, i.result[0], x);
}
// Four bytes of eight (b high, a low), by four selectors; bit 3 of a selector takes the byte's sign instead.
void permute(uint64_t *p, const Instruction &i) {
  const uint64_t both = (uint64_t)get<uint32_t>(p, i.source[1]) << 32 | get<uint32_t>(p, i.source[0]);
  const uint32_t selectors = get<uint32_t>(p, i.source[2]);
  uint32_t x = 0;
  for (int k = 0; k < 4; k++) {
    const uint32_t selector = selectors >> 4 * k & 15;
    const uint8_t byte = (uint8_t)(both >> 8 * (selector & 7));
    x |= (uint32_t)(selector & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * k;
  }
  put(p, i.result[0], x);
}

}  // namespace

void add_bits(Table &table) {
  const Typed<bool> predicate{"pred"};
  add_binary<And>(table, "and", predicate, b16, b32, b64);
  add_binary<Or>(table, "or", predicate, b16, b32, b64);
  add_binary<Xor>(table, "xor", predicate, b16, b32, b64);
  add_unary<Not>(table, "not", predicate, b16, b32, b64);
  add_shifts(table, b16, b32, b64, u16, u32, u64, s16, s32, s64);
  add_unary<Reverse>(table, "brev", b32, b64);
  table["clz.b32"] = leading_zeros<uint32_t>, table["clz.b64"] = leading_zeros<uint64_t>;
  table["popc.b32"] = population<uint32_t>, table["popc.b64"] = population<uint64_t>;
  table["bfind.u32"] = find_highest<uint32_t>, table["bfind.u64"] = find_highest<uint64_t>;
  table["bfind.s32"] = find_highest<int32_t>, table["bfind.s64"] = find_highest<int64_t>;
  table["bfe.u32"] = extract_field<uint32_t>, table["bfe.s32"] = extract_field<int32_t>;
  table["bfe.u64"] = extract_field<uint64_t>, table["bfe.s64"] = extract_field<int64_t>;
  table["bfi.b32"] = insert_field<uint32_t>, table["bfi.b64"] = insert_field<uint64_t>;
  table["shf.l.wrap.b32"] = funnel<true, false>, table["shf.r.wrap.b32"] = funnel<false, false>;
  table["shf.l.clamp.b32"] = funnel<true, true>, table["shf.r.clamp.b32"] = funnel<false, true>;
  table["lop3.b32"] = lookup3;
  table["prmt.b32"] = permute;
}

}  // namespace ptx
