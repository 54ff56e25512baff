"""A user's program gets the types of the Python interface from an editable install."""

import subprocess
import sys

import pytest

PROGRAM = """
import hpcsolve
result = hpcsolve.solve([[0, 1], [1, 0]])
reveal_type(result)
reveal_type(hpcsolve.load("r.h5").cost)
hpcsolve.load(7)
"""


def test_mypy_finds_the_types(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed (extra `dev`)")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280)
    assert 'Revealed type is "hpcsolve.analysis.load.Result"' in done.stdout, done.stdout + done.stderr
    assert 'Revealed type is "float"' in done.stdout
    assert 'Argument 1 to "load" has incompatible type "int"' in done.stdout and "Found 1 error" in done.stdout
