"""Declarations of kernels equal those that the compiler sees, and functions of the host take and return arrays."""

import ctypes
import shutil
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.device import build
from hpcsolve.device.declaration import FORMATS, Declaration, Struct, Value, declaration_of, declarations
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import LaunchError, ResourceError
from tests.races.check import exported_kernels

FILES = sorted(path.relative_to(build.source_folder()).with_suffix("").as_posix()
               for path in build.source_folder().rglob("*.c*") if path.suffix in (".cu", ".cpp"))
CODES = {
    "i4": ctypes.c_int32, "u2": ctypes.c_uint16, "u4": ctypes.c_uint32, "u8": ctypes.c_uint64, "u1": ctypes.c_uint8
}
PLANTED = """
template <class T>
struct net {
  uint32_t n;          // vertices
  const T *arcs, *in;  // (head, weight)
  NULLABLE const T *extra;
  uint16_t *order, last;
};
#define ONE(name, T)                           \\
  KERNEL name(int n, net<T> graph, T *out) {} \\
  EXPORT_KERNEL(name)
#define BOTH(file)            \\
  ONE(file##_u4, uint32_t)    \\
  ONE(file##_u8, uint64_t)
BOTH(planted)
"""


def written(folder, text):
    """Return a folder of sources with the file planted.cu."""
    (folder / "planted.cu").write_text(text)
    return folder


def test_every_kernel_is_read():
    read = {name for file in FILES for name in declarations(build.source_folder(), file)}
    assert read == exported_kernels()


@pytest.mark.parametrize("file", FILES)
def test_the_compiler_sees_the_same_types(file, device_on_cpu):
    for name in declarations(build.source_folder(), file):  # each refuses another signature
        if file.startswith("host/"):
            with pytest.raises(LaunchError, match=f"{name}: arguments missing"):
                device_on_cpu.call(file, name)
        else:
            device_on_cpu.kernel(file, name)


@pytest.fixture
def device_on_cpu():
    """Return the CPU, whatever device the tests run on."""
    return HostDevice(1)


def test_another_signature_is_refused(device_on_cpu, monkeypatch):
    other = Declaration("minplus_multiply", (Value("n", "i8"),))
    monkeypatch.setattr("hpcsolve.device.host.declaration_of", lambda *_: other)
    with pytest.raises(LaunchError, match=r"minplus_multiply was compiled with i4 .*\.cu declares i8"):
        device_on_cpu.kernel("held_karp/minplus", "minplus_multiply")


def test_templates_macros_and_groups_are_read(tmp_path):
    found = declarations(written(tmp_path, PLANTED.replace("*in;", "*inner;")), "planted")
    fields = (Value("n", "u4"), Value("arcs", "u8", True, True), Value("inner", "u8", True, True),
              Value("extra", "u8", True, True, nullable=True), Value("order", "u2", True), Value("last", "u2"))
    assert list(found) == ["planted_u4", "planted_u8"]
    assert found["planted_u8"].parameters == (Value("n", "i4"), Struct("graph", fields), Value("out", "u8", True))
    assert found["planted_u8"].signature == "i4 s48 u8*"


@pytest.mark.parametrize("text", [
    PLANTED,  # a field with a name that Python cannot pass
    "KERNEL planted_f(int lambda) {}",
    "KERNEL planted_f(int n = 3) {}",
    "KERNEL planted_f(int **rows) {}",
    "KERNEL planted_f(unsigned long n) {}",
    "KERNEL planted_f(const net *graph) {}",
    "struct net { int n; };\nKERNEL planted_f(net *graph) {}",
    "KERNEL planted_f(NULLABLE int n) {}",
    "struct net { int n; };\nKERNEL planted_f(NULLABLE net graph) {}",
    "struct net { NULLABLE int n; };\nKERNEL planted_f(net graph) {}",
    "struct net { int n; };\nKERNEL planted_f(net<int> graph) {}",
    "struct net { int n[4]; };\nKERNEL planted_f(net graph) {}",
    "struct inner { int n; };\nstruct net { inner one; };\nKERNEL planted_f(net graph) {}",
])
def test_other_declarations_are_refused(text, tmp_path):
    with pytest.raises(LaunchError, match="planted_"):
        declarations(written(tmp_path, text), "planted")


