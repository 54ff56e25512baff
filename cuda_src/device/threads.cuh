// The CUDA build on real threads (g++ -DHOST_THREADS). A block has `block` threads, and blocks run one after the other;
// __syncthreads is a barrier, and a warp shuffle is an exchange through memory. ThreadSanitizer finds races in it that
// blocks of one thread cannot have, and the stub driver of the tests runs the launch configurations of a GPU with it.
#pragma once
#include <pthread.h>

#include <memory>
#include <thread>
#include <vector>

#include "device/launch.cuh"

#define KERNEL static void
#define ANY_REGISTERS
#define REGISTERS(most)
#define DEVICE static inline
#define MEMBER inline
#define ROLLED
#define UNROLL
#define UNROLL_ON_GPU
#define __device__
#define __shared__ static
#define __restrict__ __restrict

static thread_local index3 threadIdx;
static index3 blockIdx, blockDim, gridDim;

// Two barriers, used in turn. To ThreadSanitizer a thread that leaves a barrier comes after all threads that have
// reached it so far. With a single barrier, a thread that leaves late would come after threads that have reached the
// barrier for the next time already, and races with these would be missed.
class barrier {
 public:
  explicit barrier(unsigned threads) {
    for (auto &one : turns) pthread_barrier_init(&one, nullptr, threads);
  }
  ~barrier() {
    for (auto &one : turns) pthread_barrier_destroy(&one);
  }
  barrier(const barrier &) = delete;
  // `turn` counts how often this thread has waited here in this launch.
  void wait(unsigned &turn) { pthread_barrier_wait(&turns[turn++ % 2]); }

 private:
  pthread_barrier_t turns[2];
};
static std::unique_ptr<barrier> block_barrier;
static std::vector<std::unique_ptr<barrier>> warp_barriers;
static std::vector<uint32_t> mailboxes[2];
static thread_local unsigned block_turn, warp_turn;  // a launch has new threads, so they start at 0

static inline void __syncthreads() { block_barrier->wait(block_turn); }
static inline void __syncwarp() { warp_barriers[threadIdx.x / 32]->wait(warp_turn); }
// Returns the values of all threads of the warp, indexed by threadIdx.x. An exchange needs one barrier only, since two
// mailboxes take turns: before a thread writes to the same one again it passes another barrier, which no thread reaches
// before it has read.
static inline const uint32_t *exchanged(uint32_t value) {
  auto &mailbox = mailboxes[warp_turn % 2];
  mailbox[threadIdx.x] = value;
  __syncwarp();
  return mailbox.data();
}
static inline uint32_t __shfl_xor_sync(uint32_t, uint32_t value, int mask) {
  return exchanged(value)[threadIdx.x ^ mask];
}
// The smaller of each two 16-bit values of a word, and CUDA's additions with a minimum (DPX), which wrap as these do.
static inline uint32_t __vminu2(uint32_t a, uint32_t b) {
  const uint32_t low = (a & 0xffffu) < (b & 0xffffu) ? a & 0xffffu : b & 0xffffu;
  return low | (a >> 16 < b >> 16 ? a >> 16 : b >> 16) << 16;
}
static inline uint32_t __viaddmin_u16x2(uint32_t a, uint32_t b, uint32_t c) {
  return __vminu2(((a & 0xffff0000u) + (b & 0xffff0000u)) | ((a + b) & 0xffffu), c);
}
static inline uint32_t __viaddmin_u32(uint32_t a, uint32_t b, uint32_t c) { return a + b < c ? a + b : c; }
#include "device/atomics.cuh"
template <class T>
DEVICE T peek_block(const T *p) {
  return peek(p);
}
template <class T>
DEVICE T *in_global(T *p) {
  return p;
}
template <class T>
static inline T atomicMin_block(T *target, T value) {
  return atomicMin(target, value);
}
template <class T>
static inline T atomicAdd_block(T *target, T value) {
  return atomicAdd(target, value);
}
template <class T>
static inline T atomicOr_block(T *target, T value) {
  return atomicOr(target, value);
}
static inline void prefetch(const void *) {}
static inline void prefetch_write(void *) {}
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __popc(uint32_t x) { return __builtin_popcount(x); }
static inline int __popcll(uint64_t x) { return __builtin_popcountll(x); }
#include "device/warp.cuh"

template <class... A, size_t... I>
static void run_grid(void (*kernel)(A...), unsigned grid, unsigned block, void **params, std::index_sequence<I...>) {
  gridDim = {grid, 1, 1};
  blockDim = {block, 1, 1};
  block_barrier = std::make_unique<barrier>(block);
  warp_barriers.clear();
  for (unsigned first = 0; first < block; first += 32)
    warp_barriers.push_back(std::make_unique<barrier>(block - first < 32 ? block - first : 32));
  for (auto &mailbox : mailboxes) mailbox.assign(block, 0);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < block; t++)
    threads.emplace_back([=] {
      threadIdx = {t, 0, 0};
      for (unsigned b = 0; b < grid; b++) {
        if (t == 0) blockIdx = {b, 0, 0};
        __syncthreads();
        kernel(*static_cast<std::remove_reference_t<A> *>(params[I])...);
        __syncthreads();
      }
    });
  for (auto &thread : threads) thread.join();
}
