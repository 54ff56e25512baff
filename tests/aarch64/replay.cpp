// Replays recorded calls of kernels and functions of the host (record.py), and compares all memory afterwards.
//
//   replay FOLDER RECORDS    the libraries are FOLDER/FILE.so; a line for each difference; exit code 1 if there is one
//
// Built for another instruction set than that of the recording, it shows whether the bits are the same there.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

struct head {
  char file[64], symbol[64];
  uint32_t is_function, grid, block, argument_bytes, pointers, memories, results, unused;
};
struct pointer {
  uint32_t place, memory;  // where it stands among the arguments, and into which memory it points
  uint64_t offset;
};
struct memory {
  std::vector<char> room, after;
  char *begin;
};
static FILE *records;
template <class T>
static void read_to(T *to, size_t count = 1) {
  if (count && fread((void *)to, sizeof(T), count, records) != count) exit((fprintf(stderr, "records end early\n"), 2));
}
static void *look_up(void *library, const std::string &name) {
  void *found = dlsym(library, name.c_str());
  if (!found) exit((fprintf(stderr, "%s\n", dlerror()), 2));
  return found;
}
// Prints the first difference, if there is one.
static bool differs(const char *what, const char *symbol, unsigned number, const char *expected, const char *found,
                    size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    if (expected[at] != found[at]) {
      printf("%s: %s %u of %zu bytes differs at byte %zu\n", symbol, what, number, bytes, at);
      return true;
    }
  return false;
}

int main(int, char **words) {
  static constexpr size_t boundary = 64;
  std::map<std::string, void *> libraries;
  records = fopen(words[2], "rb");
  if (!records) return perror(words[2]), 2;
  int calls = 0, wrong = 0;
  for (head one; fread(&one, sizeof one, 1, records) == 1; calls++) {
    std::vector<char> arguments(one.argument_bytes);
    read_to(arguments.data(), arguments.size());
    std::vector<pointer> pointers(one.pointers);
    read_to(pointers.data(), pointers.size());
    std::vector<memory> memories(one.memories);
    for (memory &each : memories) {
      uint64_t size[2];  // bytes, and how far the begin is behind a boundary
      read_to(size, 2);
      each.room.resize(size[0] + 2 * boundary), each.after.resize(size[0]);
      each.begin = each.room.data() + (boundary - (uintptr_t)each.room.data() % boundary) + size[1];
      read_to(each.begin, size[0]);
      read_to(each.after.data(), size[0]);
    }
    for (const pointer &p : pointers) {
      char *to = memories[p.memory].begin + p.offset;
      memcpy(arguments.data() + p.place, &to, sizeof to);
    }
    void *&library = libraries[one.file];
    const std::string path = std::string(words[1]) + "/" + one.file + ".so", symbol = one.symbol;
    if (!library) library = dlopen(path.c_str(), RTLD_NOW);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
    bool bad = false;
    if (one.is_function) {
      std::vector<void *> made(one.results + 1);
      bad = ((int (*)(const char *, void **))look_up(library, symbol + "_call"))(arguments.data(), made.data()) != 0;
      if (bad) printf("%s has failed\n", one.symbol);
      for (uint32_t r = 0; r < one.results; r++) {
        uint64_t bytes;
        read_to(&bytes);
        std::vector<char> expected(bytes);
        read_to(expected.data(), bytes);
        if (bad) continue;
        const size_t has = ((size_t (*)(void *))look_up(library, "hpcsolve_bytes"))(made[r]);
        std::vector<char> found(has);
        ((void (*)(void *, void *))look_up(library, "hpcsolve_take"))(made[r], found.data());
        bad = has != bytes ? printf("%s: result %u has %zu bytes in place of %zu\n", one.symbol, r, has, (size_t)bytes)
                           : differs("result", one.symbol, r, expected.data(), found.data(), bytes);
      }
    } else {
      ((void (*)(int))look_up(library, "hpcsolve_set_threads"))(1);
      ((void (*)(unsigned, unsigned, const char *))look_up(library, symbol + "_launch"))(one.grid, one.block,
                                                                                         arguments.data());
    }
    for (uint32_t m = 0; m < one.memories; m++)
      bad |= differs("memory", one.symbol, m, memories[m].after.data(), memories[m].begin, memories[m].after.size());
    wrong += bad;
  }
  printf("%d calls, %d differ\n", calls, wrong);
  return wrong > 0;
}
