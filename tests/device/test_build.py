"""The compile cache never returns another user's code or half a file, and compiles once for all ranks of a run."""

import errno
import os
import queue
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from hpcsolve.device import build, compiler
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import EnvironmentFault
from hpcsolve.job import load_job
from hpcsolve.runner.ahead import LONGER, build_files, build_for
from tests.device.conftest import forget

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another owner")


@pytest.fixture
def cache(cache, monkeypatch):
    """Let the compiler write what no test takes for its options."""
    monkeypatch.setenv("COMPILED", "machine code")
    return cache


def compiled(cache):
    """Return the number of compiles so far."""
    log = cache.parent / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def library():
    """Return `host_library` as a new process calls it."""
    forget()
    return build.host_library("held_karp/minplus")


def test_the_second_call_does_not_compile(cache):
    first = library()
    assert first == library() and first.read_text() == "machine code" and compiled(cache) == 1
    assert build.cubin("held_karp/minplus", "sm_90") == b"machine code" and compiled(cache) == 2
    forget()
    build.cubin("held_karp/minplus", "sm_90")
    assert compiled(cache) == 2
    build.cubin("held_karp/minplus", "sm_80")
    assert compiled(cache) == 3


def test_the_folder_is_for_its_owner_alone(cache):
    library()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert not [name for name in os.listdir(cache) if name.endswith(".part")]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(cache, mode):
    library()
    cache.chmod(mode)
    with pytest.raises(EnvironmentFault, match="HPCSOLVE_CACHE"):
        library()
    assert compiled(cache) == 1


@root_only
def test_a_folder_of_another_owner_is_refused(cache):
    library()
    os.chown(cache, 12345, 12345)
    with pytest.raises(EnvironmentFault, match="is not yours, or others can write to it"):
        library()


@root_only
def test_a_link_to_a_folder_of_another_owner_is_refused(cache):
    (foreign := cache.parent / "foreign").mkdir()
    os.chown(foreign, 12345, 12345)
    cache.symlink_to(foreign)
    with pytest.raises(EnvironmentFault, match="is not yours, or others can write to it"):
        library()


def test_a_link_in_place_of_an_entry_is_not_trusted(cache):
    """Neither where it leads to other bytes than those that were compiled, nor where it leads nowhere."""
    entry = library()
    (cache.parent / "planted").write_text("planted")
    for count, target in enumerate((cache.parent / "planted", cache.parent / "nowhere")):
        entry.unlink()
        entry.symlink_to(target)
        assert library().read_text() == "machine code" and compiled(cache) == count + 2
    assert (cache.parent / "planted").read_text() == "planted"


@pytest.mark.parametrize(
    ("mode", "fine"), [(0o755, True), (0o775, True), (0o1777, True), (0o777, False), (0o707, False)]
)
def test_a_folder_that_everybody_may_replace_is_refused(cache, mode, fine):
    library()
    cache.parent.chmod(mode)
    if fine:
        library()
    else:
        with pytest.raises(EnvironmentFault, match=r"everybody may rename what is in .*HPCSOLVE_CACHE"):
            library()
    assert compiled(cache) == 1


def test_what_a_killed_builder_left_is_removed_by_the_next(cache, monkeypatch):
    monkeypatch.setenv("COMPILE_SECONDS", "60")
    process = start_one("from hpcsolve.device import build; build.host_library('held_karp/minplus')")
    while compiled(cache) == 0:
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert len(list(cache.glob("compiling.*.part"))) == 1
    monkeypatch.setenv("COMPILE_SECONDS", "0")
    assert library().read_text() == "machine code" and compiled(cache) == 2
    assert list(cache.glob("compiling.*.part")) == []


@root_only
def test_an_entry_of_another_owner_is_built_again(cache):
    entry = library()
    os.chown(entry, 12345, 12345)
    assert library().stat().st_uid == 0 and compiled(cache) == 2


@pytest.mark.parametrize("content", ["", "machine", "machine cOde", "machine code and more"])
def test_a_damaged_entry_is_built_again(cache, content):
    library().write_text(content)
    assert library().read_text() == "machine code" and compiled(cache) == 2


def test_an_entry_without_its_checksum_is_built_again(cache):
    entry = library()
    for path in cache.glob("*.sha256"):
        path.unlink()
    assert library() == entry and compiled(cache) == 2


