"""The oldest libraries that users may have: `make test-oldest` runs with them."""

import re
import subprocess

import pytest

from tests import oldest
from tests.frame.source import REPOSITORY

NEEDED = ["h5py==3.8", "msgspec==0.18", "numpy==1.24", "scipy==1.10", "tqdm==4.60"]
"""What a run needs. `make test-oldest` passed with these on Python 3.10 and 3.11; who changes one, runs it again."""


def test_these_are_the_oldest():
    names = [line.split("==")[0] for line in NEEDED]
    assert [line for line in oldest.oldest() if line.split("==")[0] in names] == NEEDED


def test_a_requirement_without_a_lower_bound_is_refused(tmp_path, monkeypatch):
    text = oldest.SETUP.read_text()
    (tmp_path / "setup.cfg").write_text(re.sub("h5py >= .*", "h5py", text))
    monkeypatch.setattr(oldest, "SETUP", tmp_path / "setup.cfg")
    with pytest.raises(ValueError, match="'h5py' is not NAME >= VERSION"):
        list(oldest.oldest())


def test_make_installs_them():
    asked = subprocess.run(["make", "-n", "test-oldest"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "tests/oldest.py" in asked.stdout and "--only-binary" in asked.stdout
