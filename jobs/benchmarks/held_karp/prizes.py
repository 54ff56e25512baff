"""Tours that may leave stops out: generated instances, what is proven of them, and the CPU seconds.

    python -m jobs.benchmarks.held_karp.prizes
    python -m jobs.benchmarks.held_karp.prizes --kinds curve-20 --seeds 4 5 6

Stops lie in a plane of 1000 x 1000, costs are rounded distances, and prizes are 1 to 20. Windows lie around the times
of a random tour; a width of 200 says that each begins up to 200 before that time and ends up to 200 after it. A budget
is a part of the end of that tour or, without windows, a cost. Every solve is a process of its own with one thread,
whose CPU seconds count from the statement to the answer, kernels built. Prints Markdown.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.held_karp.statement import Parameters, TourStatement
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.errors import HpcsolveError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion, Windows
from hpcsolve.problems.tsp import Tsp, from_costs
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load


@dataclass(frozen=True)
class Kind:
    """Instances that differ in their seeds.

    Attributes
    ----------
    stops
        Their number, beside the first city.
    width
        Of windows; 0 for none.
    budget
        Part of the end of the random tour, or a cost where there are no windows; 0 for the whole curve.
    """

    stops: int
    width: int = 0
    budget: float = 0


KINDS = {
    "most-30-w200": Kind(30, 200, 0.6), "most-30-w2000": Kind(30, 2000, 0.6), "most-30": Kind(30, 0, 2000),
    "curve-20": Kind(20),
}


def instance(kind: Kind, seed: int) -> tuple[Tsp, TourQuestion]:
    """Return the instance of a kind and a seed, and what is asked."""
    rng, n = np.random.default_rng(seed), kind.stops + 1
    places = rng.integers(0, 1000, (n, 2))
    cost = np.hypot(*(places[:, None] - places).transpose(2, 0, 1)).round().astype(np.int64)
    prizes, windows, budget = rng.integers(1, 21, n), None, int(kind.budget) or None
    prizes[0] = 0
    if kind.width:
        now = np.append(0, cost[np.arange(n - 1), np.arange(1, n)].cumsum())
        earliest, latest = (now + sign * rng.integers(0, kind.width, n) for sign in (-1, 1))
        earliest[0], latest[0] = 0, now[-1] + cost[-1, 0] + kind.width
        windows = Windows(np.maximum(0, earliest), latest, np.zeros(n, np.int64))
        budget = int(latest[0] * kind.budget) or None
    return from_costs(cost, f"{kind.stops}-{seed}"), TourQuestion(objective="prize", windows=windows, prizes=prizes,
                                                               budget=budget)


def main() -> int:
    """Measure, print the table, and return the exit code."""
    parser = new_parser("jobs.benchmarks.held_karp.prizes", __doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--solve", nargs=2, metavar=("KIND", "SEED"), help="solve one in this process, and print JSON")
    options, before = parser.parse_args(), load()
    if options.solve:
        print(json.dumps(_solved(options.solve[0], int(options.solve[1]))))
        return 0
    rows = []
    for kind in options.kinds:
        for seed in options.seeds:
            command = [sys.executable, "-m", "jobs.benchmarks.held_karp.prizes", "--solve", kind, str(seed)]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(run.stdout.splitlines()[-1])
            shown = (str(found[name]) for name in ("prize", "of", "points", "states", "seconds"))
            rows.append([kind, str(seed), *shown])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    with open_device("cpu", SerialComm())[0] as device:
        machine = describe_machine(device, 1, ())
    table = markdown(["instance", "seed", "most prize", "of", "points", "states", "CPU s"], rows)
    print("\n".join([*table, "", *machine, describe_load(before)]))
    return 0


def _solved(kind: str, seed: int) -> dict[str, Any]:
    """Return what is found of an instance."""
    tsp, question = instance(KINDS[kind], seed)
    stated = TourStatement(tsp, Parameters(objective="prize"), question)
    total = int(question.prize(range(tsp.n)))
    with HostDevice(threads=1) as device:
        begun = resource.getrusage(resource.RUSAGE_SELF)
        try:
            outcome = held_karp.ALGORITHM.run(stated, device, SerialComm())
        except HpcsolveError as error:
            return {"prize": str(error)[:40], "of": total, "points": "", "states": "", "seconds": ""}
        ended = resource.getrusage(resource.RUSAGE_SELF)
    answer, states = outcome.answer, outcome.groups["layers"]["states"].values
    seconds = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
    points = 1 if answer.curve_prizes is None else len(answer.curve_prizes)
    return {"prize": answer.prize, "of": total, "points": points, "states": int(np.sum(states)),
            "seconds": f"{seconds:.2g}"}


if __name__ == "__main__":
    end_with(main, __package__)
