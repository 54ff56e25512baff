// What kernels may use beside plain CUDA C++17. One source has three builds, of which kernels know nothing:
//
//   nvcc                 device/cuda.cuh     CUDA itself
//   g++                  device/host.cuh     a block is one thread, which works with the CPU's vector registers
//   g++ -DHOST_THREADS   device/threads.cuh  the CUDA build on real threads: slow, for race checks and the stub driver
//
// A register is 2^lane_bits values side by side. On a CPU it is a vector register of one thread; in the two CUDA builds
// it is spread over the 32 threads of a warp, a word of 32 bits each. `lanes<T>` is what one thread holds of it.
//
// All three have:
//   KERNEL name(...)          a kernel, which is launched by its name; EXPORT_KERNEL(name) follows it
//   REGISTERS(most)           between KERNEL and the name: the most registers of a thread, so that more blocks fit a GPU
//   ANY_REGISTERS             in the same place: as many as the compiler likes
//   NULLABLE                  before a pointer for which a launch may pass None, which is nullptr in the kernel
//   DEVICE, MEMBER            a function that kernels call; a member function of a struct
//   UNROLL, ROLLED            stand before a loop: with a constant count; that a GPU should not unroll, to save registers
//   UNROLL_ON_GPU             in the same place: over values that a GPU has in registers, and a CPU, with fewer, in memory
//   lanes<T>                  this thread's part of a register: +, min, load, store, splat, without, load_mirrored;
//                             min_add(best, a, b) is min(best, a + b); lanes<T>::width is its number of values; of 32
//                             bits also max, and unless_above(x, most, other): x, in lanes above `most` the other one
//   lane_bits<T>()            binary logarithm of the number of lanes of a register
//   permutes_lanes            whether the lanes of a register can be permuted in any order as quickly as a minimum is
//                             taken: with AVX-512; permutes_bytes whether its bytes can (device/permuted.cuh)
//   one_thread_blocks         whether a block is one thread
//   warp_size                 number of threads that share a register: 32, on a CPU 1
//   lane(), warp(), warps()   this thread's lane and warp, and the block's number of warps; on a CPU 0, 0 and 1
//   lower_to(target, x)       sets *target to the minimum of itself and all lanes of x, atomically
//   registers_together        registers that a thread had best work on at a time, to read what they share once
//   element(few, i)           few[i] of an array that is in registers
//   lowest(set), count(set)   the smallest element of a set of 32 or 64 bits; the number of elements of 64 bits
//   atomicMin, atomicAdd, atomicOr   for 32 and 64 bits, among all threads; with _block among those of one block
//   atomicCAS(p, a, b)        replaces *p by b if it is a, and returns what it was; 32 bits, among all threads
//   in_global(p)              p, which the compiler may take to point to global memory
//   peek(p)                   read a value that atomics may be changing
//   peek_block(p)             read a value that only this block's atomics may be changing
//   prefetch(p), prefetch_write(p)   announce that *p will be read; that it will be written
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