def test_arguments_of_groups_are_checked(device_on_cpu):
    numbers = device_on_cpu.zeros(4, np.uint32)
    kernel = Declaration("sum", (Value("n", "i4"), Struct("net", (Value("arcs", "u4", True, True), Value("m", "u2")))))
    assert kernel.packed({"n": -1, "net": {"m": 7, "arcs": numbers}}, device_on_cpu) == struct.pack(
        "@i0PPH0P", -1, numbers.address, 7
    )
    for net, message in [
        ({"arcs": numbers}, "sum: arguments missing net.m"),
        ({"arcs": numbers, "m": 7, "k": 1}, "sum: arguments unknown net.k"),
        ({"arcs": 3, "m": 7}, "sum: argument net.arcs must be u4[*] on this device, not 3"),
        ({"arcs": numbers, "m": 1 << 16}, "sum: argument net.m must be u2 on this device, not 65536"),
        (numbers, "sum: argument net must be a mapping with arcs, m"),
    ]:
        with pytest.raises(LaunchError, match=message):
            kernel.packed({"n": -1, "net": net}, device_on_cpu)


def test_none_is_taken_where_the_source_says_so(tmp_path, device_on_cpu):
    numbers = device_on_cpu.zeros(4, np.uint32)
    text = "struct pair { NULLABLE const uint32_t *extra; uint32_t *out; };\nKERNEL planted_f(pair both) {}"
    kernel = declaration_of(written(tmp_path, text), "planted", "planted_f")
    for extra, address in ((None, 0), (numbers, numbers.address)):
        packed = kernel.packed({"both": {"extra": extra, "out": numbers}}, device_on_cpu)
        assert packed == struct.pack("@PP", address, numbers.address)
    for wrong, message in [
        ({"extra": numbers, "out": None}, r"planted_f: argument both.out must be u4\* on this device, not None"),
        ({"extra": 0, "out": numbers}, r"planted_f: argument both.extra must be u4\* or None on this device, not 0"),
        ({"out": numbers}, "planted_f: arguments missing both.extra"),
    ]:
        with pytest.raises(LaunchError, match=message):
            kernel.packed({"both": wrong}, device_on_cpu)


@given(st.lists(st.one_of(st.sampled_from(sorted(CODES)), st.lists(st.sampled_from(sorted(CODES)), min_size=1)),
                min_size=1))
def test_arguments_are_packed_as_c_does(kinds):
    """Numbers and structs in any order are packed as ctypes, which follows C's rules, lays them out."""
    parameters = []
    fields = []
    for place, kind in enumerate(kinds):
        if isinstance(kind, str):
            parameters.append(Value(f"p{place}", kind))
            fields.append((f"p{place}", CODES[kind]))
        else:
            parameters.append(Struct(f"p{place}", tuple(Value(f"f{i}", code) for i, code in enumerate(kind))))
            inner = {"_fields_": [(f"f{i}", CODES[code]) for i, code in enumerate(kind)]}
            fields.append((f"p{place}", type("Inner", (ctypes.Structure,), inner)))
    outer = type("Outer", (ctypes.Structure,), {"_fields_": fields})()
    arguments = {}
    for place, kind in enumerate(kinds):
        if isinstance(kind, str):
            arguments[f"p{place}"] = place % 100
            setattr(outer, f"p{place}", place % 100)
        else:
            arguments[f"p{place}"] = {f"f{i}": i % 100 for i in range(len(kind))}
            for i in range(len(kind)):
                setattr(getattr(outer, f"p{place}"), f"f{i}", i % 100)
    packed = Declaration("any", tuple(parameters)).packed(arguments, HostDevice(1))
    assert packed == bytes(outer)[: len(packed)]


def test_every_code_has_a_format():
    assert {np.dtype(code).itemsize for code in FORMATS} == {1, 2, 4, 8}
    assert all(struct.calcsize(letter) == np.dtype(code).itemsize for code, letter in FORMATS.items())


PLANTED_FUNCTIONS = """// Functions that this test calls.
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
    (folder / f"{FILE}.cpp").write_text(PLANTED_FUNCTIONS)
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
    for arguments, message in [
        ((values.astype(np.int32), squares), r"planted_split: argument given.values must be u4\*"),
        ((values, values), r"planted_split: argument squares must be u8\*"),
        ((values, np.zeros(8, np.uint64)[::2]), "contiguous"),
        ((values, frozen), "argument squares is written to by the kernel; it cannot be a constant"),
    ]:
        with pytest.raises(LaunchError, match=message):
            split(host, *arguments)
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
