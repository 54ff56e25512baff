"""`hpcsolve build` makes kernels for other machines, which then need no compiler, and never loads what cannot run."""

import os
import platform

import msgspec
import pytest

from hpcsolve.device import build, compiler
from hpcsolve.device.build import build_target, target_folder
from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.runner import info
from hpcsolve.runner.ahead import build_files
from tests.device.conftest import forget

FEATURES = """\
  -mavx2      \t\t[enabled]\n  -msse4.2  [enabled]\n  -msse4   [enabled]\n  -mfma   [disabled]
  -mavx256-split-unaligned-load \t[enabled]\n  -mavx512vbmi2\t[enabled]\n  -mlzcnt [enabled]
"""
FILES = ("held_karp/held_karp", "paths/dijkstra")
NEEDED = {"avx2", "sse42", "avx512vbmi2", "abm"}


@pytest.fixture
def cache(cache, monkeypatch):
    """Give the cache folder, with a CPU that has the features which the counting compiler takes for granted."""
    monkeypatch.setenv("FEATURES", FEATURES)
    monkeypatch.setattr(build, "features_of_this_cpu", lambda: frozenset({*NEEDED, "mmx"}))
    return cache


def on_a_compute_node(monkeypatch):
    """Take both compilers away."""
    monkeypatch.setenv("HPCSOLVE_CXX", "no-such-compiler")
    monkeypatch.setenv("HPCSOLVE_NVCC", "no-such-compiler")
    forget()


def built(name, is_gpu=False):
    """Build two files for a target, and return its folder."""
    return build_target(name, is_gpu, FILES, lambda file: None)


def test_a_node_without_compilers_loads_what_was_built_for_it(cache, monkeypatch):
    built("znver9")
    built("sm_90", is_gpu=True)
    on_a_compute_node(monkeypatch)
    assert build.Code(FILES[0]).is_built() and build.Code(FILES[1], "sm_90").is_built()
    assert "-march=znver9" in build.host_library(FILES[0]).read_text()
    assert "-arch=sm_90" in build.cubin(FILES[1], "sm_90").decode()
    assert build.compiler_line() == "counting compiler 1, for znver9"
    with pytest.raises(EnvironmentFault, match="no-such-compiler is not on the PATH"):
        build.cubin(FILES[1], "sm_80")


def test_the_key_does_not_follow_the_compiler(cache, monkeypatch):
    first = target_folder("znver9")
    monkeypatch.setenv("HPCSOLVE_CXX", "another")
    assert target_folder("znver9") == first != target_folder("znver8")


def test_the_description_has_the_features_that_matter(cache):
    target = msgspec.json.decode((built("znver9") / build.DESCRIPTION).read_bytes(), type=build.Target)
    assert target == build.Target("znver9", "counting compiler 1", platform.machine(), tuple(sorted(NEEDED)))


@pytest.mark.parametrize("lacks", sorted(NEEDED))
def test_a_cpu_that_lacks_a_feature_compiles_for_itself(cache, monkeypatch, lacks):
    built("znver9")
    monkeypatch.setattr(build, "features_of_this_cpu", lambda: frozenset(NEEDED - {lacks}))
    assert "-march=native" in build.host_library(FILES[0]).read_text()


def change(folder, **values):
    """Change the description of a target."""
    path = folder / build.DESCRIPTION
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), **values}))


def test_of_several_the_one_with_most_features_is_taken(cache):
    change(built("a-small-one"), features=["avx2"])
    built("full")
    change(built("z-other"), features=["avx2", "abm"])
    assert "-march=full" in build.host_library(FILES[0]).read_text()


@pytest.mark.parametrize("damage", ["another machine", "no description", "bad description", "nested description",
                                    "a kernel changed", "a kernel lacks", "not ours", "flags of one's own"])
def test_what_cannot_be_trusted_is_not_loaded(cache, monkeypatch, damage):
    folder = built("znver9")
    kernel = folder / build.kernel_name(FILES[0], "znver9")
    if damage == "another machine":
        change(folder, machine="riscv64")
    elif damage == "no description":
        (folder / build.DESCRIPTION).unlink()
    elif damage == "bad description":
        (folder / build.DESCRIPTION).write_text('{"name": 3}')
    elif damage == "nested description":
        (folder / build.DESCRIPTION).write_text('{"x": ' + 10_000 * "[")
    elif damage == "a kernel changed":
        kernel.write_text("changed")
    elif damage == "a kernel lacks":
        kernel.unlink()
    elif damage == "not ours":
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        os.chown(folder, 12345, -1)
    else:
        monkeypatch.setenv("HPCSOLVE_CXXFLAGS", f"{build.HOST_FLAGS} -O1")
    expected = "-O1" if damage == "flags of one's own" else "-march=native"
    assert expected in build.host_library(FILES[0]).read_text()


@pytest.fixture
def shipped(cache, monkeypatch, tmp_path):
    """Give the folder of two targets in a wheel, compiled by a g++ on the PATH that is gone."""
    folder = tmp_path / "shipped"
    monkeypatch.setattr(build, "shipped_folder", lambda: folder)
    folder.mkdir()
    for name, features in (("old", ["avx2"]), ("new", sorted(NEEDED))):
        change(build_target(name, False, FILES, lambda file: None, folder), features=features)
    monkeypatch.delenv("HPCSOLVE_CXX")
    monkeypatch.setenv("PATH", "")
    forget()
    return folder


