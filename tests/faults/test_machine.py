"""A machine that fails: compilers that are missing or hang, a clock that steps, GPUs that others use or that break."""

import ast
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hpcsolve.device import compiler
from hpcsolve.errors import ResourceError
from hpcsolve.output.reader import read_result
from tests.checkpoint.test_kills import checkpoint_files, solution
from tests.faults.preload import preloading
from tests.frame.source import package_files, parsed

JOB = 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 8, seed = 1 }\noutput = "out.h5"\n'
IMPATIENT = """import sys
from hpcsolve.device import compiler
compiler.SECONDS = 2.0
from hpcsolve.__main__ import main
sys.exit(main())
"""
"""The command line, with a shorter time limit for compilers."""
KNOWN = 'case "$*" in *--version*|*--help=target*) exec g++ "$@";; esac\n'
OUTPUT = 'for word in "$@"; do last=$word; done\n'
COMPILERS = {
    "missing": (None, "is not on the PATH: install a C++ compiler (g++), or name one in HPCSOLVE_CXX"),
    "not a program": ("nonsense", "cannot be started: Exec format error"),
    "fails": (f"#!/bin/sh\n{KNOWN}echo 'x.cu:7: error: no registers' >&2; exit 1", "x.cu:7: error: no registers"),
    "is killed": (f"#!/bin/sh\n{KNOWN}kill -9 $$", "exit code -9"),
    "writes nothing": (f"#!/bin/sh\n{KNOWN}exit 0", "exit code 0, and no output"),
    "writes nonsense": (f"#!/bin/sh\n{KNOWN}{OUTPUT}echo nonsense > \"$last\"", "cannot be loaded"),
    "prints bytes that are no text": (f"#!/bin/sh\n{KNOWN}printf '\\377\\376 error' >&2; exit 1", "error"),
    "hangs": (f"#!/bin/sh\n{KNOWN}exec sleep 30", "has not ended after 2 s: try `"),
    "does not say its version": ("#!/bin/sh\nexec sleep 30", "has not ended after 2 s: try `"),
}


@pytest.mark.parametrize("kind", COMPILERS)
def test_a_compiler(kind, tmp_path, run_process):
    text, message = COMPILERS[kind]
    program = tmp_path / "compiler"
    if text is not None:
        program.write_text(f"{text}\n")
        program.chmod(0o755)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "job.toml").write_text(JOB)
    environment = {**os.environ, "HPCSOLVE_CXX": str(program), "HPCSOLVE_CACHE": str(tmp_path / "cache")}
    done = run_process([sys.executable, "-c", IMPATIENT, "run", "job.toml", "--device", "cpu", "--quiet"], timeout=25,
                       cwd=tmp_path / "work", env=environment)
    assert done.returncode == 4, done.stderr
    line, = done.stderr.splitlines()
    assert line.startswith("hpcsolve: error: ") and message in line
    assert str(tmp_path / ("cache" if kind == "writes nonsense" else "compiler")) in line
    assert os.listdir(tmp_path / "work") == ["job.toml"]
    left = [name for name in os.listdir(tmp_path / "cache") if not name.endswith(".lock")]
    assert left == [] or kind == "writes nonsense"


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
def test_no_process_for_a_compiler_is_a_lack_of_resources(number, monkeypatch):
    """In a control group of 3 processes the run ended with exit code 4, and advised to try g++."""
    def fork(*words, **options):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(subprocess, "Popen", fork)
    with pytest.raises(ResourceError, match=f"^true cannot be started: {os.strerror(number)}: raise the limit of "):
        compiler.compile_with(["true"], "a.cu", Path("a.so"), 9.0)


COUNTING = f"""#!/bin/sh
{KNOWN}echo "$*" >> "$COMPILE_LOG"
exec g++ "$@"
"""


