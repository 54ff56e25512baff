/* Preloaded into a process, it lets the k-th call that writes to a folder fail with "No space left on device".
 *
 * fail_writes(folder, first, last) begins to count: calls `first` to `last`, from 1, fail. Counted are making, writing,
 * syncing and renaming of files below the folder. written() returns how many such calls there were.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char watched[4096];
static long calls, first_failing, last_failing;

void fail_writes(const char *folder, long first, long last) {
  snprintf(watched, sizeof watched, "%s", folder);
  calls = 0, first_failing = first, last_failing = last;
}

long written(void) { return calls; }

static int fails(const char *path) {
  if (!*watched || strncmp(path, watched, strlen(watched)) != 0) return 0;
  long call = __sync_add_and_fetch(&calls, 1);
  if (call < first_failing || call > last_failing) return 0;
  errno = ENOSPC;
  return 1;
}

static int fails_at(int file) {
  char link[64], path[4096];
  if (!*watched) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *data, size_t size) { return fails_at(file) ? -1 : REAL(write)(file, data, size); }
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
  return fails_at(file) ? -1 : REAL(pwrite)(file, data, size, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
  return fails_at(file) ? -1 : REAL(pwrite64)(file, data, size, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  return fails_at(file) ? -1 : REAL(writev)(file, parts, count);
}
int fsync(int file) { return fails_at(file) ? -1 : REAL(fsync)(file); }
int mkdir(const char *path, mode_t mode) { return fails(path) ? -1 : REAL(mkdir)(path, mode); }
int rename(const char *from, const char *to) { return fails(to) ? -1 : REAL(rename)(from, to); }

#define OPEN(name)                                                     \
  int name(const char *path, int flags, ...) {                         \
    va_list rest;                                                      \
    va_start(rest, flags);                                             \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;          \
    va_end(rest);                                                      \
    if (flags & O_CREAT && fails(path)) return -1;                     \
    return REAL(name)(path, flags, mode);                              \
  }
OPEN(open)
OPEN(open64)
