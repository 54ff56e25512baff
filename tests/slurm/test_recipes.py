"""The Spack recipe, the module file and the Apptainer definition say what setup.cfg says, and what their tools read."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hpcsolve
from hpcsolve.cli import command_parser
from tests.frame.source import REPOSITORY

FOLDER = REPOSITORY / "slurm"
SPACK = (FOLDER / "package.py").read_text()
MODULE_COMMANDS = {
    "Environment Modules": shutil.which("modulecmd.tcl") or "/usr/lib/x86_64-linux-gnu/modulecmd.tcl",
    "Lmod": "/usr/share/lmod/lmod/libexec/lmod",
}


def required(text):
    """Return name -> version from a list of setup.cfg."""
    return dict(re.findall(r"([\w-]+) >= ([\d.]+)", text))


def test_spack_takes_what_setup_cfg_takes():
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg")
    options, extras = config["options"], config["options.extras_require"]
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
