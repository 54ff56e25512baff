// What kernels may use beside plain CUDA C++17. One source has three builds, of which kernels know nothing:
//
//   nvcc                 device/cuda.cuh     a `lanes` is one value of a thread, and a warp holds a register
//   g++                  device/host.cuh     a `lanes` is one vector register of the CPU, and a block has one thread
//   g++ -DHOST_THREADS   device/threads.cuh  the CUDA build on real threads: slow, for race checks and the stub driver
//
// All three have:
//   KERNEL name(...)          a kernel, which is launched by its name; EXPORT_KERNEL(name) follows it
//   NULLABLE                  stands before a pointer for which a launch may pass None (nullptr here)
//   DEVICE                    a function that kernels call;  UNROLL  stands before a loop with a constant count
//   lanes<T>                  2^lane_bits<T>() values of T side by side; +, min, load, store, splat, without, mirrored
//   one_thread_blocks         whether the block is one thread
//   warp_size                 threads that hold one register
//   lane(), warp(), warps()   this thread's lane and warp, the number of warps; 0, 0 and 1 with vector registers
//   lower_to(target, x)       sets *target to its minimum with all lanes of x, atomically
//   lowest(set), count(set)   the smallest element of a 64-bit set, and the number of its elements
//   atomicMin, atomicAdd, atomicOr   for 32 and 64 bits, among all threads; with _block among those of one block
//   peek(p), prefetch(p)      read a value that atomics may be changing; announce that *p will be read
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