def test_eight_ranks_with_a_cold_cache_compile_once(tmp_path, mpiexec):
    """All at the same moment. The figure is printed."""
    (tmp_path / "compiler").write_text(COUNTING)
    (tmp_path / "compiler").chmod(0o755)
    (tmp_path / "job.toml").write_text(JOB)
    environment = {**os.environ, "HPCSOLVE_CXX": str(tmp_path / "compiler"), "HPCSOLVE_CACHE": str(tmp_path / "cache"),
                   "COMPILE_LOG": str(tmp_path / "log"), "HPCSOLVE_CXXFLAGS": FLAGS}
    done = mpiexec(8, "run", "job.toml", "--device", "cpu", cwd=tmp_path, env=environment, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    compiled = [line.partition(".cu ")[0].rpartition("/")[2] for line in (tmp_path / "log").read_text().splitlines()]
    print(f"8 ranks, cold cache: {len(compiled)} compiles of {len(set(compiled))} kernel files")
    assert len(compiled) == len(set(compiled)) > 0


FLAGS = "-x c++ -std=c++17 -O0 -march=native -fopenmp -ffp-contract=off -fPIC -shared -Wno-psabi"
"""Those of hpcsolve without optimisation, which takes most of the time."""


TIMED = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 50, seed = 1 }
ant-colony.bound = false
[stop]
seconds = 1.0
"""
WALL_CLOCKS = {"time.time": "hpcsolve/runner/run.py", "datetime.datetime.now": "hpcsolve/runner/conclude.py"}
"""The only places that look at the wall clock: the end of the Slurm job, and when a result was made."""


def test_a_run_while_the_clock_steps_by_days(tmp_path, hpcsolve):
    (tmp_path / "job.toml").write_text(TIMED)
    environment = preloading("stepping_clock", tmp_path)
    done = hpcsolve("run", "job.toml", "--device", "cpu", "--output", "out.h5", "--checkpoint-interval", "0.2",
                    "--deadline", "100", "--hang-timeout", "60", cwd=tmp_path, env=environment)
    assert done.returncode == 0 and "stopped: 1 s reached after " in done.stdout, done.stdout + done.stderr
    result = read_result(tmp_path / "out.h5")
    seconds = {name: column for name, column in result.groups["ranks"].items() if name.startswith("seconds_")}
    assert len(seconds) > 4
    for name, column in seconds.items():
        assert 0 <= column.values[0] < 60, name


def test_nothing_else_looks_at_the_wall_clock(repository):
    for path in package_files():
        calls = {ast.unparse(node.func) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)}
        where = path.relative_to(repository).as_posix()
        assert {name for name in calls & set(WALL_CLOCKS) if WALL_CLOCKS[name] != where} == set(), path


ON_GPU = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 12, seed = 1 }
output = "out.h5"
[ant-colony]
ants = 4
bound = false
[stop]
iterations = 40
"""
RUN = ("run", "job.toml", "--checkpoint-interval", "0", "--device")
FAULTS = {
    "memory at once": ({"fail_memory": 1}, 3, "bytes do not fit on GPU 0 (Stub GPU 0"),
    "memory later": ({"fail_memory": 7}, 3, "bytes do not fit on GPU 0 (Stub GPU 0"),
    "launch": ({"fail_launch": 4}, 4, "failed on GPU 0 (Stub GPU 0"),
    "kernel": ({"fail_kernel": 9}, 4, "(the last kernel launched was "),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory, hpcsolve):
    """Return a folder with a job and its first checkpoint, and `/solution` of a run that was left alone."""
    folder = tmp_path_factory.mktemp("begun")
    (folder / "job.toml").write_text(ON_GPU)
    whole = hpcsolve(*RUN, "cpu", "--output", "whole.h5", cwd=folder, timeout=250)
    assert whole.returncode == 0, whole.stderr
    expected = solution(folder / "whole.h5")
    (folder / "whole.h5").unlink()
    stopped = hpcsolve(*RUN, "cpu", "--deadline", "0.001", cwd=folder)
    assert stopped.returncode == 75 and checkpoint_files(folder), stopped.stdout
    (folder / "out.h5").unlink()  # the best so far
    return folder, expected


@pytest.mark.parametrize("kind", FAULTS)
def test_a_checkpoint_outlives_a_gpu(kind, begun, stub, tmp_path, hpcsolve):
    settings, code, words = FAULTS[kind]
    (folder, expected), work = begun, tmp_path / "work"
    shutil.copytree(folder, work)
    failed = hpcsolve(*RUN, "cuda", cwd=work, env=stub.environment(nvcc="single", **settings), timeout=200)
    assert failed.returncode == code and words in failed.stderr, failed.stdout + failed.stderr
    assert len(failed.stderr.splitlines()) == 1 and not (work / "out.h5").exists()
    assert any(name.endswith(".manifest") for name in checkpoint_files(work))
    resumed = hpcsolve(*RUN, "cpu", cwd=work)
    assert resumed.returncode == 0 and "resume: after " in resumed.stdout, resumed.stderr
    assert solution(work / "out.h5") == expected
