// How a host-compiled kernel is launched: EXPORT_KERNEL(name) makes two C functions of it.
//   name_launch(grid, block, arguments)   launches it; the arguments are in one buffer, each at its natural alignment,
//                                         as a GPU's driver takes them
//   name_signature()                      numpy's type codes of the arguments, such as "i4 u2* s48": a pointer has `*`
//                                         behind its code, and a struct is `s` and its size in bytes
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <utility>

#if defined(_OPENMP)
#include <omp.h>
extern "C" void hpcsolve_set_threads(int threads) { omp_set_num_threads(threads); }
#else
extern "C" void hpcsolve_set_threads(int) {}
#endif

struct index3 {
  unsigned x, y, z;
};

template <class... A, size_t... I>
static void run_grid(void (*kernel)(A...), unsigned grid, unsigned block, void **params, std::index_sequence<I...>);

template <class... A>
static void run_packed(void (*kernel)(A...), unsigned grid, unsigned block, const char *arguments) {
  void *params[sizeof...(A)];
  size_t offset = 0, i = 0;
  ((offset = (offset + alignof(A) - 1) / alignof(A) * alignof(A), params[i++] = (void *)(arguments + offset),
    offset += sizeof(A)),
   ...);
  run_grid(kernel, grid, block, params, std::index_sequence_for<A...>{});
}
template <class A>
static int write_type(char *to) {
  if constexpr (std::is_class_v<A>) {
    return sprintf(to, " s%zu", sizeof(A));
  } else {
    using value = std::remove_cv_t<std::remove_pointer_t<A>>;
    const char kind = std::is_floating_point_v<value> ? 'f' : std::is_signed_v<value> ? 'i' : 'u';
    return sprintf(to, " %c%zu%s", kind, sizeof(value), std::is_pointer_v<A> ? "*" : "");
  }
}
// The types of a kernel's parameters, each after a blank. Not a std::string: g++ takes longer to read its header than to
// compile many a kernel.
template <class... A>
struct type_codes {
  char text[24 * sizeof...(A)];
  type_codes() {
    char *end = text;
    ((end += write_type<A>(end)), ...);
  }
};
template <class... A>
static const char *signature_of(void (*)(A...)) {
  static const type_codes<A...> codes;
  return codes.text + 1;
}
#define EXPORT_KERNEL(name)                                                             \
  extern "C" void name##_launch(unsigned grid, unsigned block, const char *arguments) { \
    run_packed(name, grid, block, arguments);                                           \
  }                                                                                     \
  extern "C" const char *name##_signature() { return signature_of(name); }
