"""Functions of the host take arrays, return arrays, share work among threads, and fail in one line."""

import shutil

import numpy as np
import pytest

from hpcsolve.device import build
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import LaunchError, ResourceError

PLANTED = """// Functions that this test calls.
#include "host/function.hpp"
#include "host/share.hpp"

struct numbers { uint32_t n; const uint32_t *values; };
FUNCTION planted_split(numbers given, uint64_t *squares, result<uint32_t> &odd, result<uint64_t> &sum) {
  for (uint32_t i = 0; i < given.n; i++) {
    squares[i] = (uint64_t)given.values[i] * given.values[i];
    if (given.values[i] % 2) odd.push_back(given.values[i]);
  }
  uint64_t all = 0;
  for (uint32_t i = 0; i < given.n; i++) all += given.values[i];
  sum.push_back(all);
}
EXPORT_FUNCTION(planted_split)
FUNCTION planted_hold(uint64_t bytes, uint32_t thrown) {
  if (thrown) throw 1;
  vector<uint8_t> room;
  room.reserve(bytes);
}
EXPORT_FUNCTION(planted_hold)
// Each thread sums up what it takes. The last item fails if `fails`.
FUNCTION planted_share(uint64_t count, uint32_t threads, uint32_t fails, uint64_t *total) {
  const auto take = [&](vector<uint64_t> &own, uint64_t i) {
    if (fails && i + 1 == count) throw std::bad_alloc();
    own[0] += i;
    __atomic_fetch_add(total, i, __ATOMIC_RELAXED);
  };
  share(count, threads, [] { return vector<uint64_t>(1); }, take);
}
EXPORT_FUNCTION(planted_share)
"""
FILE = "host/planted"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Return the CPU, with the functions above beside the headers of cuda_src."""
    folder = tmp_path_factory.mktemp("sources") / "cuda_src"
    original = build.source_folder
    shutil.copytree(original(), folder)
    (folder / f"{FILE}.cpp").write_text(PLANTED)
    build.source_folder = lambda: folder
    with HostDevice(2) as device:
        yield device
    build.source_folder = original


def split(host, values, squares):
    return host.call(FILE, "planted_split", given={"n": len(values), "values": values}, squares=squares)


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_arrays_go_in_and_come_out(host, n):
    both = np.arange(2 * n, dtype=np.uint32)
    for values in (both[:n], both[::2]):  # one of them strided
        squares = np.empty(n, np.uint64)
        found = split(host, values, squares)
        assert squares.tolist() == [int(value) ** 2 for value in values]
        assert found["odd"].tolist() == [value for value in values.tolist() if value % 2]
        assert found["odd"].dtype == np.uint32 and found["sum"].tolist() == [int(values.sum())]


def test_wrong_arguments_are_refused(host):
    values, squares = np.zeros(4, np.uint32), np.zeros(4, np.uint64)
    frozen = np.zeros(4, np.uint64)
    frozen.flags.writeable = False
    for given, message in [
        ((values.astype(np.int32), squares), r"planted_split: argument given.values must be u4\*"),
        ((values, values), r"planted_split: argument squares must be u8\*"),
        ((values, np.zeros(8, np.uint64)[::2]), "contiguous"),
        ((values, frozen), "argument squares is written to by the kernel; it cannot be a constant"),
    ]:
        with pytest.raises(LaunchError, match=message):
            split(host, *given)
    with pytest.raises(LaunchError, match="planted_hold: arguments missing bytes, thrown; unknown size"):
        host.call(FILE, "planted_hold", size=3)
    with pytest.raises(LaunchError, match=r"host/planted\.cpp has no function planted_none"):
        host.call(FILE, "planted_none")


def test_memory_that_cannot_be_had_is_a_resource_error(host):
    with pytest.raises(ResourceError, match=r"planted_hold: its memory does not fit \(\d+ bytes are free\)"):
        host.call(FILE, "planted_hold", bytes=1 << 60, thrown=0)
    with pytest.raises(LaunchError, match="planted_hold failed"):
        host.call(FILE, "planted_hold", bytes=0, thrown=1)
    host.call(FILE, "planted_hold", bytes=12345, thrown=0)
    assert host.functions[FILE, "planted_hold"].most_held == 12345 <= host.memory_peak


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_share_work_and_failures(host, threads):
    total = np.zeros(1, np.uint64)
    host.call(FILE, "planted_share", count=1000, threads=threads, fails=0, total=total)
    assert total[0] == 999 * 1000 // 2
    with pytest.raises(ResourceError, match="planted_share"):
        host.call(FILE, "planted_share", count=1000, threads=threads, fails=1, total=total)
