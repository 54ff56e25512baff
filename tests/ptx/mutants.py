"""Mistakes planted in the kernels themselves. A case of tests/races/program.py must reveal each of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device import build


@dataclass(frozen=True)
class Mutant:
    """A piece of text in a file of cuda_src, the text that replaces it, and the case that reveals the mistake.

    Attributes
    ----------
    words
        Words of messages of which one must appear: of the interpreter, or of a wrong answer.
    """

    file: str
    old: str
    new: str
    case: str
    words: tuple[str, ...]


MUTANTS = {
    "a minimum of 64 bits that is an or": Mutant(
        "device/cuda.cuh", "return atomicMin((unsigned long long *)", "return atomicOr((unsigned long long *)",
        "shortest-paths", ("AssertionError",)),
    "a peek at 64 bits that reads 32": Mutant(
        "device/cuda.cuh", "ld.relaxed.cta.global.u64", "ld.relaxed.cta.global.u32", "shortest-paths",
        ("AssertionError", "Error: ")),
    "half a mask": Mutant(
        "device/group_warp.cuh", "full_mask = 0xffffffffu", "full_mask = 0xffffu", "ants",
        ("own lane is not in the mask",)),
    "a missing __syncwarp": Mutant(
        "ants/construction.cuh", "  group_sync();  // all threads have read what is open\n", "", "ants",
        ("a race with a",)),
    "a divergent shuffle": Mutant(
        "device/line.cuh", "return shuffled(x, 0);", "return lane() < 16 ? shuffled(x, 0) : shuffled(x, 1);", "rows",
        ("the warp has diverged",)),
    "a missing __syncthreads": Mutant(
        "paths/near_far.cu", "__syncthreads();", "", "rows", ("a race with a", "nobody has written")),
}


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """Take the kernels from a copy of cuda_src in which the first occurrence of the text is replaced.

    Raises
    ------
    ValueError
        The file has no such text (any more).
    """
    original = build.source_folder
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(original(), folder, dirs_exist_ok=True)
        file = Path(folder) / mutant.file
        text = file.read_text()
        if mutant.old not in text:
            raise ValueError(f"{mutant.file} has no {mutant.old!r}")
        file.write_text(text.replace(mutant.old, mutant.new, 1))
        build.source_folder = lambda: Path(folder)
        try:
            yield
        finally:
            build.source_folder = original
