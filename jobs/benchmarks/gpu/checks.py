"""What must be true on a GPU before a time counts. Each check is a command of its own, with exit code 0 or 1.

    python -m jobs.benchmarks.gpu.checks kernels                      # all kernels can be compiled, and are kept
    python -m jobs.benchmarks.gpu.checks compare --device cuda        # the jobs of jobs/: /solution equals the CPU's
    python -m jobs.benchmarks.gpu.checks share                        # two ranks on one GPU: the same
    python -m jobs.benchmarks.gpu.checks fault                        # a failing kernel gives one line that names it
    python -m jobs.benchmarks.gpu.checks memory                       # too much memory is refused, the GPU still works
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.analysis.load import load
from hpcsolve.device.base import Buffer, Device
from hpcsolve.device.select import open_device
from hpcsolve.errors import EnvironmentFault, ResourceError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.runner.ahead import build_files
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.ranks import mpiexec

JOBS = Path(__file__).resolve().parents[2]
SMALL = ("eu-capitals", "places", "streets", "river-crossings")
"""The jobs of a small comparison."""
MINPLUS_FILE = "held_karp/minplus"
Solution = dict[str, tuple[str, tuple[int, ...], bytes]]


def main() -> int:
    """Make the check that the command asks for, print what was seen, and return the exit code."""
    parser = new_parser("jobs.benchmarks.gpu.checks", __doc__)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("--device", default="cuda", help="the GPU (default cuda)")
    parser.add_argument("--small", action="store_true", help=f"compare {', '.join(SMALL)} only")
    options = parser.parse_args()
    wrong = list(CHECKS[options.check](options))
    print("\n".join(wrong or ["as it should be"]))
    return 1 if wrong else 0


def kernels(options: argparse.Namespace) -> Iterator[str]:
    """Compile all kernels for the device, several at a time, of small ones one file. A failure is raised."""
    files = [file for name in NAMES for file in algorithm(name).kernel_files]
    build_files([MINPLUS_FILE] if options.small else [MINPLUS_FILE, *dict.fromkeys(files)], options.device, {}, print)
    yield from ()


def compare(options: argparse.Namespace) -> Iterator[str]:
    """Yield the jobs that a GPU answers otherwise than the CPU, or not at all."""
    with tempfile.TemporaryDirectory() as folder:
        for job in single_jobs(options.small):
            expected = solution(job, Path(folder) / "cpu.h5", "cpu")
            found = solution(job, Path(folder) / "gpu.h5", options.device)
            if isinstance(found, str) or isinstance(expected, str) or found != expected:
                yield f"{job.name}: {_difference(expected, found)}"
            else:
                print(f"{job.name}: {len(found)} datasets, {sum(len(data) for *_, data in found.values())} bytes",
                      flush=True)


def share(options: argparse.Namespace) -> Iterator[str]:
    """Yield what is wrong when two ranks use one GPU."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("eu-capitals", "old-town"):
            job, ranks = JOBS / f"{name}.toml", (mpiexec(), "-n", "2")
            expected = solution(job, Path(folder) / "cpu.h5", "cpu")
            found = solution(job, Path(folder) / "gpu.h5", options.device, *ranks)
            if isinstance(found, str) or found != expected:
                yield f"{name} on two ranks: {_difference(expected, found)}"


def fault(options: argparse.Namespace) -> Iterator[str]:
    """Yield what is wrong with the message of a kernel that reads far beyond its memory.

    The stub driver does not notice that. There STUB_FAIL_KERNEL=1 makes the kernel fail.
    """
    try:
        with _opened(options) as device:
            launch_minplus(device, length=1 << 30)
            device.synchronize()
        yield "an illegal access was not reported"
    except EnvironmentFault as error:
        print(error)
        if "minplus_multiply" not in str(error) or "\n" in str(error):
            yield "the message is not one line that names the kernel"


def memory(options: argparse.Namespace) -> Iterator[str]:
    """Yield what is wrong after all of a GPU's memory has been taken."""
    with _opened(options) as device:
        taken: list[Buffer] = []
        size = max(1 << 20, device.memory_free() // 8)
        try:
            while len(taken) < 100:
                taken.append(device.empty(size, np.uint8))
            yield f"{len(taken)} allocations of {size} bytes succeeded, more than the GPU should have"
        except ResourceError as error:
            print(error)
        for buffer in taken:
            buffer.free()
        if device.memory_free() < size * len(taken):
            yield "freed memory cannot be allocated again"
        launch_minplus(device, length=64)
        device.synchronize()


CHECKS = {"kernels": kernels, "compare": compare, "share": share, "fault": fault, "memory": memory}


def launch_minplus(device: Device, length: int) -> None:
    """Launch minplus_multiply on 64 values as if they were `length` values."""
    rows, cost, out = device.zeros(64, np.uint16), device.zeros(8, np.uint32), device.zeros(8 * 64, np.uint16)
    kernel = device.kernel(MINPLUS_FILE, "minplus_multiply")
    kernel(length // 64, 64, sources=1, targets=8, length=length, chunk=64, rows=rows, cost=cost, out=out)


def single_jobs(small: bool) -> list[Path]:
    """Return the job files of jobs/ that are one run, not a sweep."""
    jobs = [path for path in sorted(JOBS.glob("*.toml")) if path.stem != "city-sizes"]
    return [path for path in jobs if path.stem in SMALL] if small else jobs


def solution(job: Path, output: Path, device: str, *before: str) -> Solution | str:
    """Run a job and return the bytes of `/solution`, or the exit code and the end of the messages of a failed run."""
    command = [*before, sys.executable, "-m", "hpcsolve", "run", str(job), "--device", device, "--output", str(output)]
    done = subprocess.run([*command, "--overwrite", "--set", "share-gpu=true"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip()[-500:]}"
    columns = load(output).contents.groups["solution"]
    return {name: (str(column.values.dtype), column.values.shape, column.values.tobytes())
            for name, column in columns.items()}


def _difference(expected: Solution | str, found: Solution | str) -> str:
    for what, answer in (("CPU", expected), ("GPU", found)):
        if isinstance(answer, str):
            return f"on the {what}, {answer}"
    assert not isinstance(expected, str) and not isinstance(found, str)
    names = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    return f"other bytes in {', '.join(names)}"


def _opened(options: argparse.Namespace) -> Device:
    return open_device(options.device, SerialComm(), share_gpu=True)[0]


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.checks")