def test_a_planted_entry_is_not_loaded(cache):
    entry = library()
    shutil.rmtree(cache)
    cache.mkdir(mode=0o700)
    entry.write_text("planted")
    assert library().read_text() == "machine code"


def test_what_the_code_depends_on_is_in_its_name(cache, monkeypatch, tmp_path):
    names = {library().name}
    monkeypatch.setenv("FEATURES", "avx512bw")
    names.add(library().name)
    monkeypatch.setenv("HPCSOLVE_CXXFLAGS", f"{build.HOST_FLAGS} -O1 -mavx2")
    names.add(library().name)
    os.utime(cache.parent / "counting-compiler", (1, 1))
    names.add(library().name)
    sources = tmp_path / "sources"
    shutil.copytree(build.source_folder(), sources)
    monkeypatch.setattr(build, "source_folder", lambda: sources)
    library()
    for file in ("held_karp/minplus.cu", "device/host.cuh", "held_karp/subsets.cuh"):
        with open(sources / file, "a") as source:
            source.write("// changed\n")
        names.add(library().name)
    assert len(names) == 7 and compiled(cache) == 7


def test_what_nvcc_reads_from_the_environment_is_in_a_cubins_name(cache, monkeypatch):
    for count, (name, value) in enumerate([("", ""), *((name, "x") for name in build.NVCC_SETTINGS)]):
        if name:
            monkeypatch.setenv(name, value)
        for _ in range(2):
            forget()
            build.cubin("held_karp/minplus", "sm_90")
        assert compiled(cache) == count + 1, name
    before = compiled(cache)
    library()
    for name in build.NVCC_SETTINGS:
        monkeypatch.delenv(name)
    library()
    assert compiled(cache) == before + 1  # of the CPU's code, which nvcc has no part in


def test_a_host_compiler_that_nvcc_does_not_take_is_told_with_the_way_out(cache, monkeypatch):
    monkeypatch.setenv("COMPILE_ERROR", "#error -- unsupported GNU version! gcc versions later than 15 are not")
    with pytest.raises(EnvironmentFault, match=r"15 are not; name an older g\+\+ in NVCC_CCBIN"):
        build.cubin("held_karp/minplus", "sm_90")


def test_a_failed_compile_is_one_line_and_leaves_nothing(cache, monkeypatch):
    monkeypatch.setenv("COMPILE_ERROR", "expected ';'")
    with pytest.raises(EnvironmentFault, match=r"minplus\.cu: x\.cu:7: error: expected ';'") as caught:
        library()
    assert "\n" not in str(caught.value)
    assert [name for name in os.listdir(cache) if not name.endswith(".lock")] == []
    monkeypatch.delenv("COMPILE_ERROR")
    assert library().read_text() == "machine code"


@pytest.mark.parametrize("number", build.NO_LOCKS)
def test_a_file_system_without_locks_is_no_obstacle(number, cache, monkeypatch):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    assert library().read_text() == "machine code" and compiled(cache) == 1


