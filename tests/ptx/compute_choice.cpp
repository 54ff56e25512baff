// Moves, comparisons, selections, and conversions between integers.
#include "compute.hpp"

namespace ptx {
namespace {

struct Same {
  template <class T>
  static T of(T a) {
    return a;
  }
};
template <class T, int parts>
void pack(uint64_t *p, const Instruction &i) {
  uint64_t x = 0;
  for (int k = 0; k < parts; k++) x |= (uint64_t)get<T>(p, i.source[k]) << (8 * sizeof(T) * k);
  p[i.result[0]] = x;
}
template <class T, int parts>
void unpack(uint64_t *p, const Instruction &i) {
  const uint64_t x = p[i.source[0]];
  for (int k = 0; k < parts; k++)
    if (i.result[k] >= 0) put(p, i.result[k], (T)(x >> (8 * sizeof(T) * k)));
}
void add_moves(Table &table) {
  const Typed<bool> predicate{"pred"};
  add_unary<Same>(table, "mov", predicate, b16, u16, s16, b32, u32, s32, b64, u64, s64, f32, f64);
  table["pack2.b32"] = pack<uint16_t, 2>, table["unpack2.b32"] = unpack<uint16_t, 2>;
  table["pack2.b64"] = pack<uint32_t, 2>, table["unpack2.b64"] = unpack<uint32_t, 2>;
  table["pack4.b64"] = pack<uint16_t, 4>, table["unpack4.b64"] = unpack<uint16_t, 4>;
}

struct Equal {
  template <class T>
  static bool of(T a, T b) {
    return a == b;
  }
};
struct Differ {
  template <class T>
  static bool of(T a, T b) {
    return a != b && a == a && b == b;
  }
};
struct Less {
  template <class T>
  static bool of(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  static bool of(T a, T b) {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a >= b;
  }
};
// The comparisons of floats that hold for NaN, too: the opposite does not hold.
template <class F>
struct Unless {
  template <class T>
  static bool of(T a, T b) {
    return !F::of(a, b);
  }
};
struct Ordered {
  template <class T>
  static bool of(T a, T b) {
    return a == a && b == b;
  }
};
struct Alone {
  static bool of(bool compared, bool) { return compared; }
};
struct Both {
  static bool of(bool compared, bool other) { return compared && other; }
};
struct Either {
  static bool of(bool compared, bool other) { return compared || other; }
};
struct One {
  static bool of(bool compared, bool other) { return compared != other; }
};
// setp.CMP.BOOL d|e, a, b, c: d = (a CMP b) BOOL c, e = !(a CMP b) BOOL c.
template <class F, class B, class T>
void compare(uint64_t *p, const Instruction &i) {
  const bool compared = F::of(get<T>(p, i.source[0]), get<T>(p, i.source[1]));
  const bool other = i.sources > 2 && (p[i.source[2]] & 1);
  put(p, i.result[0], B::of(compared, other));
  if (i.result[1] >= 0) put(p, i.result[1], B::of(!compared, other));
}
template <class F, class... T>
void add_compare(Table &table, const std::string &name, Typed<T>... types) {
  ((table["setp." + name + "." + types.name] = compare<F, Alone, T>), ...);
  ((table["setp." + name + ".and." + types.name] = compare<F, Both, T>), ...);
  ((table["setp." + name + ".or." + types.name] = compare<F, Either, T>), ...);
  ((table["setp." + name + ".xor." + types.name] = compare<F, One, T>), ...);
}
void add_comparisons(Table &table) {
  add_compare<Equal>(table, "eq", b16, u16, s16, b32, u32, s32, b64, u64, s64, f32, f64);
  add_compare<Differ>(table, "ne", b16, u16, s16, b32, u32, s32, b64, u64, s64, f32, f64);
  add_compare<Less>(table, "lt", u16, s16, u32, s32, u64, s64, f32, f64);
  add_compare<LessOrEqual>(table, "le", u16, s16, u32, s32, u64, s64, f32, f64);
  add_compare<Greater>(table, "gt", u16, s16, u32, s32, u64, s64, f32, f64);
  add_compare<GreaterOrEqual>(table, "ge", u16, s16, u32, s32, u64, s64, f32, f64);
  add_compare<Less>(table, "lo", u16, u32, u64);
  add_compare<LessOrEqual>(table, "ls", u16, u32, u64);
  add_compare<Greater>(table, "hi", u16, u32, u64);
  add_compare<GreaterOrEqual>(table, "hs", u16, u32, u64);
  add_compare<Unless<Differ>>(table, "equ", f32, f64);
  add_compare<Unless<Equal>>(table, "neu", f32, f64);
  add_compare<Unless<GreaterOrEqual>>(table, "ltu", f32, f64);
  add_compare<Unless<Greater>>(table, "leu", f32, f64);
  add_compare<Unless<LessOrEqual>>(table, "gtu", f32, f64);
  add_compare<Unless<Less>>(table, "geu", f32, f64);
  add_compare<Ordered>(table, "num", f32, f64);
  add_compare<Unless<Ordered>>(table, "nan", f32, f64);
}

template <class T>
void select(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], get<T>(p, i.source[p[i.source[2]] & 1 ? 0 : 1]));
}
template <class... T>
void add_select(Table &table, Typed<T>... types) {
  ((table[std::string("selp.") + types.name] = select<T>), ...);
}

template <class To, class From>
void convert(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], (To)get<From>(p, i.source[0]));
}
template <class To, class... From>
void add_conversion(Table &table, Typed<To> to, Typed<From>... from) {
  ((table[std::string("cvt.") + to.name + "." + from.name] = convert<To, From>), ...);
}
// A narrow result fills a wider register with its sign, so it is kept with its sign.
template <class... To>
void add_conversions(Table &table, Typed<To>... to) {
  (add_conversion(table, to, u8, s8, u16, s16, u32, s32, u64, s64), ...);
}

}  // namespace

void add_choices(Table &table) {
  add_moves(table);
  add_comparisons(table);
  add_select(table, b16, u16, s16, b32, u32, s32, b64, u64, s64, f32, f64);
  add_conversions(table, u8, u16, s16, u32, s32, u64, s64);
}

}  // namespace ptx
