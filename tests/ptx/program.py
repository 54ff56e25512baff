"""Runs kernels on the stub driver with the interpreter, for check.py. To be started in the environment of `ptx_stub`.

    program.py compile FILE ...    compiles files of cuda_src (held_karp/minplus), and runs nothing
    program.py run CASE ...        runs cases of tests/races/program.py, all of them if none is named
    program.py mutant NAME         runs the case that should reveal a planted mistake
"""

from __future__ import annotations

import sys
import time

from hpcsolve.device import build
from hpcsolve.device.cuda import CudaDevice
from hpcsolve.device.select import list_gpus
from tests.ptx.mutants import MUTANTS, mutated
from tests.races.program import CASES

ARCHITECTURE = "sm_90"


def main(words: list[str]) -> None:
    """Execute a command: `compile`, `run` or `mutant`, with its arguments."""
    match words:
        case ["compile", *files]:
            for file in files:
                build.cubin(file, ARCHITECTURE)
        case ["mutant", name]:
            with mutated(MUTANTS[name]):
                run([MUTANTS[name].case])
        case ["run", *names]:
            run(names or list(CASES))
        case _:
            sys.exit(f"{' '.join(words)}: expected compile FILE ..., run CASE ... or mutant NAME")


def run(names: list[str]) -> None:
    """Run cases, which check their answers, and print how long each took."""
    with CudaDevice(list_gpus()[0]) as device:
        for name in names:
            begin = time.monotonic()
            CASES[name](device)
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
