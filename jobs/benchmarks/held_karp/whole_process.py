"""Time and peak memory of `hpcsolve run` as a user starts it, from the shell to the result file."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.analysis.load import load

JOBS = {
    "random-matrix, n = 28 (asymmetric)": ("random-matrix", 28, "lattice"),
    "random-matrix, n = 32 (asymmetric)": ("random-matrix", 32, "lattice"),
    "uniform-tsp, n = 32 (symmetric)": ("uniform-tsp", 32, "lattice"),
    "uniform-tsp, n = 32, by bounds": ("uniform-tsp", 32, "bounded"),
}
WARM_UP = ("uniform-tsp", 10, "auto")
CLOCK = """
import json, os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
wall, cpu = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), wall, cpu, usage.ru_maxrss * 1024]))
"""
"""A small Python program that starts the measured process: until exec, Linux counts the parent's memory as the child's.

It prints exit code, wall-clock seconds, CPU seconds and peak bytes as JSON.
"""


@dataclass(frozen=True)
class Process:
    """A finished process: exit code, wall-clock and CPU seconds, peak memory, and what it printed to standard error."""

    code: int
    wall: float
    cpu: float
    peak_bytes: int
    message: str


def whole_processes(threads: int, repeats: int, device: str) -> list[str]:
    """Run the jobs by the command line and return a table in Markdown."""
    lines = [
        "", "## Whole processes", "",
        f"`hpcsolve run JOB.toml --device {device}`, one rank, threads = {threads}, seed = 1, compile cache warm.", "",
        "| job | cost | wall s | CPU s | peak memory, GiB | predicted by `estimate`, GiB | runs |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        run_job(Path(folder), *WARM_UP, threads, device)
        for title, (kind, n, method) in JOBS.items():
            count = repeats if n < 30 else min(repeats, 2)
            done = [run_job(Path(folder), kind, n, method, threads, device) for _ in range(count)]
            failed = next((process for process in done if process.code), None)
            if failed:
                lines.append(f"| {title} | not run: {failed.message} | | | | | |")
                continue
            result = load(Path(folder) / "result.h5")
            predicted = int(result.table("ranks")["estimated_bytes"].sum())
            peak = max(process.peak_bytes for process in done)
            wall, cpu = min(p.wall for p in done), min(p.cpu for p in done)
            lines.append(f"| {title} | {result.cost} | {wall:.2f} | {cpu:.2f} | {peak / 2**30:.2f} "
                         f"| {predicted / 2**30:.2f} | {len(done)} |")
    return lines


def run_job(folder: Path, kind: str, n: int, method: str, threads: int, device: str) -> Process:
    """Run a job on a generated instance by a method of `[held-karp]` and return what the process took."""
    job, output = folder / "job.toml", folder / "result.h5"
    job.write_text(f'algorithm = "held-karp"\ninstance = {{ generate = "{kind}", n = {n}, seed = 1 }}\n'
                   f'output = "{output}"\ndevice = "{device}"\nthreads = {threads}\n'
                   f'[held-karp]\nmethod = "{method}"\n')
    command = [sys.executable, "-m", "hpcsolve", "run", str(job), "--quiet", "--overwrite"]
    output.unlink(missing_ok=True)
    clock = [sys.executable, "-I", "-c", CLOCK, *command]
    done = subprocess.run(clock, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    code, wall, cpu, peak_bytes = json.loads(done.stdout)
    return Process(code, wall, cpu, peak_bytes, " ".join(done.stderr.split()))
