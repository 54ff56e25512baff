"""`hpcsolve verify` of many files, and `hpcsolve tree` of a result that is no tree."""

import h5py
import numpy as np
import pytest

from hpcsolve import solve
from tests.cli.seen import error_line


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a good result, a wrong one, a damaged one and a file that is no result."""
    np.savetxt(tmp_path / "costs.csv", np.random.default_rng(1).integers(1, 99, (6, 6)), "%d", ",")
    for name in ("good", "good2", "wrong", "damaged"):
        solve(tmp_path / "costs.csv", device="cpu", threads=1, output=tmp_path / f"{name}.h5")
    with h5py.File(tmp_path / "wrong.h5", "r+") as file:
        file["solution/tour"][3] = file["solution/tour"][4]
    with open(tmp_path / "damaged.h5", "r+b") as file:
        file.seek(4000)
        file.write(b"x")
    (tmp_path / "text.h5").write_text("text")
    return tmp_path


@pytest.mark.parametrize(("names", "code"), [
    (("good", "good2"), 0), (("good", "wrong"), 1), (("wrong", "text", "good"), 2),
    (("none", "damaged", "text", "wrong", "good"), 5),
])
def test_a_line_a_file_and_the_greatest_exit_code(names, code, folder, hpcsolve):
    said = {"good": "PASS (every city once", "good2": "PASS (", "wrong": "FAIL (", "text": "ERROR (is not an HDF5 file",
            "damaged": "ERROR (damaged: ", "none": "ERROR (cannot be read: No such file"}
    done = hpcsolve("verify", *(f"{name}.h5" for name in names), cwd=folder)
    assert done.returncode == code and done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(names)
    assert all(line.startswith(f"{name}.h5: {said[name]}") for name, line in zip(names, lines))


def test_an_instance_belongs_to_one_file(folder, hpcsolve):
    (folder / "costs.csv").rename(folder / "moved.csv")
    assert hpcsolve("verify", "good.h5", "--instance", "moved.csv", cwd=folder).returncode == 0
    both = hpcsolve("verify", "good.h5", "good2.h5", "--instance", "moved.csv", cwd=folder)
    assert both.returncode == 2 and "--instance goes with one RESULT.h5" in error_line(both)
    unnamed = hpcsolve("verify", "good.h5", "good2.h5", cwd=folder)
    assert unnamed.returncode == 2 and unnamed.stdout.count("if it has moved, give it with --instance") == 2


def test_a_tour_is_no_tree(folder, hpcsolve):
    done = hpcsolve("tree", "good.h5", "-o", "tree.txt", cwd=folder)
    assert done.returncode == 2 and not (folder / "tree.txt").exists() and done.stdout == ""
    assert "good.h5: the answer is of kind tour, not a Steiner tree" in error_line(done)
