// Work that is shared by several threads of a function of the host.
#pragma once
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

// Calls use(own, i) for all i below `count`, in up to `threads` threads that take the next i when they are ready. Each
// has an `own` that make() returns. If the system grants fewer threads, these do the work. Returns the `own` of all
// threads, and throws what a thread throws.
template <class Make, class Use, class Own = decltype(std::declval<const Make &>()())>
std::vector<Own> share(uint64_t count, uint32_t threads, const Make &make, const Use &use) {
  std::vector<Own> owns;
  std::mutex adding;
  uint64_t next = 0;
  std::exception_ptr failure;
  bool failed = false;
  const auto work = [&] {
    try {
      Own own = make();
      for (uint64_t i; (i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < count;) use(own, i);
      const std::lock_guard<std::mutex> alone(adding);
      owns.push_back(std::move(own));
    } catch (...) {
      __atomic_store_n(&next, count, __ATOMIC_RELAXED);
      if (!__atomic_test_and_set(&failed, __ATOMIC_ACQ_REL)) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    while (others.size() + 1 < threads && others.size() + 1 < count) others.emplace_back(work);
  } catch (...) {  // no more threads
  }
  work();
  for (std::thread &other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  return owns;
}
