"""Recipes of Spack, EasyBuild and Apptainer, the module file, ReFrame's checks: what they say, what their tools do."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hpcsolve
from hpcsolve.cli import command_parser
from tests.frame.source import REPOSITORY
from tests.slurm.conftest import tool

FOLDER = REPOSITORY / "slurm"
SPACK = (FOLDER / "package.py").read_text()
EASYBUILD = (FOLDER / "hpcsolve.eb").read_text()
MODULE_COMMANDS = {
    "Environment Modules": shutil.which("modulecmd.tcl") or "/usr/lib/x86_64-linux-gnu/modulecmd.tcl",
    "Lmod": "/usr/share/lmod/lmod/libexec/lmod",
}


def required(text):
    """Return name -> version from a list of setup.cfg."""
    return dict(re.findall(r"([\w-]+) >= ([\d.]+)", text))


def asked_of_users():
    """Return the sections of setup.cfg with what hpcsolve needs, and what its extras need."""
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg")
    return config["options"], config["options.extras_require"]


def test_spack_takes_what_setup_cfg_takes():
    options, extras = asked_of_users()
    found = re.findall(r'depends_on\("py-([\w-]+)@([\d.]+):", type=\("build", "run"\)(?:, when="(\S+)")?\)', SPACK)
    expected = {**{name: (version, "") for name, version in required(options["install_requires"]).items()},
                **{name: (version, f"+{extra}") for extra in ("mpi", "cuda", "plot")
                   for name, version in required(extras[extra]).items()}}
    expected["tomli"] = (expected["tomli"][0], "^python@:3.10")
    assert {name: (version, when) for name, version, when in found} == expected
    assert f'depends_on("python@{options["python_requires"].removeprefix(">= ")}:"' in SPACK
    assert f'version("{hpcsolve.__version__}")' in SPACK
    compile(SPACK, "package.py", "exec")


def test_spacks_smoke_test_is_a_command_of_ours():
    command, *words = re.search(r'self\.prefix\.bin\.hpcsolve\)\((.*)\)', SPACK)[1].replace('"', "").split(", ")
    _, commands = command_parser()
    assert commands[command].parse_args(words).device == "cpu"


def test_easybuild_takes_what_setup_cfg_takes():
    """Its SciPy-bundle has numpy and scipy, of its year."""
    options, extras = asked_of_users()
    least = {**required(options["install_requires"]), **required(extras["mpi"]), **required(extras["plot"]),
             "Python": options["python_requires"].removeprefix(">= "), "SciPy-bundle": "2023"}
    for name in ("numpy", "scipy", "tomli"):
        del least[name]
    names = {"__builtins__": {}, "name": "hpcsolve", "version": hpcsolve.__version__}
    exec(EASYBUILD, names)  # as EasyBuild reads it
    found = {name: version for name, version, *_ in [*names["dependencies"], *names["exts_list"]]}
    assert names["version"] == found.pop("hpcsolve") == hpcsolve.__version__
    assert found.keys() == least.keys()
    numbers = {name: [[int(part) for part in text.split(".")] for text in (found[name], least[name])] for name in least}
    assert not [name for name, (has, needs) in numbers.items() if has < needs]
    command, *words = names["sanity_check_commands"][0].split()[1:]
    assert command_parser()[1][command].parse_args(words).device == "cpu"


@pytest.mark.slow
def test_easybuild_knows_all_that_it_takes(tmp_path):
    """A dry run. With --fetch it needs no modules."""
    program = Path(tool("eb", "easybuild"))
    command = [program, FOLDER / "hpcsolve.eb", "--dry-run", "--robot", "--fetch", f"--prefix={tmp_path}",
               f"--tmpdir={tmp_path}", "--allow-use-as-root-and-accept-consequences"]
    settings = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    modules = re.findall(r"^ \* \[.\] .* \(module: (.*)\)$", done.stdout, re.M)
    assert modules[-1] == f"hpcsolve/{hpcsolve.__version__}-foss-2025b" and "h5py/3.14.0-foss-2025b" in modules


REAL = {"hpcsolve": f'exec {sys.executable} -m hpcsolve "$@"', "python3": f'exec {sys.executable} "$@"'}
BROKEN = {"hpcsolve": "echo check:  8 of 9 answers are as recorded; echo '\"passed\": false,'",
          "python3": "echo times as fast: 29.9."}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("programs", "failures"), [(REAL, 0), (BROKEN, 5)], ids=["real", "broken"])
def test_reframe_tells_a_good_installation_from_a_broken_one(programs, failures, tmp_path):
    program = tool("reframe", "reframe-hpc")
    for name, line in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    more = [] if failures else ["--skip-performance-check"]  # this machine may be of any kind
    command = [program, "-c", FOLDER / "reframe_checks.py", "-r", "--nocolor", f"--prefix={tmp_path / 'made'}", *more]
    settings = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert f"Ran 5/5 test case(s) from 5 check(s) ({failures} failure(s)" in done.stdout, done.stdout + done.stderr
    assert done.returncode == int(failures > 0)


@pytest.mark.parametrize("command", MODULE_COMMANDS.values(), ids=MODULE_COMMANDS)
def test_a_module_leads_to_the_program(command, tmp_path):
    if not Path(command).exists():
        pytest.skip(f"no {command}")
    (tmp_path / "hpcsolve").mkdir()
    text = (FOLDER / "modulefile").read_text()
    assert text.count("<--") == 3  # two lines, and the comment on top
    (tmp_path / "hpcsolve" / "1").write_text(text.replace("/opt/hpcsolve ", f"{tmp_path}/env "))
    clean = {"MODULEPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([command, "bash", "load", "hpcsolve"], env=clean, capture_output=True, text=True, check=False)
    shown = subprocess.run(["bash", "-c", f"{done.stdout}\necho $VIRTUAL_ENV:$PATH"], env=clean, capture_output=True,
                           text=True, check=False)
    assert shown.stdout.strip().startswith(f"{tmp_path}/env:{tmp_path}/env/bin:"), done.stderr + shown.stderr


def test_the_image_runs_shell_that_is_valid():
    sections = dict(re.findall(r"^%(\w+)\n((?:(?!%).*\n)*)", (FOLDER / "hpcsolve.def").read_text(), re.M))
    assert {"files", "post", "environment", "test", "runscript"} <= set(sections)
    for name in ("post", "environment", "test", "runscript"):
        done = subprocess.run(["sh", "-n"], input=sections[name], text=True, capture_output=True, check=False)
        assert (name, done.returncode, done.stderr) == (name, 0, "")
