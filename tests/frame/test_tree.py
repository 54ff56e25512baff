"""Nothing of one machine stands in the tree, and the package list is complete."""

import configparser
import re
import subprocess

import pytest

from tests.frame.source import PACKAGE, REPOSITORY

MACHINE = re.compile(r"(?<![\w.$}<*~])/(?:work|home|root|Users|mnt|scratch|farm)/\w|file:///|\.venv/lib/python3|tmp/bash_jobs")
"""Absolute paths of somebody's machine. (`/tmp`, `/dev`, `/sys`, `/usr/bin/env` are on all.)"""


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [REPOSITORY / name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()]


def test_no_path_of_a_machine_in_tracked_files():
    found = []
    for path in tracked_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(REPOSITORY)}: {hit.group(0)}" for hit in MACHINE.finditer(text)]
    assert [line for line in found if not line.startswith("tests/frame/test_tree.py")] == []


def test_no_large_or_generated_files_are_tracked():
    files = [path for path in tracked_files() if path.suffix in {".h5", ".so", ".o", ".cubin", ".pyc", ".whl", ".part"}]
    files += [path for path in tracked_files() if path.stat().st_size > 500_000]
    assert files == []


def test_the_machine_pattern_can_fail():
    assert MACHINE.search('open("' + "/home" + '/me/x.tsp")')
    assert not MACHINE.search("see https://example.org/home/me and ~/work/x and ../shared/data")


def test_setup_cfg_lists_every_package():
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert listed == {".".join(folder.relative_to(REPOSITORY).parts) for folder in folders} | {"hpcsolve.cuda_src"}
    for folder in folders:
        assert (folder / "__init__.py").exists(), f"{folder} is no package"
