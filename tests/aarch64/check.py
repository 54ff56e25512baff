"""`make check-aarch64`: the kernels that g++ makes for Arm (Grace Hopper) give the same bits as those for this CPU.

Calls of every kernel and function of the host are recorded here (record.py), and replayed by a program of
`aarch64-linux-gnu-g++` under `qemu-aarch64` (replay.cpp), with kernels that were compiled twice. Once the options are
hpcsolve's own, but for the CPU: Neoverse N2 is the nearest to Grace that g++ 12 knows. Then registers have 16 bytes, as
NEON's, and loops may be SVE's. And once as a wheel for Arm has them (release/wheel.py). A recording in which one byte
is another must be reported, or the check itself is broken. Exits with 1 if anything differs. Where a program is missing
(Debian, Ubuntu: apt install g++-aarch64-linux-gnu qemu-user), it says which, checks nothing and exits with 0.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

from hpcsolve.device.build import host_flags, kernel_name
from release.wheel import KINDS_OF_CPU, compile_kernels, kernel_files
from tests.races.check import KERNELS, REPOSITORY, exported_kernels

COMPILER, EMULATOR, SYSTEM = "aarch64-linux-gnu-g++", "qemu-aarch64", "/usr/aarch64-linux-gnu"
HERE = Path(__file__).parent


def main() -> int:
    """Return the exit code. Print what was checked to stdout, and what is wrong to stderr."""
    if reason := missing():
        print(f"check-aarch64: skipped: {reason}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as name:
        problem = check(Path(name))
    if problem:
        print(f"check-aarch64: {problem}", file=sys.stderr)
    return 1 if problem else 0


def missing() -> str:
    """Return which program is missing, or an empty string."""
    absent = [name for name in (COMPILER, EMULATOR, "g++") if shutil.which(name) is None]
    return f"no {', '.join(absent)} (apt install g++-aarch64-linux-gnu qemu-user)" if absent else ""


def check(folder: Path, as_shipped: bool = True) -> str:
    """Return what differs, or an empty string. With `as_shipped=False` the kernels of a wheel are left out."""
    sources = sorted([*KERNELS.rglob("*.cu"), *KERNELS.rglob("*.cpp")])
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for problem in pool.map(lambda source: _compile(source, folder), sources):
            if problem:
                return problem
    run = [COMPILER, "-std=c++17", "-O1", str(HERE / "replay.cpp"), "-o", str(folder / "replay"), "-ldl"]
    subprocess.run(run, check=True)
    recorded = folder / "calls"
    done = subprocess.run([sys.executable, "-m", "tests.aarch64.record", str(recorded)], cwd=REPOSITORY,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr
    if forgotten := exported_kernels() - set(done.stdout.split()):
        return f"tests/races/program.py does not launch {', '.join(sorted(forgotten))}"
    for built in (folder, shipped(folder)) if as_shipped else (folder,):
        replayed = replay(built, recorded)
        if replayed.returncode:
            return f"{built.name}: {replayed.stdout}{replayed.stderr}"
    last = Path(f"{recorded}.last")
    content = last.read_bytes()  # which ends with what the call leaves
    last.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    altered = replay(folder, last)
    if altered.returncode != 1 or altered.stdout.splitlines()[1:] != ["1 calls, 1 differ"]:
        return f"an altered recording was not reported: the check is blind\n{altered.stdout}{altered.stderr}"
    count = len(exported_kernels())
    print(f"check-aarch64: {count} kernels and functions, {replayed.stdout.strip()}")
    return ""


def shipped(folder: Path) -> Path:
    """Compile all kernels as a wheel has them, and return their folder, which lies in another beside libgomp."""
    with patch.dict(os.environ, HPCSOLVE_CXX=COMPILER):
        compile_kernels(folder / "shipped", KINDS_OF_CPU["aarch64"], kernel_files(), lambda file: None)
    target, = (folder / "shipped").glob("target-*")
    return target


def replay(built: Path, recorded: Path) -> subprocess.CompletedProcess[str]:
    """Replay recorded calls with the libraries of a folder, by the program beside the recording."""
    command = [EMULATOR, "-L", SYSTEM, "-cpu", "max", str(recorded.with_name("replay")), str(built), str(recorded)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _compile(source: Path, folder: Path) -> str:
    """Compile a file of cuda_src, and return the compiler's complaints."""
    file = source.relative_to(KERNELS).with_suffix("").as_posix()
    flags = host_flags(file).replace("-march=native", "-mcpu=neoverse-n2").split()
    output = folder / kernel_name(file, "")
    command = [COMPILER, *flags, "-I", str(KERNELS), str(source), "-o", str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr[:2000]


if __name__ == "__main__":
    sys.exit(main())