def test_a_lock_that_fails_otherwise_is_one_line(cache, monkeypatch):
    def flock(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(EnvironmentFault, match="Input/output error; name another folder in HPCSOLVE_CACHE"):
        library()


ADVICE = r"; HPCSOLVE_CXXFLAGS stands in place of hpcsolve's options: unset it, or change \"-x c\+\+ .* -shared .*\"$"


@pytest.mark.parametrize(("flags", "missing"), [
    ("", r"-x c\+\+, -fPIC, -shared"), ("-O2", r"-x c\+\+, -fPIC, -shared"), ("-x c++ -O2 -fPIC", "-shared"),
    ("-xc++ -shared-libgcc -fpic", "-shared"), ("-shared -fPIC", r"-x c\+\+"),
])
def test_options_that_make_no_library_are_refused_by_name(flags, missing, cache, monkeypatch):
    monkeypatch.setenv("HPCSOLVE_CXXFLAGS", flags)
    with pytest.raises(EnvironmentFault, match=f"^HPCSOLVE_CXXFLAGS lacks {missing}{ADVICE}"):
        library()
    assert compiled(cache) == 0
    assert build.cubin("held_karp/minplus", "sm_90") == b"machine code", "they are not for GPUs"


def test_other_unusable_options_are_named(cache, monkeypatch):
    """With options that the compiler refuses, and with a file that cannot be loaded, such as one made with -c."""
    monkeypatch.setenv("HPCSOLVE_CXXFLAGS", "-xc++ -fpic -shared --odd")
    with pytest.raises(EnvironmentFault, match=f"file too short: this kernel library cannot be loaded.*{ADVICE}"):
        HostDevice(1).kernel("held_karp/minplus", "minplus_multiply")
    forget()
    monkeypatch.setenv("COMPILE_ERROR", "unrecognized option --odd")
    with pytest.raises(EnvironmentFault, match=f"unrecognized option --odd{ADVICE}"):
        build.host_library("held_karp/held_karp")


def test_no_compiler_is_one_line(cache, monkeypatch):
    monkeypatch.setenv("HPCSOLVE_CXX", "no-such-compiler")
    with pytest.raises(EnvironmentFault, match="no-such-compiler is not on the PATH"):
        library()


def test_a_folder_that_cannot_be_made_is_one_line(cache, monkeypatch):
    (cache.parent / "file").write_text("")
    monkeypatch.setenv("HPCSOLVE_CACHE", str(cache.parent / "file" / "cache"))
    with pytest.raises(EnvironmentFault, match="HPCSOLVE_CACHE"):
        library()


def start_one(code):
    """Start a process that runs this code, in a process group of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_of_many_that_start_at_once_one_compiles(cache, monkeypatch):
    monkeypatch.setenv("COMPILE_SECONDS", "1")
    code = "from hpcsolve.device import build; print(build.host_library('held_karp/minplus').read_text())"
    processes = [start_one(code) for _ in range(5)]
    outputs = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert outputs == ["machine code"] * 5 and compiled(cache) == 1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_the_files_of_a_job_are_compiled_side_by_side(cache, tmp_path, monkeypatch):
    (tmp_path / "job.toml").write_text('algorithm = "shortest-paths"\ninstance = "roads.gr"\n')
    monkeypatch.setenv("COMPILE_SECONDS", "3")
    said = []
    began = time.perf_counter()
    build_for(load_job(str(tmp_path / "job.toml"), device="cpu"), said.append)
    seconds, files = time.perf_counter() - began, compiled(cache)
    assert files > 3 and seconds < 3 * files
    assert said[0].startswith(f"build:  compiling {files} kernel files with ")


def test_a_thread_that_starts_as_a_signal_comes_compiles_nothing(monkeypatch):
    """The pool of threads does not know of it then, and so cannot wait for it."""
    start, go_on, said = threading.Thread.start, threading.Event(), queue.Queue()

    def start_and_interrupt(thread):
        start(thread)
        raise KeyboardInterrupt

    def compile_one(item):
        go_on.wait(20)
        try:
            compiler.require_going_on()
            said.put("compiles")
        except EnvironmentFault as fault:
            said.put(str(fault))

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            compiler.compile_all(compile_one, ["kernel"], 1)
    go_on.set()
    assert said.get(timeout=20) == "compiling was ended"


def test_the_longest_file_begins_first_and_the_estimate_knows_it(cache, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    said = []
    build_files(("paths/dijkstra", "host/areas", "tours/k_opt"), "cpu", {}, said.append)
    sources = [line.split()[-3] for line in (cache.parent / "log").read_text().splitlines()]
    assert [os.path.basename(source) for source in sources] == ["areas.cpp", "k_opt.cu", "dijkstra.cu"]
    assert said[0].endswith(", once: about 12 s")
    for files in (build.LITTLE_TO_GAIN, *LONGER.values()):
        assert all((build.source_folder() / build.source_name(file)).is_file() for file in files)


def test_several_compilers_take_at_least_as_long_as_the_longest_file(cache, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    said = []
    build_files(("paths/dijkstra", "host/areas", "ants/max_min"), "cpu", {}, said.append)
    assert said[0].endswith(", once: about 7 s")


def test_what_gains_little_is_compiled_with_fewer_passes(cache):
    for file, level in (("host/near_cities", "-O2"), ("host/edge_assembly", "-O3")):
        build.host_library(file)
        assert f" {level} " in (cache.parent / "log").read_text().splitlines()[-1]
