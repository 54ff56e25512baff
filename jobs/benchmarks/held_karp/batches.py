"""A batch of small instances in one job, beside a loop over `hpcsolve.solve`.

    python -m jobs.benchmarks.held_karp.batches                          # 100,000 instances of 12 cities
    python -m jobs.benchmarks.held_karp.batches --instances 10000 --cities 15 --threads 1

The job is the command line with all that belongs to it: start, compilation from the cache, reading, checking, writing.
The loop solves a sample with `hpcsolve.solve` in this process, which has everything loaded and compiled. Prints
Markdown. The exit code is 1 if a sampled instance has another cost.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import hpcsolve
from jobs.benchmarks.common.command import new_parser
from jobs.benchmarks.common.machine import describe_load
from jobs.benchmarks.common.timing import load

SEED = 1


def main() -> int:
    """Measure both, print the table, and return the exit code."""
    parser = new_parser("jobs.benchmarks.held_karp.batches", __doc__)
    parser.add_argument("--instances", type=int, default=100_000)
    parser.add_argument("--cities", type=int, default=12)
    parser.add_argument("--sampled", type=int, default=200, help="instances that are also solved alone")
    parser.add_argument("--threads", type=int, default=1)
    options, before = parser.parse_args(), load()
    costs = np.random.default_rng(SEED).integers(1, 1001, (options.instances, options.cities, options.cities))
    with tempfile.TemporaryDirectory() as folder:
        together, result = _job(Path(folder), costs, options.threads)
    alone, other = _loop(costs, result, options.sampled, options.threads)
    rate, ratio = options.instances / together, alone / (together / options.instances)
    print(f"{describe_load(before)}\n")
    print("| instances | cities | threads | job | instances a second | hpcsolve.solve, each | ratio | other costs |")
    print("|---|---|---|---|---|---|---|---|")
    print(f"| {options.instances} | {options.cities} | {options.threads} | {together:.3g} s | {rate:.4g} | "
          f"{1e3 * alone:.3g} ms | {ratio:.4g} | {other} of {options.sampled} |")
    return int(other > 0)


def _job(folder: Path, costs: np.ndarray, threads: int) -> tuple[float, hpcsolve.Result]:
    """Return the seconds of a whole job, and its result. The kernels are compiled before."""
    job = folder / "job.toml"
    job.write_text('algorithm = "held-karp"\ninstance = { batch = "costs.npz" }\ndevice = "cpu"\noutput = "out.h5"\n'
                   f"threads = {threads}\n")
    for some in (costs[:1], costs):
        np.savez(folder / "costs.npz", some)
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "hpcsolve", "run", "job.toml", "--overwrite", "--quiet"], cwd=folder,
                       check=True)
        seconds = time.perf_counter() - started
    return seconds, hpcsolve.load(folder / "out.h5")


def _loop(costs: np.ndarray, result: hpcsolve.Result, sampled: int, threads: int) -> tuple[float, int]:
    """Return the seconds of a solve, and the number of sampled instances whose cost is not that of the job."""
    found = np.asarray(result.contents.value("solution", "costs"))
    chosen = np.unique(np.linspace(0, len(costs) - 1, sampled).astype(int))
    hpcsolve.solve(costs[0], device="cpu", threads=threads)
    started = time.perf_counter()
    alone = [hpcsolve.solve(costs[number], device="cpu", threads=threads).cost for number in chosen]
    seconds = (time.perf_counter() - started) / len(chosen)
    return seconds, int((np.array(alone) != found[chosen]).sum())


if __name__ == "__main__":
    sys.exit(main())
