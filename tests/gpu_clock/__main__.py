"""`make gpu-clock`: counts what the benchmark's kernels execute, and computes the times that follow on two GPUs.

    python -m tests.gpu_clock                     # all cases of the benchmark, compared with counts.csv
    python -m tests.gpu_clock phast-264 --write   # some, and counts.csv written anew
    python -m tests.gpu_clock --published --write other.csv   # with New York's roads, if HPCSOLVE_DATA has them
    python -m tests.gpu_clock --recorded          # the last table alone, of what is recorded
    python -m tests.gpu_clock --recorded --before other.csv   # beside the counts of another state of the sources

Counts are facts of nvcc's code, executed by the interpreter of tests/ptx on the benchmark's problems with fewer
sources, ants, instances or cities (cases.py). Times are a model (model.py) over published numbers (gpus.py).
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, fields
from pathlib import Path

from jobs.benchmarks.common.table import markdown
from tests.gpu_clock.cases import BENCHMARK, Counted, counted
from tests.gpu_clock.counts import Codes, Counts, Run, all_counts, run
from tests.gpu_clock.gpus import GPUS
from tests.gpu_clock.model import Times, times_of
from tests.gpu_code.compiled import NVDISASM, find_disassembler
from tests.ptx.build import ptx_stub
from tests.stub_driver.build import CannotBuild

RECORD = Path(__file__).parent / "counts.csv"
TOLERANCE = 0.03
"""How much a count may grow before it is a failure."""
LIMITED = ("launches", "instructions", "shared", "global_", "atomics", "wavefronts", "asked", "l2", "dram", "barriers",
           "path")
"""The fields of `Counts` that may not grow."""
COMMENT = """\
# What the benchmark's kernels execute on a GPU (tests/gpu_clock/counts.py has the columns' meanings), counted for less
# of the same work (cases.py). `make gpu-clock` fails where a count is more than {tolerance:.0%} larger. With WRITE=1 it
# writes this file.
"""


Record = dict[tuple[str, str, str], Counts]
"""Counts by case, kernel and architecture."""


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="gpu-clock", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", help="cases of the benchmark (default all)")
    parser.add_argument("--write", type=Path, nargs="?", const=RECORD, metavar="FILE",
                        help="write the counts as the new record, or into another file")
    parser.add_argument("--published", action="store_true",
                        help="solve the published instances of HPCSOLVE_DATA, not generated ones; compare nothing")
    parser.add_argument("--recorded", type=Path, nargs="?", const=RECORD, metavar="FILE",
                        help="run nothing, and show the record, or another one")
    parser.add_argument("--before", type=Path, metavar="FILE", help="another record, to be shown beside")
    options = parser.parse_args()
    known = counted()
    chosen = options.cases or list(known)
    before = read_record(options.before) if options.before else {}
    if options.recorded:
        print("\n".join(overview(known, read_record(options.recorded), before)))
        return 0
    if find_disassembler() is None:
        print(f"gpu-clock: there is no nvdisasm, which comes with the CUDA toolkit and with pip install {NVDISASM}",
              file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            stub = ptx_stub(Path(folder))
        except CannotBuild as reason:
            print(f"gpu-clock: {reason}", file=sys.stderr)
            return 1
        codes = Codes()

        def start(name: str) -> Run:
            return run(stub, name, Path(folder), int(GPUS["sm_90"].l2 / known[name].space), options.published)

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = []
            for name, (ran, calls) in zip(chosen, pool.map(start, chosen)):
                own = list(all_counts(name, ran, codes))
                found += own
                print("\n".join(report(name, known[name], own, calls)), flush=True)
    print("\n".join(["", *overview(known, {key_of(each): each for each in found}, before)]))
    recorded = read_record()
    problems = excesses(found, recorded)
    if options.write:
        others = read_record(options.write).values()
        write_record([*(each for each in others if each.case not in chosen), *found], options.write)
    if options.write or options.published:
        return 0
    for problem in problems:
        print(f"gpu-clock: {problem}", file=sys.stderr)
    return int(bool(problems))


def report(name: str, case: Counted, counts: list[Counts], calls: Counter[str]) -> list[str]:
    """Return the lines that are printed of a case: what was counted, and its times."""
    lines = [f"\n{name}: counted 1/{case.times:.4g} of the work, 1/{case.launches:.4g} of the launches, with "
             f"1/{case.space:.4g} of the L2 ({case.why})"]
    own = [each for each in counts if each.architecture == "sm_90"]
    rows = [[each.kernel, f"{each.launches}", f"{each.blocks}", f"{each.ptx:.3g}",
             *(f"{one.instructions:.3g}" for one in counts if one.kernel == each.kernel),
             f"{each.lanes / max(1, each.ptx):.1f}", f"{each.wavefronts:.3g}", f"{each.asked:.3g}", f"{each.l2:.3g}",
             f"{each.dram:.3g}", f"{each.touched:.3g}", f"{each.changed:.3g}", f"{each.barriers:.3g}"] for each in own]
    lines += markdown(["counted", "launches", "blocks", "PTX", *GPUS, "lanes", "wavefronts", "sectors", "L2", "DRAM",
                       "different", "atomics", "barriers"], rows)
    for architecture, gpu in GPUS.items():
        every = [times_of(each, case) for each in counts if each.architecture == architecture]
        titles = [f"{gpu.name}, ms", "launches", *every[0].seconds, "limit"]
        lines += ["", *markdown(titles, [row(each) for each in every])]
        launches = sum(each.launches for each in every)
        whole, gaps = sum(each.longest for each in every), launches * gpu.launch
        floor = BENCHMARK[name].floor
        lines.append(f"{name} on {gpu.name}: kernels {1e3 * whole:.3g} ms, {launches:.0f} launches {1e3 * gaps:.3g} ms "
                     f"({100 * gaps / (whole + gaps):.0f} %), their host {1e3 * launches * gpu.host:.3g} ms; "
                     f"counted: {calls['up']} copies up, {calls['down']} down, {calls['wait']} waits; "
                     f"floor {'unknown' if floor is None else f'{1e3 * floor:.3g} ms'}")
    return lines


def overview(known: Mapping[str, Counted], now: Record, before: Record) -> list[str]:
    """Return the lines of a table of all kernels at the benchmark's size, each number before and now if they differ."""
    rows = []
    for case, kernel in dict.fromkeys((case, kernel) for case, kernel, _ in [*now, *before] if case in known):
        cells = [[_cell(known[case], record.get((case, kernel, architecture))) for architecture in GPUS]
                 for record in ((before, now) if before else (now,))]
        joined = [[" -> ".join(dict.fromkeys(each)) for each in zip(*gpus)] for gpus in zip(*cells)]
        rows.append([case, kernel, *joined[0], *(each[-1] for each in joined[1:])])
    return markdown(["case", "kernel", "launches", "instructions", "L2 GB", "DRAM GB",
                     *(f"{gpu.name} ms, by" for gpu in GPUS.values())], rows)


