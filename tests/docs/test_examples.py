"""What README.md and docs/ show is executed, page by page: shell blocks, then Python blocks, and what they print."""

import os
import re
import shutil
import sys

import pytest

from hpcsolve import errors
from hpcsolve.job import load_job
from hpcsolve.parallel.interrupts import INTERRUPTED
from hpcsolve.parallel.launch import STOPPED_EARLY
from tests.docs.pages import blocks, pages
from tests.frame.source import REPOSITORY, shown

PAGES = pages()
EXECUTED = [page for page in PAGES if re.search(r"^```(sh|python)$", page.read_text(encoding="utf-8"), re.M)]
KERNEL = REPOSITORY / "cuda_src" / "held_karp" / "minplus.cu"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the jobs, where all pages are tried in turn: a finished job is not run again."""
    path = tmp_path_factory.mktemp("pages")
    shutil.copytree(REPOSITORY / "jobs", path / "jobs")
    return path


@pytest.fixture(scope="module")
def environment(folder, mpiexec_path):
    """`hpcsolve`, `mpiexec` and `python` are on the PATH."""
    (folder / "bin").mkdir()
    python = f'"{sys.executable}"'
    for name, command in (("hpcsolve", f"{python} -m hpcsolve"), ("mpiexec", f'"{mpiexec_path}"'), ("python", python)):
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("page", EXECUTED, ids=shown)
def test_the_examples_work_and_print_what_the_page_shows(page, folder, environment, run_process):
    text = page.read_text(encoding="utf-8")
    commands, program = "\n".join(blocks(text, "sh")), "\n".join(blocks(text, "python"))
    said = ""
    for command in (["bash", "-euxc", commands], ["python", "-c", program]):
        done = run_process(command, timeout=240, cwd=folder, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        said += done.stdout
    assert "check:  FAIL" not in said
    for shown_output in blocks(text, "text"):
        assert shown_output.strip() in said


def test_the_readme_proves_a_tour_and_verifies_it(folder, environment, run_process):
    """The first example, alone: what the others are compared with must not be nothing."""
    jobs = next(block for block in blocks(PAGES[0].read_text(encoding="utf-8"), "sh") if "# 1." in block)
    first = jobs.split("# 2.")[0]
    done = run_process(["bash", "-euc", first], timeout=240, cwd=folder, env=environment)
    assert done.stdout.count("check:  PASS") == 2 and "proven optimal" in done.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if "```toml" in page.read_text(encoding="utf-8")], ids=shown)
def test_the_jobs_on_the_page_are_those_of_the_repository(page, tmp_path):
    for number, block in enumerate(blocks(page.read_text(encoding="utf-8"), "toml")):
        (tmp_path / f"{number}.toml").write_text(block)
        shown_job = load_job(str(tmp_path / f"{number}.toml"))
        name = re.search(r'^output = "results/(.*)\.h5"', block, re.M)[1]
        shutil.copytree(REPOSITORY / "jobs", tmp_path / "jobs", dirs_exist_ok=True)
        real = load_job(str(REPOSITORY / "jobs" / f"{name}.toml"))
        if isinstance(real.settings.instance, str):  # an absolute path by now
            assert os.path.basename(shown_job.settings.instance) == os.path.basename(real.settings.instance)
            shown_job, real = (job.with_settings(instance="") for job in (shown_job, real))
        assert shown_job == real


def test_the_walk_through_a_kernel_is_the_whole_kernel():
    text = (REPOSITORY / "docs" / "kernels.md").read_text(encoding="utf-8")
    code = [line for line in KERNEL.read_text(encoding="utf-8").splitlines() if line and not line.startswith("//")]
    assert "".join(blocks(text, "cpp")).splitlines() == code


def test_the_exit_codes_are_those_of_the_code():
    stated = set(re.findall(r"(?m)^\| (\d+) \|", (REPOSITORY / "docs" / "running.md").read_text(encoding="utf-8")))
    known = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert {str(code) for code in known | {0, 1, STOPPED_EARLY, INTERRUPTED}} == stated
