// How the tables of computations (compute_*.cpp) are written: an operation is a struct with a template function `of`,
// and goes into the table under "name.type" for each type of a list.
#pragma once
#include <cstring>
#include <type_traits>
#include <unordered_map>

#include "code.hpp"

namespace ptx {

using Table = std::unordered_map<std::string, Compute>;

template <class T>
T get(const uint64_t *places, int place) {
  if constexpr (std::is_floating_point_v<T>) {
    T x;
    memcpy(&x, &places[place], sizeof x);
    return x;
  } else {
    return (T)places[place];
  }
}
template <class T>
void put(uint64_t *places, int place, T x) {
  if constexpr (std::is_floating_point_v<T>) {
    places[place] = 0;
    memcpy(&places[place], &x, sizeof x);
  } else if constexpr (std::is_same_v<T, bool>) {
    places[place] = x;
  } else {
    places[place] = (std::make_unsigned_t<T>)x;
  }
}

// A type of PTX: its letters, and the C++ type of its values.
template <class T>
struct Typed {
  const char *name;
};
constexpr Typed<uint8_t> u8{"u8"};
constexpr Typed<uint16_t> u16{"u16"}, b16{"b16"};
constexpr Typed<uint32_t> u32{"u32"}, b32{"b32"};
constexpr Typed<uint64_t> u64{"u64"}, b64{"b64"};
constexpr Typed<int8_t> s8{"s8"};
constexpr Typed<int16_t> s16{"s16"};
constexpr Typed<int32_t> s32{"s32"};
constexpr Typed<int64_t> s64{"s64"};
constexpr Typed<float> f32{"f32"};
constexpr Typed<double> f64{"f64"};

template <class F, class T>
void unary(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], (T)F::of(get<T>(p, i.source[0])));
}
template <class F, class T>
void binary(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], (T)F::of(get<T>(p, i.source[0]), get<T>(p, i.source[1])));
}
template <class F, class T>
void ternary(uint64_t *p, const Instruction &i) {
  put(p, i.result[0], (T)F::of(get<T>(p, i.source[0]), get<T>(p, i.source[1]), get<T>(p, i.source[2])));
}
template <class F, class... T>
void add_unary(Table &table, const std::string &name, Typed<T>... types) {
  ((table[name + "." + types.name] = unary<F, T>), ...);
}
template <class F, class... T>
void add_binary(Table &table, const std::string &name, Typed<T>... types) {
  ((table[name + "." + types.name] = binary<F, T>), ...);
}
template <class F, class... T>
void add_ternary(Table &table, const std::string &name, Typed<T>... types) {
  ((table[name + "." + types.name] = ternary<F, T>), ...);
}

void add_integers(Table &);  // compute_integer.cpp
void add_bits(Table &);      // compute_bits.cpp
void add_choices(Table &);   // compute_choice.cpp
void add_floats(Table &);    // compute_float.cpp

}  // namespace ptx
