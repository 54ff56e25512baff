// Integer arithmetic. Built with -fwrapv: what does not fit is cut off, as on a GPU. Division by zero stops the process
// on a CPU and gives all ones on a GPU, so run.cpp looks at the divisor before.
#include "compute.hpp"

namespace ptx {
namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    return (T)(a + b);
  }
};
struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return (T)(a - b);
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    return (T)((uint64_t)a * (uint64_t)b);
  }
};
struct Divide {
  template <class T>
  static T of(T a, T b) {
    return std::is_signed_v<T> && b == (T)-1 ? (T)(0 - a) : (T)(a / b);
  }
};
struct Remainder {
  template <class T>
  static T of(T a, T b) {
    return std::is_signed_v<T> && b == (T)-1 ? (T)0 : (T)(a % b);
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct Negate {
  template <class T>
  static T of(T a) {
    return (T)(0 - a);
  }
};
struct Absolute {
  template <class T>
  static T of(T a) {
    return a < 0 ? (T)(0 - a) : a;
  }
};
struct MultiplyAdd {
  template <class T>
  static T of(T a, T b, T c) {
    return (T)((uint64_t)a * (uint64_t)b + (uint64_t)c);
  }
};

// Products of twice the width.
template <class T>
struct Twice;
template <>
struct Twice<uint16_t> {
  using type = uint32_t;
};
template <>
struct Twice<int16_t> {
  using type = int32_t;
};
template <>
struct Twice<uint32_t> {
  using type = uint64_t;
};
template <>
struct Twice<int32_t> {
  using type = int64_t;
};
template <>
struct Twice<uint64_t> {
  using type = unsigned __int128;
};
template <>
struct Twice<int64_t> {
  using type = __int128;
};
template <class T>
using twice = typename Twice<T>::type;

struct MultiplyHigh {
  template <class T>
  static T of(T a, T b) {
    return (T)((twice<T>)a * (twice<T>)b >> (8 * sizeof(T)));
  }
};
struct MultiplyHighAdd {
  template <class T>
  static T of(T a, T b, T c) {
    return (T)(MultiplyHigh::of(a, b) + c);
  }
};
template <class T>
void multiply_wide(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], (twice<T>)((twice<T>)get<T>(p, i.source[0]) * (twice<T>)get<T>(p, i.source[1])));
}
template <class T>
void multiply_wide_add(uint64_t *p, const Instruction &i) {
  const auto product = (twice<T>)((twice<T>)get<T>(p, i.source[0]) * (twice<T>)get<T>(p, i.source[1]));
  put(p, i.result[0], (twice<T>)(product + get<twice<T>>(p, i.source[2])));
}
template <class... T>
void add_wide(Table &table, Typed<T>... types) {
  ((table[std::string("mul.wide.") + types.name] = multiply_wide<T>), ...);
  ((table[std::string("mad.wide.") + types.name] = multiply_wide_add<T>), ...);
}

// Two 16-bit values side by side.
template <class F, class T>
void pairs(uint64_t *p, const Instruction &i) {
  const uint32_t a = get<uint32_t>(p, i.source[0]), b = get<uint32_t>(p, i.source[1]);
  const uint32_t low = (uint16_t)F::of((T)a, (T)b), high = (uint16_t)F::of((T)(a >> 16), (T)(b >> 16));
  put(p, i.result[0], high << 16 | low);
}
template <class F>
void add_pairs(Table &table, const std::string &name) {
  table[name + ".u16x2"] = pairs<F, uint16_t>;
  table[name + ".s16x2"] = pairs<F, int16_t>;
}

}  // namespace

void add_integers(Table &table) {
  add_binary<Add>(table, "add", u16, s16, u32, s32, u64, s64);
  add_binary<Subtract>(table, "sub", u16, s16, u32, s32, u64, s64);
  add_binary<Multiply>(table, "mul.lo", u16, s16, u32, s32, u64, s64);
  add_binary<MultiplyHigh>(table, "mul.hi", u16, s16, u32, s32, u64, s64);
  add_ternary<MultiplyAdd>(table, "mad.lo", u16, s16, u32, s32, u64, s64);
  add_ternary<MultiplyHighAdd>(table, "mad.hi", u16, s16, u32, s32, u64, s64);
  add_wide(table, u16, s16, u32, s32);
  add_binary<Divide>(table, "div", u16, s16, u32, s32, u64, s64);
  add_binary<Remainder>(table, "rem", u16, s16, u32, s32, u64, s64);
  add_binary<Minimum>(table, "min", u16, s16, u32, s32, u64, s64);
  add_binary<Maximum>(table, "max", u16, s16, u32, s32, u64, s64);
  add_unary<Negate>(table, "neg", s16, s32, s64);
  add_unary<Absolute>(table, "abs", s16, s32, s64);
  add_pairs<Add>(table, "add");
  add_pairs<Minimum>(table, "min");
  add_pairs<Maximum>(table, "max");
}

}  // namespace ptx
