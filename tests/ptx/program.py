"""Runs kernels on the stub driver with the interpreter, for check.py. To be started in the environment of `ptx_stub`.

    program.py compile FILE ...    compiles files of cuda_src (held_karp/minplus), and runs nothing
    program.py run CASE ...        runs cases of tests/races/program.py, all of them if none is named
    program.py planted KERNEL      runs a kernel of planted.cu with 64 threads in each of 2 blocks, prints 64 numbers
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hpcsolve.device import build
from hpcsolve.device.cuda import CudaDevice
from hpcsolve.device.gpus import list_gpus
from tests.races.program import CASES

ARCHITECTURE = "sm_90"


def main(words: list[str]) -> None:
    """Do what the words say."""
    what, *names = words
    if what == "compile":
        for name in names:
            build.cubin(name, ARCHITECTURE)
    elif what == "run":
        run(names or list(CASES))
    else:
        print(planted(names[0]))


def run(names: list[str]) -> None:
    """Run cases, which check their answers, and print how long each took."""
    with CudaDevice(list_gpus()[0]) as device:
        for name in names:
            begin = time.monotonic()
            CASES[name](device)
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)


def planted(name: str) -> list[int]:
    """Return what a kernel of planted.cu makes of the numbers from 0 to 63."""
    with planted_sources(), CudaDevice(list_gpus()[0]) as device:
        kernel = device.kernel("planted", f"planted_{name}")
        values, out = device.upload(np.arange(64, dtype=np.uint64)), device.zeros(64, np.uint64)
        kernel(2, 64, n=64, values=values, out=out)
        return out.download().tolist()


@contextmanager
def planted_sources() -> Iterator[None]:
    """Put planted.cu beside the headers of cuda_src."""
    original = build.source_folder
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(original(), folder, dirs_exist_ok=True)
        shutil.copy(Path(__file__).parent / "planted.cu", folder)
        build.source_folder = lambda: Path(folder)
        yield
        build.source_folder = original


if __name__ == "__main__":
    main(sys.argv[1:])
