"""Runs jobs with checkpoints at the default interval and without any, and stops them by a signal.

    python -m jobs.benchmarks.checkpoints                     # all jobs, about half an hour
    python -m jobs.benchmarks.checkpoints rows --repeats 2

Prints Markdown. The two kinds of runs follow each other, and the least CPU seconds of each count. The share is that of
the checkpoints in the wall-clock seconds of the run, as its log has them, so it includes waiting for the disk. The last
column is the longest time from SIGTERM, at random moments, to the end of the process.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device.host import HostDevice
from hpcsolve.errors import EnvironmentFault
from hpcsolve.output.reader import read_result
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.command import add_repeats, end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.table import line, markdown
from jobs.benchmarks.common.timing import load

TITLES = ["job", "without, CPU s", "with, CPU s", "ratio", "run s", "checkpoints", "in them s", "share",
          "signal to exit s"]
SIGNALS = 3
JOBS = {
    "lattice": """algorithm = "held-karp"
instance = { generate = "random-matrix", n = 31, seed = 1 }
[held-karp]
method = "lattice"
""",
    "ants": """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 400, seed = 1 }
[ant-colony]
bound = false
[stop]
iterations = 40000
""",
    "tours": """algorithm = "edge-assembly"
instance = { generate = "uniform-tsp", n = 5000, seed = 1 }
[edge-assembly]
population = 100
bound = false
[stop]
iterations = 30
""",
    "rows": """algorithm = "shortest-paths"
instance = { generate = "road-graph", n = 20000, seed = 1 }
[shortest-paths]
engine = "near-far"
sources = [SOURCES]
""".replace("SOURCES", ", ".join(map(str, range(1, 6001)))),
    "reductions": """algorithm = "shortest-paths"
instance = { generate = "road-network", n = 200000, seed = 1 }
[shortest-paths]
sources = "all"
reduce = ["sum", "farthest"]
""",
    "best": """algorithm = "steiner-kmb"
instance = { generate = "road-steiner", n = 20000, terminals = 600, seed = 2 }
[steiner-kmb]
mode = "best"
shakes = 250
""",
}


@dataclass(frozen=True)
class Took:
    """What a run took: CPU seconds, seconds of its work, number and seconds of its checkpoints."""

    cpu: float
    run: float
    saves: int
    saving: float


def main() -> int:
    """Measure, print the report, and return the exit code."""
    options = _options()
    before = load()
    print("\n".join(["# Checkpoints", "", *describe_machine(HostDevice(os.cpu_count() or 1), os.cpu_count() or 1, ())]))
    print("\n".join(["", *markdown(TITLES, [])]))
    for name in options.jobs:
        print(line(*_row(name, options)), flush=True)
    print(f"\n{describe_load(before)}")
    return 0


def _row(name: str, options: argparse.Namespace) -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "job.toml").write_text(JOBS[name])
        compiles = [*_command(folder, "compiled", [], options.set)[:3], "estimate", str(folder / "job.toml")]
        subprocess.run(compiles, capture_output=True, check=True)
        usual = [] if options.interval is None else ["--checkpoint-interval", options.interval]
        both = [(_took(folder, "without", ["--checkpoint-interval", "never"], options.set),
                 _took(folder, "with", usual, options.set)) for _ in range(options.repeats)]
        answers = [read_result(folder / f"{kind}.h5").groups["solution"] for kind in ("without", "with")]
        require_equal(f"{name} with checkpoints", all(
            (answers[0][part].values == column.values).all() for part, column in answers[1].items()))
        without, kept = (min(runs, key=lambda took: took.cpu) for runs in zip(*both))
        stops = [_seconds_to_end(folder, without.run, options.set) for _ in range(SIGNALS)]
    return [name, f"{without.cpu:.1f}", f"{kept.cpu:.1f}", f"{kept.cpu / without.cpu:.3f}", f"{kept.run:.1f}",
            str(kept.saves), f"{kept.saving:.2f}", f"{100 * kept.saving / kept.run:.2f} %", f"{max(stops):.1f}"]


def _command(folder: Path, output: str, words: list[str], overrides: list[str]) -> list[str]:
    changes = [word for override in overrides for word in ("--set", override)]
    return [sys.executable, "-m", "hpcsolve", "run", str(folder / "job.toml"), "--device", "cpu", "--overwrite",
            "--output", str(folder / f"{output}.h5"), *words, *changes]


def _took(folder: Path, kind: str, words: list[str], overrides: list[str]) -> Took:
    logs = folder / f"{kind}-logs"
    command = _command(folder, kind, [*words, "--log-dir", str(logs)], overrides)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentFault(f"{kind} checkpoints: exit code {done.returncode}: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = next(logs.iterdir()).read_text()
    saves = [float(seconds) for seconds in re.findall(r"checkpoint: .* in (\S+) s$", log, re.M)]
    found = re.search(r"^time: .* run (?:(\d+) min )?([\d.e+]+) s", done.stdout, re.M)
    assert found is not None
    seconds = 60 * int(found[1] or 0) + float(found[2])
    return Took(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds, len(saves), sum(saves))


def _seconds_to_end(folder: Path, run: float, overrides: list[str]) -> float:
    """Return how long a run takes to end, with a checkpoint, after a signal at a random moment."""
    command = _command(folder, "stopped", [], overrides)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        while not (line := process.stdout.readline()).startswith("memory:"):
            if not line:
                raise EnvironmentFault("a run ended before it was stopped")
        time.sleep(random.uniform(0.1, 0.8) * run)
        process.send_signal(signal.SIGTERM)
        sent = time.monotonic()
        process.communicate()
        return time.monotonic() - sent


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=f"{', '.join(JOBS)} (default: all)")
    parser.add_argument("--interval", help="seconds between checkpoints (default: that of hpcsolve)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the jobs")
    add_repeats(parser, 1)
    options = parser.parse_args()
    for name in options.jobs:
        if name not in JOBS:
            parser.error(f"no job {name!r}; there are {', '.join(JOBS)}")
    return options


if __name__ == "__main__":
    end_with(main, __package__)
