// The types of a function's parameters as text, which the loader compares with the declaration in its source: numpy's
// type codes, such as "i4 u2* s48". A pointer has `*` behind its code, and a struct is `s` and its size in bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

template <class A>
struct type_code {
  static int write(char *to) {
    if constexpr (std::is_class_v<A>) {
      return sprintf(to, " s%zu", sizeof(A));
    } else {
      using value = std::remove_cv_t<std::remove_pointer_t<A>>;
      const char kind = std::is_floating_point_v<value> ? 'f' : std::is_signed_v<value> ? 'i' : 'u';
      return sprintf(to, " %c%zu%s", kind, sizeof(value), std::is_pointer_v<A> ? "*" : "");
    }
  }
};
// The types of all parameters, each after a blank. Not a std::string: g++ takes longer to read its header than to
// compile many a kernel.
template <class... A>
struct type_codes {
  char text[24 * sizeof...(A)];
  type_codes() {
    char *end = text;
    ((end += type_code<A>::write(end)), ...);
  }
};
template <class... A>
static const char *signature_of(void (*)(A...)) {
  static const type_codes<A...> codes;
  return codes.text + 1;
}
