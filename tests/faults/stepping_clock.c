/* Preloaded into a process, it lets the wall clock step by a day, forth and back, at every look at it.
 *
 * The monotonic clock goes on as it does. So whatever is measured with the wall clock is wrong by a day.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static time_t step(void) {
  static long looks;
  return __sync_add_and_fetch(&looks, 1) % 2 ? -86400 : 86400;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int code = REAL(clock_gettime)(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += step();
  return code;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int code = REAL(gettimeofday)(now, zone);
  now->tv_sec += step();
  return code;
}
time_t time(time_t *into) {
  time_t now = REAL(time)(0) + step();
  if (into) *into = now;
  return now;
}
