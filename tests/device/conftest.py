"""The device that the tests of this folder open, and a compile cache with a compiler whose calls are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcsolve.device import build, compiler
from hpcsolve.device.base import Device
from hpcsolve.device.cuda import CudaDevice
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import list_gpus


@pytest.fixture
def device(test_device: str) -> Iterator[Device]:
    """Open a device of the kind under test: the CPU, or with HPCSOLVE_TEST_DEVICE=cuda the first GPU, real or stub."""
    with new_device(test_device) as opened:
        yield opened


def new_device(kind: str) -> Device:
    """Return a new device of this kind."""
    return HostDevice(threads=2) if kind == "cpu" else CudaDevice(list_gpus()[0])


COMPILER = """#!/bin/sh
case "$*" in
  --version) echo "counting compiler 1"; exit 0;;
  *--help=target*) echo "$FEATURES"; exit 0;;
  -dumpmachine) echo "$(uname -m)-linux-gnu"; exit 0;;
esac
echo "$*" >> "$COMPILE_LOG"
sleep "${COMPILE_SECONDS:-0}"
for word in "$@"; do last=$word; done
printf %s "${COMPILED:-$*}" > "$last"
if [ -n "$COMPILE_ERROR" ]; then
  echo "x.cu: note: this comes first" >&2; echo "x.cu:7: error: $COMPILE_ERROR" >&2; exit 1
fi
"""
"""It writes a line to a log, and a text to the output: COMPILED, or its options."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a cache folder that does not exist yet, with the counting compiler for both kinds of code."""
    program = tmp_path / "counting-compiler"
    program.write_text(COMPILER)
    program.chmod(0o755)
    settings = {"HPCSOLVE_CACHE": tmp_path / "cache", "HPCSOLVE_CXX": program, "HPCSOLVE_NVCC": program}
    for name, value in {**settings, "COMPILE_LOG": tmp_path / "log", "FEATURES": "avx2"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("HPCSOLVE_CXXFLAGS", raising=False)
    forget()
    yield tmp_path / "cache"
    forget()


def forget() -> None:
    """Forget all remembered results, as in a new process."""
    for function in (build.host_library, build.cubin, build.headers, compiler.compiler_identity,
                     compiler.target_features):
        function.cache_clear()
