// Floats and doubles. The kernels are compiled with --fmad=false and round to nearest, as C++ does here.
#include <cmath>
#include <limits>

#include "compute.hpp"

namespace ptx {
namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    return a * b;
  }
};
struct Divide {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return std::fmin(a, b);
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return std::fmax(a, b);
  }
};
struct Fused {
  template <class T>
  static T of(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct Negate {
  template <class T>
  static T of(T a) {
    return -a;
  }
};
struct Absolute {
  template <class T>
  static T of(T a) {
    return std::fabs(a);
  }
};
struct Root {
  template <class T>
  static T of(T a) {
    return std::sqrt(a);
  }
};

template <class To, class From>
void convert(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], (To)get<From>(p, i.source[0]));
}
// To an integer, towards zero; what does not fit becomes the nearest that does, and NaN becomes 0.
template <class To, class From>
void truncate(uint64_t *p, const Instruction &i) {
  const From x = std::trunc(get<From>(p, i.source[0]));
  const From low = (From)std::numeric_limits<To>::min(), high = std::ldexp((From)1, std::numeric_limits<To>::digits);
  const To limited = x < high ? (x > low ? (To)x : std::numeric_limits<To>::min()) : std::numeric_limits<To>::max();
  put(p, i.result[0], x == x ? limited : (To)0);
}
template <class F, class I>
void add_conversion(Table &table, Typed<F> real, Typed<I> whole) {
  table[std::string("cvt.rn.") + real.name + "." + whole.name] = convert<F, I>;
  table[std::string("cvt.rzi.") + whole.name + "." + real.name] = truncate<I, F>;
}
template <class F>
void add_conversions(Table &table, Typed<F> real) {
  add_conversion(table, real, u16), add_conversion(table, real, s16);
  add_conversion(table, real, u32), add_conversion(table, real, s32);
  add_conversion(table, real, u64), add_conversion(table, real, s64);
}

}  // namespace

void add_floats(Table &table) {
  for (const char *rounding : {"", ".rn"}) {
    add_binary<Add>(table, std::string("add") + rounding, f32, f64);
    add_binary<Subtract>(table, std::string("sub") + rounding, f32, f64);
    add_binary<Multiply>(table, std::string("mul") + rounding, f32, f64);
  }
  add_binary<Divide>(table, "div.rn", f32, f64);
  add_binary<Minimum>(table, "min", f32, f64);
  add_binary<Maximum>(table, "max", f32, f64);
  add_ternary<Fused>(table, "fma.rn", f32, f64);
  add_unary<Negate>(table, "neg", f32, f64);
  add_unary<Absolute>(table, "abs", f32, f64);
  add_unary<Root>(table, "sqrt.rn", f32, f64);
  add_conversions(table, f32);
  add_conversions(table, f64);
  table["cvt.f64.f32"] = convert<double, float>;
  table["cvt.rn.f32.f64"] = convert<float, double>;
}

Compute computation(const std::string &opcode) {
  static const Table table = [] {
    Table all;
    add_integers(all), add_bits(all), add_choices(all), add_floats(all);
    return all;
  }();
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace ptx
