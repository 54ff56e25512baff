"""`hpcsolve report` on the command line."""

import os

import pytest

from tests.cli.seen import error_line


@pytest.fixture
def file(files):
    return files("tour")


def test_it_writes_a_page_and_replaces_none(file, hpcsolve, tmp_path):
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    output = tmp_path / "new" / "report.html"
    done = hpcsolve("report", file, file, "-o", output)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{output}: 2 results, ") and not done.stderr
    first = output.read_text(encoding="utf-8")
    assert first.startswith("<!DOCTYPE html>") and first.endswith("</html>\n")
    again = hpcsolve("report", file, "-o", output)
    assert again.returncode == 2 and "exists" in error_line(again) and output.read_text(encoding="utf-8") == first
    assert hpcsolve("report", file, "-o", output, "--overwrite").returncode == 0
    assert os.listdir(output.parent) == ["report.html"] and output.read_text(encoding="utf-8") != first


def test_what_is_no_result_is_named(file, hpcsolve, tmp_path):
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    (tmp_path / "x.h5").write_text("nothing")
    done = hpcsolve("report", file, tmp_path / "x.h5", "-o", tmp_path / "report.html")
    assert done.returncode == 2 and "x.h5: is not an HDF5 file" in error_line(done)
    assert not (tmp_path / "report.html").exists()


def test_without_matplotlib_the_extra_is_named(file, hpcsolve, tmp_path):
    (tmp_path / "blocked" / "matplotlib").mkdir(parents=True)
    (tmp_path / "blocked" / "matplotlib" / "__init__.py").write_text("raise ModuleNotFoundError('matplotlib')")
    path = os.pathsep.join([str(tmp_path / "blocked"), os.environ["PYTHONPATH"]])
    done = hpcsolve("report", file, "-o", tmp_path / "r.html", env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 4 and "pip install matplotlib" in error_line(done)
