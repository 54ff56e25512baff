"""Checks before a release find a version that differs, a date that is missing, and an installation that fails."""

import shutil
import zipfile

import pytest

import hpcsolve
from release.check import VERSIONS, failing_installation, wrong_versions
from tests.frame.source import REPOSITORY


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with copies of the files that have the version, as they are on the day of a release."""
    for name in VERSIONS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace(", unreleased\n", ", 2030-01-01\n", 1))
    return tmp_path


def test_all_files_have_the_version(checkout):
    assert list(wrong_versions(checkout)) == []


@pytest.mark.parametrize("name", VERSIONS)
def test_another_version_is_found(checkout, name):
    path = checkout / name
    path.write_text(path.read_text().replace(hpcsolve.__version__, "9.9.9"))
    assert list(wrong_versions(checkout)) == [f"{name}: version 9.9.9, not {hpcsolve.__version__}"]
    path.write_text("")
    assert list(wrong_versions(checkout)) == [f"{name}: version missing, not {hpcsolve.__version__}"]


def test_a_version_without_a_date_is_found(checkout):
    changes = checkout / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace(", 2030-01-01\n", ", unreleased\n", 1))
    assert list(wrong_versions(checkout)) == ['CHANGELOG.md: "unreleased" in place of the date']


@pytest.mark.slow
def test_a_package_that_cannot_be_installed_is_found(tmp_path):
    package = tmp_path / "hpcsolve-1-py3-none-any.whl"
    zipfile.ZipFile(package, "w").close()
    line, = failing_installation(package, tmp_path / "environment", "")
    assert line.startswith("hpcsolve-1-py3-none-any.whl: pip install ended with exit code 1:")