def test_of_a_wheel_the_best_kernels_for_this_cpu_are_loaded(shipped, monkeypatch):
    assert "-march=new" in build.host_library(FILES[0]).read_text()
    assert build.compiler_line() == "counting compiler 1, for new, in the wheel" and build.why_none_shipped() == ""
    forget()
    monkeypatch.setattr(build, "features_of_this_cpu", lambda: frozenset({"avx2"}))
    assert "-march=old" in (text := build.host_library(FILES[0]).read_text())
    assert text.split().index("-static-libstdc++") and "-Wl,-rpath,$ORIGIN/.." in text


def test_of_a_wheel_that_belongs_to_root_all_users_load_kernels(shipped):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in (shipped, *shipped.rglob("*")):
        os.chown(path, 12345, -1)
    assert "-march=new" in build.host_library(FILES[0]).read_text()


def test_what_hpcsolve_build_made_for_this_very_cpu_comes_first(shipped, cache, monkeypatch):
    monkeypatch.setenv("HPCSOLVE_CXX", str(cache.parent / "counting-compiler"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    built("znver9")
    monkeypatch.delenv("HPCSOLVE_CXX")
    assert "-march=znver9" in build.host_library(FILES[0]).read_text()


@pytest.mark.parametrize(("why", "says"), [
    ("compiler", "HPCSOLVE_CXX is set"), ("options", "HPCSOLVE_CXXFLAGS is set"), ("sources", "from other sources"),
    ("an old CPU", "they are for new and old, and this CPU is older")])
def test_kernels_of_a_wheel_that_are_not_taken_are_told(shipped, cache, monkeypatch, why, says):
    """The user's compiler is used then, and the log and `hpcsolve info` say why."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if why == "sources":
        for folder in shipped.iterdir():
            folder.rename(folder.with_name(folder.name.rpartition("-")[0] + "-0123"))
    elif why == "an old CPU":
        monkeypatch.setattr(build, "features_of_this_cpu", lambda: frozenset({"sse41"}))
    elif why == "options":
        monkeypatch.setenv("HPCSOLVE_CXXFLAGS", f"{build.HOST_FLAGS} -O1")
    monkeypatch.setattr(compiler, "host_compiler", lambda: str(cache.parent / "counting-compiler"))
    if why == "compiler":
        monkeypatch.setenv("HPCSOLVE_CXX", str(cache.parent / "counting-compiler"))
    said = []
    build_files(FILES, "cpu", {}, said.append)
    assert "; the wheel's own kernels are not taken: " in said[0] and said[0].endswith(says)
    expected = "-O1" if why == "options" else "-march=native"
    assert expected in build.host_library(FILES[0]).read_text()
    assert any(line.startswith("kernels    those of the wheel") and line.endswith(says) for line in info.compilers())


def test_a_damaged_kernel_of_a_wheel_is_compiled_here(shipped, cache, monkeypatch):
    next(shipped.glob("*-new-*/paths-dijkstra.so")).write_text("changed")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(compiler, "host_compiler", lambda: str(cache.parent / "counting-compiler"))
    said = []
    build_files(FILES, "cpu", {}, said.append)
    assert said[0].endswith("; damaged in the wheel, install hpcsolve again: paths/dijkstra"), said
    assert "-march=native" in build.host_library("paths/dijkstra").read_text()


def test_building_again_replaces_what_was_there(cache):
    folder = built("znver9")
    change(folder, machine="riscv64")
    assert built("znver9") == folder and "-march=znver9" in build.host_library(FILES[0]).read_text()
    assert [path.name for path in cache.iterdir()] == [folder.name]


def test_a_failure_leaves_nothing(cache, monkeypatch):
    monkeypatch.setenv("COMPILE_ERROR", "no such CPU")
    with pytest.raises(EnvironmentFault, match="no such CPU"):
        built("znver9")
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(("name", "is_gpu"), [
    ("native", False), ("", False), ("-O0", False), ("sm_90", False), ("a b", False), ("../x", False), ("znver4", True),
    ("sm_", True), ("sm_90 -x", True), ("compute_90", True)])
def test_names_that_are_no_targets_are_refused(cache, name, is_gpu):
    with pytest.raises(InputError, match="name it"):
        built(name, is_gpu)


def test_this_cpu_has_what_its_own_compiler_takes_for_granted():
    """The names of g++ and of Linux mean the same features."""
    options = compiler.target_features("g++", "native")
    found = build.features_in(options)
    assert set(found) <= build.features_of_this_cpu()
    assert found or platform.machine() != "x86_64"


def test_the_command_names_what_is_wrong(hpcsolve):  # type: ignore[no-untyped-def]
    for words, reason in (([], "name the CPU or the GPU"), (["--cpu", "native"], "CPU 'native'"),
                          (["--gpu", "h100"], "GPU 'h100'")):
        done = hpcsolve("build", *words)
        assert done.returncode == 2 and done.stdout == "" and reason in done.stderr
