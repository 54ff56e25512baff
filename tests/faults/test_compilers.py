"""Compilers that are missing, fail, hang or write nonsense end a run with one line, and eight ranks compile once."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hpcsolve.device import compiler
from hpcsolve.errors import ResourceError

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