def _cell(case: Counted, each: Counts | None) -> list[str]:
    """Return launches, instructions, bytes and time of a kernel."""
    if each is None:
        return ["none"] * 5
    times, factor = times_of(each, case), case.by_kernel.get(each.kernel, case.times)
    numbers = (factor * each.instructions, 32e-9 * factor * each.l2, 32e-9 * factor * (each.dram + each.written))
    return [f"{times.launches:.0f}", *(f"{one:.3g}" for one in numbers), f"{1e3 * times.longest:.3g} {times.limit}"]


def row(each: Times) -> list[str]:
    """Return a kernel's row."""
    return [each.kernel, f"{each.launches:.0f}", *(f"{1e3 * one:.3g}" for one in each.seconds.values()), each.limit]


def key_of(each: Counts) -> tuple[str, str, str]:
    """Return by what a kernel's counts are found in a record."""
    return each.case, each.kernel, each.architecture


def excesses(found: Iterable[Counts], recorded: Record) -> list[str]:
    """Return where kernels cost more than the record says."""
    problems = []
    for each in found:
        key = key_of(each)
        if key not in recorded:
            problems.append(f"{each.kernel} of {each.case} for {each.architecture} is not in {RECORD.name}")
            continue
        more = [f"{name.strip('_')} {getattr(each, name)} instead of {getattr(recorded[key], name)}" for name in LIMITED
                if getattr(each, name) > (1 + TOLERANCE) * getattr(recorded[key], name) + 1]
        if more:
            problems.append(f"{each.kernel} of {each.case} for {each.architecture} costs more: {', '.join(more)}")
    return problems


def read_record(path: Path = RECORD) -> Record:
    """Return the recorded counts by case, kernel and architecture."""
    if not path.exists():
        return {}
    rows = csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#"))
    words = {field.name for field in fields(Counts) if field.type == "str"}
    every = (Counts(**{name: value if name in words else int(value) for name, value in row.items()}) for row in rows)
    return {key_of(each): each for each in every}


def write_record(counts: Iterable[Counts], path: Path = RECORD) -> None:
    """Write counts as the new record."""
    with path.open("w", newline="") as file:
        file.write(COMMENT.format(tolerance=TOLERANCE))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Counts)])
        writer.writerows(sorted((astuple(each) for each in counts), key=lambda row: row[:3]))


if __name__ == "__main__":
    sys.exit(main())
