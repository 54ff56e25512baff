"""Plants each fault of `faults.py` in a copy of the tree, and says whether the tests that must find it fail.

    python -m tests.planted                      all faults; `make test-planted`
    python -m tests.planted "a rank's GPU"       those with these names

The tests are run without a fault first, since a test that fails anyway finds nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.planted.faults import FAULTS, Fault
from tests.shared_folder import NAME

REPOSITORY = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "results", "__pycache__", ".*_cache", ".hypothesis")
SOURCES = {"hpcsolve": ("*.py", "*.html", "*.css"), "cuda_src": ("*.cu", "*.cuh", "*.cpp", "*.hpp")}


class NotPlanted(Exception):
    """A fault cannot be planted, or its tests cannot be run: it must be written anew."""


def place(fault: Fault, root: Path) -> Path:
    """Return the source file that has the text of a fault. Raises `NotPlanted` unless it is there exactly once."""
    found = []
    for folder, patterns in SOURCES.items():
        paths = {path for pattern in patterns for path in (root / folder).rglob(pattern)}
        for path in sorted(path for path in paths if path.resolve() == path):  # links lead to cuda_src and jobs
            found += [path] * path.read_text(encoding="utf-8").count(fault.old)
    if len(found) != 1:
        raise NotPlanted(f"{fault.name}: its text is there {len(found)} times: {fault.old!r}")
    return found[0]


@contextmanager
def planted(fault: Fault, root: Path) -> Iterator[None]:
    """Plant a fault while the block runs."""
    path = place(fault, root)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def failing(tests: Iterable[str], root: Path, kept: Path) -> str:
    """Return the line about the first of tests in tests/ that fails, or "" if all pass.

    Parameters
    ----------
    kept
        A folder in which compiled kernels stay from one call to the next.

    Raises
    ------
    NotPlanted
        A test does not exist, or all are skipped.
    """
    named = [f"tests/{test}" for test in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *named]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", NAME: str(kept)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=900)
    lines = done.stdout.splitlines() or [""]
    if done.returncode not in (0, 1) or (done.returncode == 0 and " passed" not in lines[-1]):
        raise NotPlanted(f"{' '.join(named)}: {lines[-1]} {done.stderr[-500:]}")
    return next((line for line in lines if line.startswith(("FAILED ", "ERROR "))), "") if done.returncode else ""


def check(faults: Sequence[Fault], root: Path, kept: Path) -> Iterator[tuple[Fault, str]]:
    """Yield each fault with the test that finds it, "" if none does. Raises as `place` and `failing`."""
    for fault in faults:
        place(fault, root)
    if broken := failing(sorted({fault.test for fault in faults}), root, kept):
        raise NotPlanted(f"fails without any fault: {broken}")
    for fault in faults:
        with planted(fault, root):
            yield fault, failing([fault.test], root, kept)


def main(names: Sequence[str]) -> int:
    """Print a line for each fault with one of these names, or for all, and return 1 if one is not found."""
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        print(f"planted: no fault is named {', '.join(map(repr, sorted(unknown)))}", file=sys.stderr)
        return 2
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    lost = 0
    with tempfile.TemporaryDirectory() as folder:
        root, kept = Path(folder) / "tree", Path(folder) / "kept"
        shutil.copytree(REPOSITORY, root, symlinks=True, ignore=LEFT_OUT)
        kept.mkdir()
        try:
            for fault, test in check(chosen, root.resolve(), kept):
                print(f"{'found' if test else 'NOT FOUND'}: {fault.name}; {test}", flush=True)
                lost += not test
        except NotPlanted as reason:
            print(f"planted: {reason}", file=sys.stderr)
            return 2
    print(f"{len(chosen) - lost} of {len(chosen)} faults are found")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
