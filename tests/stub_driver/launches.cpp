// The stub driver's modules, launches, streams, events and error texts. See driver.cpp.
#include <algorithm>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreter.hpp"
#include "model.hpp"

using namespace stub;

// --- Modules and launches ---
// A module: a host library, or PTX.
struct Module {
  void *host, *ptx;
};
static void *open_library(const std::string &image) {
  int file = memfd_create("kernels", 0);  // stays open: dlopen would take a second file of the same number for the first
  if (file < 0 || write(file, image.data(), image.size()) != (ssize_t)image.size()) return nullptr;
  void *library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "stub driver: %s\n", dlerror());
  return library;
}
API cuModuleLoadDataEx(Module **module, const char *image, unsigned, void *, void *) {
  CURRENT;
  const bool ptx = memcmp(image, "STUBPTX1", 8) == 0;
  if (!ptx && memcmp(image, "STUBCUBN", 8)) return INVALID_IMAGE;
  uint64_t bytes;
  memcpy(&bytes, image + 8, 8);
  const std::string content(image + 16, bytes);
  Module made = {ptx ? nullptr : open_library(content), ptx ? load_ptx(content) : nullptr};
  if (!made.host && !made.ptx) return INVALID_IMAGE;
  return *module = new Module(made), SUCCESS;
}
API cuModuleLoadData(Module **module, const char *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
API cuModuleUnload(void *) { return cuCtxSynchronize(); }  // the library stays: its OpenMP threads may still be there
static Function *host_function(void *library, const char *name) {
  auto packed = (void (*)(unsigned, unsigned, const char *))dlsym(library, (std::string(name) + "_launch").c_str());
  if (!packed) return nullptr;
  return new Function{name, [=](Device &, unsigned grid, unsigned block, const std::string &arguments) {
    return packed(grid, block, arguments.data()), SUCCESS;
  }};
}
API cuModuleGetFunction(Function **function, Module *module, const char *name) {
  CURRENT;
  *function = module->ptx ? ptx_function(module->ptx, name) : host_function(module->host, name);
  return *function ? SUCCESS : NOT_FOUND;
}
API cuFuncGetAttribute(int *value, int attribute, Function *) { return *value = attribute == 0 ? 1024 : 0, SUCCESS; }
// By a real GPU's limits of warps and blocks alone, since code for a CPU says nothing of registers.
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int threads, size_t) {
  CURRENT;
  if (!function || threads < 1) return function ? INVALID_VALUE : INVALID_HANDLE;
  const int warps = (threads + 31) / 32, fitting = threads > 1024 ? 0 : std::min(32, 64 / warps);
  return *blocks = (int)std::min((size_t)fitting, setting("STUB_RESIDENT", 64)), SUCCESS;
}
API cuFuncSetAttribute(Function *, int, int) { return SUCCESS; }
API cuFuncSetBlockShape(Function *, int, int, int) { return SUCCESS; }  // PyCUDA calls it; the launch says it again

// PyCUDA's packed arguments: a list of (key, value) that ends with key 0; 1 is the buffer, 2 points to its size.
static std::string packed_arguments(void **extra) {
  const char *buffer = nullptr;
  size_t bytes = 0;
  for (; extra && *extra; extra += 2) {
    if (*extra == (void *)1) buffer = static_cast<const char *>(extra[1]);
    if (*extra == (void *)2) bytes = *static_cast<const size_t *>(extra[1]);
  }
  return std::string(buffer ? buffer : "", bytes);
}
API cuLaunchKernel(Function *function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream, void **, void **extra) {
  ON_STREAM(stream);
  if (!function) return INVALID_HANDLE;
  bool flat = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
  if (!flat || grid < 1 || grid > 0x7fffffffu || block < 1 || block > 1024 || shared > 49152) return INVALID_VALUE;
  trace("launch", stream, function->name.c_str(), grid);
  size_t number = ++driver().launches;
  if (number == setting("STUB_FAIL_LAUNCH", 0)) return LAUNCH_OUT_OF_RESOURCES;
  bool fails = number == setting("STUB_FAIL_KERNEL", 0);
  Device *it = &device;
  auto run = function->run;
  device.stream(stream).add([=, arguments = packed_arguments(extra)] {
    if (fails) it->failure = ILLEGAL_ADDRESS;
    if (!it->failure) it->failure = run(*it, grid, block, arguments);
  });
  return SUCCESS;
}

