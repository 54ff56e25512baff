"""No path of one machine and no unfinished merge is in the tree, and setup.cfg lists every package."""

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from tests.frame.source import PACKAGE, REPOSITORY

COMMON = {"tmp", "dev", "sys", "proc", "usr", "etc", "opt", "var"}
HERE = {REPOSITORY.parts[1], *(part for part in Path.home().parts[1:2])} - COMMON
OWNERS = "|".join(map(re.escape, sorted({"home", "root", "Users", "mnt", "scratch", "srv", "nfs", "lustre"} | HERE)))
HOSTS = r"https?://(?:(?!127\.)\d+(?:\.\d+){3}|(?!localhost)[\w-]+(?=[:/])|[\w.-]+\.(?:local|internal|lan|corp))[:/]"
MACHINE = re.compile(rf"(?<![\w.$}}<*~])/(?:{OWNERS})/\w|file:///|\.venv/lib/python3|/tmp/\w+\.\d+/|{HOSTS}")
"""Absolute paths on somebody's machine, this one included, and hosts without a public name.

Folders that exist on all machines, such as `/tmp` and `/usr`, are allowed."""


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


def test_no_merge_is_unfinished():
    markers = re.compile(r"^(?:<{7}|>{7}) .*", re.MULTILINE)
    assert markers.search("text\n" + 7 * "<" + " HEAD\n")
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in tracked_files()}
    assert [f"{path}: {hit.group(0)}" for path, text in texts.items() for hit in markers.finditer(text)] == []


def test_no_large_or_generated_files_are_tracked():
    files = [path for path in tracked_files() if path.suffix in {".h5", ".so", ".o", ".cubin", ".pyc", ".whl", ".part"}]
    files += [path for path in tracked_files() if path.stat().st_size > 500_000]
    assert files == []


def test_the_machine_pattern_can_fail():
    assert MACHINE.search('open("' + "/home" + '/me/x.tsp")')
    assert MACHINE.search(f'open("/{REPOSITORY.parts[1]}' + '/x/y.tsp")') or REPOSITORY.parts[1] in COMMON
    assert MACHINE.search("pip install --index-url http:" + "//registry:8080/simple")
    assert MACHINE.search("http:" + "//10.1.2.3/simple") and MACHINE.search("https:" + "//pypi.site.internal/simple")
    assert not MACHINE.search("http://127.0.0.1:80/ http://localhost:1/ https://pypi.org/simple")
    assert not MACHINE.search("see https://example.org" + "/home" + "/me and ~" + "/work" + "/x and ../shared/data")


def test_setup_cfg_lists_every_package():
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    mapped = {"hpcsolve.cuda_src", "hpcsolve.jobs"}
    assert listed == {".".join(folder.relative_to(REPOSITORY).parts) for folder in folders} | mapped
    for folder in folders:
        assert (folder / "__init__.py").exists(), f"{folder} is no package"
