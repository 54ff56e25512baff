// What the stub driver is made of: settings, memory, streams of work, devices. driver.cpp puts CUDA's functions over it.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

// The few types and numbers of CUDA's cuda.h that PyCUDA and this driver share.
typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
enum : CUresult {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  DEVICE_UNAVAILABLE = 46,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701,
  LAUNCH_TIMEOUT = 702,
  CONTEXT_IS_DESTROYED = 709,
  ALREADY_PINNED = 712,
  NOT_PINNED = 713,
  ILLEGAL_INSTRUCTION = 715,
  MISALIGNED_ADDRESS = 716,
  INVALID_ADDRESS_SPACE = 717,
  LAUNCH_FAILED = 719,
  NOT_SUPPORTED = 801,
};

namespace stub {

inline size_t setting(const char *name, size_t otherwise) {
  const char *value = getenv(name);
  return value && *value ? strtoull(value, nullptr, 10) : otherwise;
}

// Writes a line about a call to the file STUB_TRACE.PROCESS, if there is such a setting.
inline void trace(const char *what, const void *stream, const char *name, size_t bytes) {
  static FILE *file = [] {
    const char *prefix = getenv("STUB_TRACE");
    return prefix ? fopen((std::string(prefix) + "." + std::to_string(getpid())).c_str(), "w") : nullptr;
  }();
  if (file) fprintf(file, "%s %p %s %zu\n", what, stream, name, bytes), fflush(file);
}

// What another process needs to map an allocation.
struct Shared {
  int process, file;
  size_t bytes;
};

// Device memory: the host's, bounded, poisoned, with a guard on both sides of every allocation.
class Memory {
 public:
  const size_t total = setting("STUB_MEMORY", size_t(1) << 30);
  size_t used = 0;

  char *allocate(size_t bytes) {
    if (bytes > total - used) return nullptr;
    const size_t whole = (bytes + 3 * guard - 1) / guard * guard;
    const int file = setting("STUB_IPC", 0) ? memfd_create("gpu", MFD_CLOEXEC) : -1;
    if (file >= 0 && ftruncate(file, (off_t)(whole + guard))) return nullptr;
    char *block = file < 0 ? static_cast<char *>(aligned_alloc(guard, whole)) : mapped(file, whole + guard);
    if (!block) return nullptr;
    if (file >= 0) shared[block + guard] = {getpid(), file, whole};
    memset(block, guard_byte, guard);
    memset(block + guard, poison, bytes);
    memset(block + guard + bytes, guard_byte, guard);
    used += bytes;
    blocks[block + guard] = bytes;
    return block + guard;
  }
  bool release(char *start) {
    auto block = blocks.find(start);
    if (block == blocks.end()) return false;
    check_guards(start, block->second);
    memset(start, poison, block->second);
    used -= block->second;
    if (shared.count(start)) {
      if (opened(start - guard, shared[start].bytes)) {
        fprintf(stderr, "stub driver: %zu bytes are freed that another process has open\n", block->second);
        abort();
      }
      munmap(start - guard, shared[start].bytes + guard);
      close(shared[start].file);
      shared.erase(start);
    } else {
      free(start - guard);
    }
    blocks.erase(block);
    return true;
  }
  // Whether all of these bytes lie in one allocation.
  bool holds(const char *start, size_t bytes) const { return inside(blocks, start, bytes); }
  // Whether they lie in one of another process that is open here.
  bool holds_of_others(const char *start, size_t bytes) const { return inside(others, start, bytes); }
  // What another process needs to open an allocation, or nullptr if it is none, or cannot be shared.
  const Shared *share(char *start) const {
    auto found = shared.find(start);
    return found == shared.end() ? nullptr : &found->second;
  }
  char *open_other(const Shared &other) {
    const std::string path = "/proc/" + std::to_string(other.process) + "/fd/" + std::to_string(other.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 || other.process == getpid()) return nullptr;  // as the real one: not in the process that shares it
    char *block = mapped(file, other.bytes + guard);
    close(file);
    if (!block) return nullptr;
    others[block + guard] = other.bytes - 2 * guard;
    opened(block, other.bytes)++;
    return block + guard;
  }
  bool close_other(char *start) {
    auto found = others.find(start);
    if (found == others.end()) return false;
    opened(start - guard, found->second + 2 * guard)--;
    munmap(start - guard, found->second + 3 * guard);
    return others.erase(start);
  }
  // All allocations, by address, as {start, bytes}.
  template <class Region>
  std::vector<Region> regions() const {
    std::vector<Region> all;
    for (const auto &[start, bytes] : blocks) all.push_back({start, bytes});
    return all;
  }
  size_t release_all() {
    size_t left = blocks.size();
    while (!blocks.empty()) release(blocks.begin()->first);
    return left;
  }

 private:
  static constexpr size_t guard = 256;
  static constexpr int guard_byte = 0xFD, poison = 0xCD;
  std::map<char *, size_t> blocks, others;  // `others` belong to other processes
  std::map<char *, Shared> shared;