// --- Streams and events. Destroying them waits for nothing. ---
API cuStreamCreate(void **stream, unsigned) {
  CURRENT;
  return *stream = &device.streams.emplace_back(), SUCCESS;
}
API cuStreamSynchronize(void *stream) {
  ON_STREAM(stream);
  trace("wait", stream, "-", 0);
  return device.stream(stream).drain(), device.failure;
}
API cuStreamDestroy_v2(void *stream) {
  ON_STREAM(stream);
  return device.stream(stream).destroyed = true, SUCCESS;
}
API cuStreamQuery(void *stream) { return cuStreamSynchronize(stream); }
API cuStreamWaitEvent(void *stream, Event *event, unsigned) {
  ON_STREAM(stream);
  if (!device.events.count(event)) return INVALID_HANDLE;
  if (auto mark = event->mark) device.stream(stream).add([=] { mark->stream->drain(mark->number); });
  return SUCCESS;
}
API cuEventCreate(Event **event, unsigned) {
  CURRENT;
  *event = new Event;
  return device.events.emplace(*event, *event), SUCCESS;
}
API cuEventRecord(Event *event, void *stream) {
  ON_STREAM(stream);
  if (!device.events.count(event)) return INVALID_HANDLE;
  auto mark = event->mark = std::make_shared<Mark>(Mark{&device.stream(stream), 0, false, false, {}});
  mark->number = mark->stream->given() + 1;
  mark->stream->add([=] {
    mark->moment = std::chrono::steady_clock::now();
    mark->reached = true;
  });
  return SUCCESS;
}
API cuEventSynchronize(Event *event) {
  WITH_EVENT(event);
  if (event->mark) event->mark->stream->drain(event->mark->number);
  return device.failure;
}
API cuEventQuery(Event *event) {
  WITH_EVENT(event);
  if (!event->mark || event->mark->reached) return SUCCESS;
  if (!event->mark->asked) return event->mark->asked = true, NOT_READY;  // nothing is done until it is asked again
  return event->mark->stream->drain(event->mark->number), device.failure;
}
API cuEventElapsedTime_v2(float *milliseconds, Event *start, Event *end) {
  WITH_EVENT(start);
  if (!device.events.count(end) || !start->mark || !end->mark) return INVALID_HANDLE;
  if (!start->mark->reached || !end->mark->reached) return NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->mark->moment - start->mark->moment).count();
  return SUCCESS;
}
API cuEventElapsedTime(float *milliseconds, Event *start, Event *end) { return cuEventElapsedTime_v2(milliseconds, start, end); }
API cuEventDestroy_v2(Event *event) {
  WITH_EVENT(event);
  return device.events.erase(event), SUCCESS;  // its mark stays in the stream
}

API cuGetErrorString(CUresult error, const char **text) {
  static const std::map<CUresult, const char *> texts = {
      {SUCCESS, "no error"}, {INVALID_VALUE, "invalid argument"}, {OUT_OF_MEMORY, "out of memory"},
      {DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"},
      {NO_DEVICE, "no CUDA-capable device is detected"}, {INVALID_DEVICE, "invalid device ordinal"},
      {INVALID_IMAGE, "device kernel image is invalid"}, {INVALID_CONTEXT, "invalid device context"},
      {INVALID_HANDLE, "invalid resource handle"}, {NOT_FOUND, "named symbol not found"}, {NOT_READY, "device not ready"},
      {ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
      {LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
      {CONTEXT_IS_DESTROYED, "context is destroyed"},
      {LAUNCH_TIMEOUT, "the launch timed out and was terminated"},
      {ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"},
      {MISALIGNED_ADDRESS, "misaligned address"},
      {INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"},
      {LAUNCH_FAILED, "unspecified launch failure"},
      {ALREADY_PINNED, "part or all of the requested memory range is already mapped"},
      {NOT_PINNED, "pointer does not correspond to a registered memory region"},
      {NOT_SUPPORTED, "operation not supported by the stub driver"}};
  auto found = texts.find(error);
  return *text = found == texts.end() ? "unknown error" : found->second, SUCCESS;
}
