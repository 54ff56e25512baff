"""Plain symmetric tours beside Concorde: what each proves of TSPLIB's files, and the CPU seconds.

    python -m jobs.benchmarks.held_karp.concorde                            # FOLDER/tsplib that HPCSOLVE_DATA names
    python -m jobs.benchmarks.held_karp.concorde --files eil51 lin318 --seconds 60

Concorde (D. Applegate, R. Bixby, V. Chvatal, W. Cook) is a branch-and-cut code for symmetric costs, free for academic
use. `pip install --no-deps ml4co-kit` brings it as a library; without that it is left out. Every solve is a process of
its own with one thread, which may take so many seconds of wall-clock time. hpcsolve solves up to `MOST_BY_BOUNDS`
cities by `method = "bounded"`, and more by edge-assembly, which has a tour and a lower bound. Prints Markdown. The
exit code is 1 if two optima differ, or one is above the published one.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.held_karp.proofs import Run, cell, differ, legend, machine, solved

FILES = ("gr24", "fri26", "bayg29", "eil51", "berlin52", "eil76", "kroA100", "ch150", "lin318", "pr1002", "pr2392")
MOST_BY_BOUNDS = 100
PACKAGE = "ml4co-kit"
SOLVE = "solve-one"
"""The first argument of the process that solves one file."""


def main() -> int:
    """Measure, print the table, and return the exit code."""
    parser = new_parser("jobs.benchmarks.held_karp.concorde", __doc__)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("HPCSOLVE_DATA", ".")) / "tsplib")
    parser.add_argument("--files", nargs="+", metavar="NAME", default=list(FILES), help="without .tsp")
    parser.add_argument("--seconds", type=float, default=60, help="wall-clock limit of a solve (default 60)")
    parser.add_argument("--gibibytes", type=int, default=8, help="memory for each process (default 8)")
    options, before = parser.parse_args(), load()
    programs = ["hpcsolve", *(["Concorde"] if concorde_library() else [])]
    known, rows, code = _optima(options.folder), [], 0
    for name in options.files:
        runs = {program: solved(__spec__.name, [SOLVE, program, str(options.folder / f"{name}.tsp")], options)
                for program in programs}
        rows.append([name, known.get(name, ""), *map(cell, runs.values())])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
        code |= differ(name, runs, known.get(name, ""))
    lines = [*markdown(["file", "optimum", *programs], rows), "", legend(options.seconds)]
    print("\n".join([*lines, *machine(before, (PACKAGE,))]))
    return code


def concorde_library() -> Path | None:
    """Return the path of Concorde's library, or None if it is not installed. Its package is not imported."""
    package = importlib.util.find_spec("ml4co_kit")
    folders = [Path(folder) for folder in (package.submodule_search_locations or ())] if package else []
    return next((path for folder in folders for path in folder.rglob("_concorde.*.so")), None)


def by_hpcsolve(file: Path, seconds: float) -> Run:
    """Solve by bounds, or find a tour and a bound."""
    import hpcsolve
    from hpcsolve.formats import read

    few = read(file).problem.n <= MOST_BY_BOUNDS
    algorithm, keys = ("held-karp", {"method": "bounded"}) if few else ("edge-assembly", {})
    result = hpcsolve.solve(file, algorithm, device="cpu", threads=1, stop={"seconds": seconds}, **keys)
    value, bound = (result.contents.value("solution", name) for name in ("cost", "lower_bound"))
    return {"value": int(value), "bound": int(value if bound is None else bound), "proven": bool(result.optimal)}


def by_concorde(file: Path, seconds: float) -> Run:
    """Solve by Concorde, which writes files into the working directory: a new one."""
    library = concorde_library()
    assert library is not None
    spec = importlib.util.spec_from_file_location("_concorde", library)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        cities, data = module._CCutil_gettsplib(str(file.resolve()))
        _, value, success, found, _ = module._CCtsp_solve_dat(cities, data, "tour", seconds, 1, 1)
        os.chdir("/")
    return {"value": round(value) if found else None, "bound": round(value) if success else None, "proven": success}


def solve_one(program: str, file: str, seconds: str, gibibytes: str) -> int:
    """Solve one file in this process, and print what was found as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (int(gibibytes) << 30, int(gibibytes) << 30))
    if program == "hpcsolve":  # whose kernels are compiled and loaded before
        for name in ("gr24", "ch150"):
            by_hpcsolve(Path(file).with_name(f"{name}.tsp"), 1)
    begun = time.process_time()
    found = {"hpcsolve": by_hpcsolve, "Concorde": by_concorde}[program](Path(file), float(seconds))
    print("\n" + json.dumps({**found, "scale": 1, "seconds": time.process_time() - begun}))
    return 0


def _optima(folder: Path) -> dict[str, str]:
    """Return the optima of the table beside the files, by file."""
    table = folder / "optima.csv"
    if not table.exists():
        return {}
    with table.open() as lines:
        return {row["name"]: row["optimum"] for row in csv.DictReader(lines)}


if __name__ == "__main__":
    end_with(main if sys.argv[1:2] != [SOLVE] else lambda: solve_one(*sys.argv[2:]), __package__)
