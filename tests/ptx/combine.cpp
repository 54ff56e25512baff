// What atomics and reductions make of two values.
#include <cstring>
#include <map>
#include <string>

#include "code.hpp"

namespace ptx {
namespace {

template <class T>
uint64_t add(uint64_t old, uint64_t value, uint64_t) {
  return (uint64_t)(T)((T)old + (T)value);
}
template <class T>
uint64_t add_real(uint64_t old, uint64_t value, uint64_t) {
  T a, b;
  memcpy(&a, &old, sizeof a), memcpy(&b, &value, sizeof b);
  const T sum = a + b;
  uint64_t bits = 0;
  memcpy(&bits, &sum, sizeof sum);
  return bits;
}
template <class T>
uint64_t minimum(uint64_t old, uint64_t value, uint64_t) {
  return (T)value < (T)old ? value : old;
}
template <class T>
uint64_t maximum(uint64_t old, uint64_t value, uint64_t) {
  return (T)value > (T)old ? value : old;
}
uint64_t both(uint64_t old, uint64_t value, uint64_t) { return old & value; }
uint64_t either(uint64_t old, uint64_t value, uint64_t) { return old | value; }
uint64_t one(uint64_t old, uint64_t value, uint64_t) { return old ^ value; }
uint64_t exchange(uint64_t, uint64_t value, uint64_t) { return value; }
template <class T>
uint64_t compare_and_swap(uint64_t old, uint64_t expected, uint64_t value) {
  return (T)old == (T)expected ? value : old;
}
uint64_t increment(uint64_t old, uint64_t limit, uint64_t) {
  return (uint32_t)old >= (uint32_t)limit ? 0 : (uint32_t)old + 1;
}
uint64_t decrement(uint64_t old, uint64_t limit, uint64_t) {
  return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)limit ? (uint32_t)limit : (uint32_t)old - 1;
}

}  // namespace

Combine combination(const std::string &operation) {
  static const std::map<std::string, Combine> all = {{"add.u32", add<uint32_t>},
                                                     {"add.s32", add<int32_t>},
                                                     {"add.u64", add<uint64_t>},
                                                     {"add.s64", add<int64_t>},
                                                     {"add.f32", add_real<float>},
                                                     {"add.f64", add_real<double>},
                                                     {"min.u32", minimum<uint32_t>},
                                                     {"min.s32", minimum<int32_t>},
                                                     {"min.u64", minimum<uint64_t>},
                                                     {"min.s64", minimum<int64_t>},
                                                     {"max.u32", maximum<uint32_t>},
                                                     {"max.s32", maximum<int32_t>},
                                                     {"max.u64", maximum<uint64_t>},
                                                     {"max.s64", maximum<int64_t>},
                                                     {"and.b32", both},
                                                     {"and.b64", both},
                                                     {"or.b32", either},
                                                     {"or.b64", either},
                                                     {"xor.b32", one},
                                                     {"xor.b64", one},
                                                     {"exch.b32", exchange},
                                                     {"exch.b64", exchange},
                                                     {"cas.b16", compare_and_swap<uint16_t>},
                                                     {"cas.b32", compare_and_swap<uint32_t>},
                                                     {"cas.b64", compare_and_swap<uint64_t>},
                                                     {"inc.u32", increment},
                                                     {"dec.u32", decrement}};
  const auto found = all.find(operation);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace ptx
