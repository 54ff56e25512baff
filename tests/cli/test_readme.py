"""README.md is executed: every shell and Python block, in order, in one folder; its table of a result is true."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from hpcsolve import errors
from hpcsolve.job.load import load_job
from hpcsolve.parallel.launch import INTERRUPTED
from tests.cli.readme_table import BEGIN, END, rows


@pytest.fixture(scope="module")
def readme(repository):
    return (repository / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(repository, tmp_path_factory, readme, mpiexec_path, run_process):
    """What the reader has after all shell commands; `hpcsolve` and `mpiexec` are on the PATH."""
    path = tmp_path_factory.mktemp("readme")
    shutil.copytree(repository / "jobs", path / "jobs")
    (path / "bin").mkdir()
    for name, command in (("hpcsolve", f'"{sys.executable}" -m hpcsolve'), ("mpiexec", f'"{mpiexec_path}"')):
        (path / "bin" / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (path / "bin" / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    script = "set -eux\n" + "\n".join(blocks(readme, "sh"))
    done = run_process(["bash", "-c", script], timeout=200, cwd=path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (path / "said").write_text(done.stdout)
    return path


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def test_the_commands_work_and_say_what_the_readme_says(folder, readme):
    said = (folder / "said").read_text()
    (answer,) = [block for block in blocks(readme, "text") if block.startswith("tour:")]
    assert answer in said
    assert said.count("check:  PASS") >= 4


def test_the_python_examples_work(folder, readme):
    program = "\n".join(blocks(readme, "python"))
    assert "import h5py" in program and "hpcsolve.solve" in program
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "optimal" in done.stdout and "from Vienna to Bratislava" in done.stdout


def test_the_table_of_the_result_file_is_true(folder, readme):
    stated = readme.split(BEGIN)[1].split(END)[0].strip().splitlines()[2:]
    actual = list(rows(folder / "results" / "eu-capitals.h5"))
    kernel = [row for row in actual if "`/provenance/kernel_" in row]
    assert kernel, "the kernels' hashes are kept"
    assert stated == actual, "run: python tests/cli/readme_table.py RESULT.h5"


def test_the_job_in_the_readme_is_the_job(readme, repository, tmp_path):
    (block,) = blocks(readme, "toml")
    (tmp_path / "eu-capitals.toml").write_text(block)
    shown, real = (load_job(str(folder / "eu-capitals.toml")) for folder in (tmp_path, repository / "jobs"))
    assert shown.with_settings(instance="") == real.with_settings(instance="")


def test_every_file_that_the_documents_name_exists(repository):
    for name in ("README.md", "jobs/README.md"):
        document = repository / name
        links = re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8"))
        assert links and [link for link in links if not (document.parent / link).exists()] == []


def test_the_exit_codes_are_those_of_the_code(readme):
    stated = set(re.findall(r"(?m)^\| (\d+) \|", readme))
    known = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert {str(code) for code in known | {0, 1, INTERRUPTED}} == stated
