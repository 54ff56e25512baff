"""A disk that is full at the k-th write, for every k: the checkpoint before and the old output stay.

An answer that was found is printed, and goes elsewhere if its output cannot be written.

`make test-faults` tries it with distance tables too.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.conftest import ALL_FAULTS
from tests.faults.preload import preloading

PROGRAM = Path(__file__).with_name("disk_program.py")


@dataclass(frozen=True)
class Tried:
    """A line of the program: what became of a run whose k-th write failed."""

    k: int
    code: int
    lines: int
    generation: str
    old_remains: bool
    elsewhere: bool
    code_again: int
    right: bool


def tried_all(job, how, folder, run_process):
    """Run the program, and return its lines. The last one is of a run in which no write failed."""
    environment = preloading("failing_disk", folder)
    done = run_process([sys.executable, PROGRAM, folder / "disk", job, how], timeout=1500, env=environment)
    assert done.returncode == 0, done.stderr
    words = [line.split() for line in done.stdout.splitlines()]
    tried = [Tried(int(k), int(code), int(lines), left, kept == "True", moved == "True", int(again), right == "True")
             for k, code, lines, left, kept, moved, again, right in words]
    assert tried[-1].code == 0 and tried[-1].lines == 0 and len(tried) > 10
    return tried[:-1]


@pytest.mark.timeout(1600)
@pytest.mark.parametrize("how", ["once", "full"] if ALL_FAULTS else ["once"])
@pytest.mark.parametrize("job", ["ants", "rows"] if ALL_FAULTS else ["ants"])
def test_the_k_th_write_fails(job, how, tmp_path, run_process):
    """A failed checkpoint does not end the run. A failed result goes elsewhere, and the same command then gives it."""
    tried = tried_all(job, how, tmp_path, run_process)
    print(f"{job}, {how}: {len(tried)} writes failed in turn, exit codes {sorted({one.code for one in tried})}")
    for one in tried:
        assert one.code in (0, 4) and one.old_remains, one
        assert (one.code_again, one.right) == (0, True), one
        assert one.generation == "-" if one.code == 0 else int(one.generation) >= 1, one
        assert one.lines <= 1 or how == "full", one
        assert one.lines >= 1 or one.code == 0, one
    begun = next(one.k for one in tried if one.code == 0 or one.elsewhere)  # before it, the search has not begun
    assert begun < 8 and [one for one in tried[begun:] if one.elsewhere != (one.code == 4)] == []
    assert any(one.elsewhere for one in tried) and (how == "once" or tried[0].code == 4)
