"""What programs prove of an instance within some seconds, each in a process of its own, as cells of a table."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.machine import describe_load, describe_machine

Run = dict[str, Any]
"""The best value, the lower bound, whether they prove each other, the costs' scale and CPU seconds, or why it ended."""


def solved(module: str, arguments: Sequence[str], options: argparse.Namespace) -> Run:
    """Return what a program found, or why it ended.

    Parameters
    ----------
    module
        Started with the arguments, the seconds and the gibibytes of the options. It prints a `Run` as JSON.
    """
    command = [sys.executable, "-m", module, *arguments, str(options.seconds), str(options.gibibytes)]
    run = subprocess.run(command, capture_output=True, text=True, check=False,
                         env={**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"})
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        return {"ended": lines[-1][:60] if lines else f"exit {run.returncode}"}
    found: Run = json.loads(run.stdout.splitlines()[-1])
    return found


def cell(run: Run) -> str:
    """Return what was found as a cell of a table."""
    if "ended" in run:
        return str(run["ended"])
    if run["proven"]:
        return f"**{run['value'] / run['scale']:.10g}** {run['seconds']:.2g} s"
    low, high = ("none" if run[key] is None else f"{run[key] / run['scale']:.10g}" for key in ("bound", "value"))
    return f"[{low}, {high}] {run['seconds']:.2g} s"


def differ(what: str, runs: Mapping[str, Run], published: str) -> int:
    """Return 1, after a line that says so, if proven values differ, or one is above the published one."""
    proven = {name: run["value"] / run["scale"] for name, run in runs.items() if run.get("proven")}
    wrong = len(set(proven.values())) > 1 or any(value > float(published or "inf") for value in proven.values())
    if wrong:
        print(f"optima differ, {what}: {proven}, published {published}", file=sys.stderr)
    return int(wrong)


def legend(seconds: float) -> str:
    """Return what the cells mean."""
    return f"CPU seconds; bold: proven; [a, b]: bounds after {seconds:g} s of wall-clock time."


def machine(before: float | None, packages: tuple[str, ...]) -> list[str]:
    """Return lines about the machine and the versions of packages."""
    with open_device("cpu", SerialComm())[0] as device:
        return ["", *describe_machine(device, 1, packages), describe_load(before)]
