"""Steiner trees by KMB beside "Accelerating Computation of Steiner Trees on GPUs"."""

from __future__ import annotations

import argparse
from pathlib import Path

from hpcsolve.device.select import open_device
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.steiner import published, variants
from jobs.benchmarks.steiner.instances import Instance, read_instance
from jobs.benchmarks.studies.sizes import chosen

HEAD = """\
"Accelerating Computation of Steiner Trees on GPUs" (Muniasamy, Nasre, Narayanaswamy, 2022) compares Dijkstra's
algorithm that halts at the last terminal with Bellman-Ford searches that push or pull, k sweeps between two checks
(k-pull) and p searches at once (p-SSSP), on a Tesla P100. Beside those stand hpcsolve's own engines, near-far and tile,
which find the same tree. Its times on single instances are not known here; its speed-ups are:"""
STAND_INS = """\
**Not the study's instances: {names}.** A generated one of about that size stands in for each. Put the files of PACE
2018, track C (`pace3_NNN.gr`, perhaps .gz) and of SteinLib (`NAME.stp`) into `$HPCSOLVE_DATA/steiner`, with
`optima.csv` (`name,vertices,edges,terminals,best_known,source`) and `reference.csv` (`name,closure_mst,
closure_bottleneck`)."""
DEFAULT = ["lin37", "power-law:5000:300"]
FULL = ["es1000fst08", "lin37", "alue7080", "G103", "I083", "road:20000:500", "power-law:5000:300",
        "power-law:54573:3000"]
"""The last one is about as large as the study's network of Deezer users."""
SIZES = {"es1000fst08": (2800, 1000), "lin37": (38000, 172), "alue7080": (34000, 2344), "G103": (136000, 3033),
         "I083": (90000, 4991)}
"""About as many vertices and terminals as published instances have, for their stand-ins."""


def study(options: argparse.Namespace, folder: Path) -> list[str]:
    """Measure, draw, and return the report in Markdown."""
    instances = [_read(name) for name in chosen(options, ["road:200:12"], DEFAULT, FULL)]
    missing = [name for name, instance in instances if instance.name != name]
    terminals, repeats = chosen(options, 12, 32, 64), chosen(options, 1, 1, 3)
    lines = ["# Steiner trees by KMB, beside a study on GPUs", "", HEAD, "", *_published(), "",
             *([STAND_INS.format(names=", ".join(missing)), ""] if missing else []),
             "## Engines, k-pull, p-SSSP, terminals", "", variants.HOW.format(terminals=terminals, repeats=repeats), ""]
    with open_device(options.device, SerialComm(), share_gpu=False, threads=1)[0] as device:
        for _, instance in instances:
            lines += [f"### {instance.name}", "", *variants.report(instance, device, terminals, repeats, folder)]
    return lines


def _read(name: str) -> tuple[str, Instance]:
    """Return a name and its instance, or a stand-in if that is not there."""
    try:
        return name, read_instance(name)
    except InputError:
        n, terminals = SIZES[name]
        return name, read_instance(f"road:{n}:{terminals}")


def _published() -> list[str]:
    cells = [[program, other, f"{mean} times", f"{most} times"] for program, other, mean, most in published.SPEED_UPS]
    return markdown(["the study's program", "compared with", "mean speed-up", "greatest"], cells)
