// How Python calls what runs on the host's cores, whatever the job's device: functions in plain C++17, with containers,
// of algorithms of which a GPU has no use.
//
//   FUNCTION name(network net, const uint32_t *bases, uint64_t *distance, result<uint32_t> &edges) { ... }
//   EXPORT_FUNCTION(name)
//
// The line `FUNCTION` is its only declaration, which Python reads too. It is called with named arguments, as a kernel
// is: numbers, numpy's arrays (`const` if they are only read), and structs of these. A `result` is an array whose
// length the function decides; the call returns it. Results come last.
//
// A call has no blocks. A function that works with several threads takes their number (host/share.hpp).
// Memory that cannot be had is an exception, which ends the call with a message. No exception leaves the library.
#pragma once
#include <new>
#include <utility>
#include <vector>

#include "device/signature.cuh"

#define FUNCTION static void
#define DEVICE inline  // before functions of headers that kernels include too
#define MEMBER inline  // before their member functions
#define NULLABLE  // before a pointer for which a call may pass None

// ---- memory: vectors count what they hold, for the job's estimate to be compared with ----

static size_t held_bytes, most_held_bytes;  // of all vectors of this library: now, and since a call began
template <class T>
struct counted {
  using value_type = T;
  counted() = default;
  template <class U>
  counted(const counted<U> &) {}
  T *allocate(size_t count) {
    T *place = std::allocator<T>().allocate(count);
    const size_t now = __atomic_add_fetch(&held_bytes, count * sizeof(T), __ATOMIC_RELAXED);
    size_t most = __atomic_load_n(&most_held_bytes, __ATOMIC_RELAXED);
    while (most < now &&
           !__atomic_compare_exchange_n(&most_held_bytes, &most, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return place;
  }
  void deallocate(T *place, size_t count) {
    __atomic_sub_fetch(&held_bytes, count * sizeof(T), __ATOMIC_RELAXED);
    std::allocator<T>().deallocate(place, count);
  }
  template <class U>
  bool operator==(const counted<U> &) const {
    return true;
  }
  template <class U>
  bool operator!=(const counted<U> &) const {
    return false;
  }
};
template <class T>
using vector = std::vector<T, counted<T>>;
template <class... T>
static void free_memory(vector<T> &...some) {
  (vector<T>().swap(some), ...);
}

// ---- calls ----

struct any_result {
  virtual ~any_result() = default;
  virtual size_t bytes() const = 0;
  virtual const void *first() const = 0;
};
template <class T>
struct result final : any_result, vector<T> {
  size_t bytes() const override { return this->size() * sizeof(T); }
  const void *first() const override { return this->data(); }
};
template <class T>
struct type_code<result<T> &> {
  static int write(char *to) {
    const int written = type_code<T>::write(to);
    to[written] = '&', to[written + 1] = 0;
    return written + 1;
  }
};

enum outcome : int { done, no_memory, failed };

// Sets `place` to where the argument is: among the packed ones, each at its natural alignment, or in a new result.
template <class A>
static void find_argument(const char *arguments, size_t &offset, any_result **&made, void *&place) {
  if constexpr (std::is_reference_v<A>) {
    auto *one = new std::remove_reference_t<A>;
    *made++ = one, place = one;
  } else {
    offset = (offset + alignof(A) - 1) / alignof(A) * alignof(A);
    place = const_cast<char *>(arguments + offset), offset += sizeof(A);
  }
}
template <class... A, size_t... I>
static void call_with(void (*function)(A...), void **places, std::index_sequence<I...>) {
  function(*static_cast<std::remove_reference_t<A> *>(places[I])...);
}
// Calls the function, and fills `made` with its results, which the caller takes with hpcsolve_take.
template <class... A>
static outcome call_packed(void (*function)(A...), const char *arguments, any_result **made) {
  any_result **end = made;
  outcome how = failed;
  __atomic_store_n(&most_held_bytes, __atomic_load_n(&held_bytes, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  try {
    void *places[sizeof...(A)];
    size_t offset = 0, i = 0;
    (find_argument<A>(arguments, offset, end, places[i++]), ...);
    call_with(function, places, std::index_sequence_for<A...>{});
    return done;
  } catch (const std::bad_alloc &) {
    how = no_memory;
  } catch (...) {
  }
  while (end != made) delete *--end;
  return how;
}
extern "C" size_t hpcsolve_most_held() { return most_held_bytes; }
extern "C" size_t hpcsolve_bytes(const any_result *one) { return one->bytes(); }
// Copies a result, and frees its memory.
extern "C" void hpcsolve_take(any_result *one, void *to) {
  if (one->bytes()) __builtin_memcpy(to, one->first(), one->bytes());
  delete one;
}
#define EXPORT_FUNCTION(name)                                                                                         \
  extern "C" int name##_call(const char *arguments, any_result **made) { return call_packed(name, arguments, made); } \
  extern "C" const char *name##_signature() { return signature_of(name); }