  static char *mapped(int file, size_t bytes) {
    void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return start == MAP_FAILED ? nullptr : static_cast<char *>(start);
  }
  // How many processes have opened a shared block. It stands behind the block, in memory that they share too.
  static std::atomic<int> &opened(char *block, size_t bytes) {
    return *reinterpret_cast<std::atomic<int> *>(block + bytes);
  }
  static bool inside(const std::map<char *, size_t> &blocks, const char *start, size_t bytes) {
    auto after = blocks.upper_bound(const_cast<char *>(start));
    if (after == blocks.begin()) return bytes == 0;
    auto block = std::prev(after);
    return start + bytes <= block->first + block->second;
  }
  static void check_guards(const char *start, size_t bytes) {
    for (size_t i = 0; i < guard; i++)
      if ((start[-1 - (long)i] & 0xFF) != guard_byte || (start[bytes + i] & 0xFF) != guard_byte) {
        fprintf(stderr, "stub driver: a kernel wrote beside its allocation of %zu bytes\n", bytes);
        abort();
      }
  }
};

// A stream: work in the order it was given. It is done as late as CUDA allows, when somebody waits for it.
class Stream {
 public:
  // Returns the number of the task, for `drain`.
  size_t add(std::function<void()> task) {
    tasks.push_back(std::move(task));
    if (tasks.size() > longest) drain();
    return given();
  }
  // Does the first `number` tasks of all that were ever given.
  void drain(size_t number) {
    while (done < number) {
      auto task = std::move(tasks.front());
      tasks.pop_front();
      done++;
      task();
    }
  }
  void drain() { drain(given()); }
  bool destroyed = false;  // its work is still done
  size_t given() const { return done + tasks.size(); }

 private:
  static constexpr size_t longest = 256;  // a real stream is finite too; this one holds copies of host memory
  size_t done = 0;
  std::deque<std::function<void()>> tasks;
};

// The mark of an event's last record, in the work of a stream.
struct Mark {
  Stream *stream;
  size_t number;
  bool reached = false, asked = false;
  std::chrono::steady_clock::time_point moment;
};

struct Event {
  std::shared_ptr<Mark> mark;  // none: never recorded
};

struct Device {
  int number;  // among all of the machine; `cuDeviceGet` counts the visible ones
  int retained = 0;
  CUresult failure = SUCCESS;  // of a kernel; stays, as a real context stays broken
  Memory memory;
  std::deque<Stream> streams{1};  // the first is the null stream; destroyed ones stay
  std::map<Event *, std::unique_ptr<Event>> events;

  // Newest stream first, so that what is not ordered by events runs in the order that is least expected.
  void drain() {
    for (auto stream = streams.rbegin(); stream != streams.rend(); ++stream) stream->drain();
  }
  bool has_stream(void *handle) const {
    for (const Stream &stream : streams)
      if (&stream == handle) return !stream.destroyed;
    return !handle;
  }
  // The stream of a handle. The null stream waits for all others.
  Stream &stream(void *handle) {
    if (!handle) drain();
    return handle ? *static_cast<Stream *>(handle) : streams.front();
  }
};

struct Function {
  std::string name;
  // Runs the kernel with its packed arguments, and returns 0 or a failure.
  std::function<CUresult(Device &, unsigned grid, unsigned block, const std::string &arguments)> run;
};

// "" or absent: all. "1,0" or "GPU-00000001-...": those, in this order; the list ends at the first that is not there.
inline std::vector<int> visible_devices(int gpus) {
  std::vector<int> visible;
  const char *list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) {
    for (int i = 0; i < gpus; i++) visible.push_back(i);
    return visible;
  }
  for (std::string rest = list; !rest.empty();) {
    std::string one = rest.substr(0, rest.find(','));
    rest = one.size() < rest.size() ? rest.substr(one.size() + 1) : "";
    int number = one.rfind("GPU-", 0) == 0 ? (int)strtol(one.c_str() + 4, nullptr, 16) : atoi(one.c_str());
    if (one.empty() || number < 0 || number >= gpus) break;
    visible.push_back(number);
  }
  return visible;
}

struct Driver {
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
  std::map<const char *, size_t> pinned;
  std::set<const void *> host_memory;  // from cuMemHostAlloc
  size_t launches = 0;
  size_t allocations = 0;

  Driver() {
    for (int number : visible_devices((int)setting("STUB_GPUS", 1))) {
      devices.push_back(std::make_unique<Device>());
      devices.back()->number = number;
    }
  }
  bool is_pinned(const void *start, size_t bytes) const {
    auto after = pinned.upper_bound(static_cast<const char *>(start));
    if (after == pinned.begin()) return false;
    auto range = std::prev(after);
    return static_cast<const char *>(start) + bytes <= range->first + range->second;
  }
  bool overlaps_pinned(const char *start, size_t bytes) const {
    auto after = pinned.lower_bound(start + bytes);
    return after != pinned.begin() && std::prev(after)->first + std::prev(after)->second > start;
  }
};

inline Driver &driver() {
  static Driver *it = new Driver;  // outlives every static destructor that may still free something
  return *it;
}
inline thread_local std::vector<Device *> contexts;  // a context is its device

}  // namespace stub

// How every function of the driver begins.
#define API extern "C" __attribute__((visibility("default"))) CUresult
#define LOCK std::lock_guard<std::recursive_mutex> lock(driver().mutex)
// The current context's device; leaves the function if there is none, or if a kernel broke it.
#define CURRENT                                      \
  LOCK;                                              \
  if (contexts.empty()) return INVALID_CONTEXT;      \
  Device &device = *contexts.back();                 \
  if (!device.retained) return CONTEXT_IS_DESTROYED; \
  if (device.failure) return device.failure
// The same, and leaves the function if the stream, or event, was destroyed.
#define ON_STREAM(stream) \
  CURRENT;                \
  if (!device.has_stream(stream)) return INVALID_HANDLE
#define WITH_EVENT(event) \
  CURRENT;                \
  if (!device.events.count(event)) return INVALID_HANDLE
// The device of this number.
#define NAMED(number)                                                                     \
  LOCK;                                                                                   \
  if ((number) < 0 || (size_t)(number) >= driver().devices.size()) return INVALID_DEVICE; \
  Device &device = *driver().devices[number]

API cuCtxSynchronize();
