// One kernel source, three builds. Kernels are plain CUDA C++17 and know nothing of this; here is what they may use
// beside it.
//
//   nvcc                 device/cuda.cuh     a `lanes` is one value of a thread; a warp holds a register
//   g++                  device/host.cuh     a `lanes` is one vector register of the CPU; a block has one thread
//   g++ -DHOST_THREADS   device/threads.cuh  the CUDA forms on real threads: slow, for race checks and the stub driver
//
// What all three offer:
//   KERNEL name(...)          a kernel, launched by name; EXPORT_KERNEL(name) after it makes its host entry
//   NULLABLE                  before a pointer that a launch may leave out (None in Python, nullptr here)
//   DEVICE                    marks a function that kernels call;  UNROLL  before a loop whose count is a constant
//   lanes<T>                  2^lane_bits<T>() values of T side by side; +, min, load, store, splat, without, mirrored
//   one_thread_blocks         whether the block is one thread
//   warp_size                 threads that hold one register
//   lane(), warp(), warps()   this thread's place where lanes are threads; 0, 0 and 1 where a register is a vector
//   lower_to(target, x)       atomic minimum of all of x into *target, in no particular order
//   lowest(set), count(set)   of a 64-bit set: its smallest element, how many there are
//   atomicMin, atomicAdd, atomicOr   among all threads, 32 and 64 bits; with _block, among those of one block
//   peek(p), prefetch(p)      a read that atomics may race with; a hint that *p will be read
//   bits_as<To>(x)            the bits of x as another type
#pragma once
#define NULLABLE
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#include "device/cuda.cuh"
#elif defined(HOST_THREADS)
#include "device/threads.cuh"
#else
#include "device/host.cuh"
#endif

// The bits of x as another type of the same size.
template <class To, class From>
DEVICE To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From), "bits of one size");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
