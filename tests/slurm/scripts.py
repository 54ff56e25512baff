"""The shipped Slurm scripts, edited as a user would, and the jobs of the tests on the emulated cluster."""

from __future__ import annotations

import re
from pathlib import Path

from tests.frame.source import REPOSITORY

SCRIPTS = sorted((REPOSITORY / "slurm").glob("*.sbatch"))
MARK = "# <--"
SIZES = r"--ntasks-per-node=\d+( --gpus-per-node=\d+)? --cpus-per-task=\d+"
ANTS = """
algorithm = "ant-colony"
instance = { generate = "clustered-tsp", n = 300, seed = 7, clusters = 9 }
device = "cpu"
threads = 1
[ant-colony]
bound = false
colonies = 4
[stop]
iterations = 300
"""
CITIES = """
algorithm = "held-karp"
instance = { generate = "random-matrix", n = [12, 14], seed = "1..2" }
device = "cpu"
threads = 1
"""


def edited(script: Path, ranks: int, limits: str, setup: str, gpus: int = 0) -> str:
    """Return the script with nothing but its three marked lines changed. `ranks` and `gpus` are those of a node."""
    lines = script.read_text(encoding="utf-8").splitlines()
    first, second, third = [number for number, line in enumerate(lines) if MARK in line]
    on_gpus = f" --gpus-per-node={gpus}" if gpus else ""
    lines[first], count = re.subn(SIZES, f"--ntasks-per-node={ranks}{on_gpus} --cpus-per-task=1", lines[first])
    assert count == 1
    lines[second] = f"#SBATCH {limits}"
    lines[third] = f"setup() {{ {setup}; }}"
    return "\n".join(lines) + "\n"
