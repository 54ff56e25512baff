"""The shipped Slurm scripts, edited as a user would."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import h5py
import numpy as np

from tests.frame.source import REPOSITORY

SCRIPTS = sorted((REPOSITORY / "slurm").glob("*.sbatch"))
MARK = "# <--"
SIZES = r"--ntasks-per-node=\d+( --gpus-per-node=\d+)? --cpus-per-task=\d+"


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


def solution_hash(result: Path) -> str:
    """Return the SHA-256 of all datasets in `/solution`, and of their names and types."""
    digest = hashlib.sha256()
    with h5py.File(result) as file:
        for name in sorted(file["solution"]):
            values = file["solution"][name][()]
            digest.update(f"{name} {np.asarray(values).dtype} {np.shape(values)}".encode())
            digest.update(values if isinstance(values, bytes) else np.asarray(values).tobytes())
    return digest.hexdigest()
