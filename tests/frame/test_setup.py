"""setup.cfg: conda needs the same, the oldest libraries that it allows are tested, and --help imports nothing heavy."""

import configparser
import re
import subprocess
import sys

import pytest

import hpcsolve
from tests import oldest
from tests.frame.source import REPOSITORY

RECIPE = (REPOSITORY / "conda" / "recipe.yaml").read_text()


def listed(key):
    """Return name -> version from the list `key` of the recipe's requirements."""
    block = re.search(rf"^  {key}:\n((?:    - .*\n)+)", RECIPE, re.M)
    return dict(re.findall(r"- ([\w-]+) >=([\d.]+)", block[1]))


def required(text):
    """Return name -> version from a list of setup.cfg."""
    return dict(re.findall(r"([\w-]+) >= ([\d.]+)", text))


def test_it_needs_what_setup_cfg_needs():
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg")
    options, extras = config["options"], config["options.extras_require"]
    python = {"python": required(f"python {options['python_requires']}")["python"]}
    assert listed("run") == {**python, **required(options["install_requires"]), **required(extras["mpi"])}
    conda_names = {"matplotlib-base": "matplotlib"}
    constraints = {conda_names.get(name, name): version for name, version in listed("run_constraints").items()}
    assert constraints == {**required(extras["cuda"]), **required(extras["plot"])}


def test_it_is_of_this_version():
    assert re.search(r"^  version: (.*)$", RECIPE, re.M)[1] == hpcsolve.__version__


NEEDED = ["h5py==3.8", "msgspec==0.18", "numpy==1.24", "scipy==1.10", "tqdm==4.60"]
"""What a run needs. `make test-oldest` passed with these on Python 3.10 and 3.11. Run it again after a change."""


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


HEAVY = [
    "numpy", "scipy", "h5py", "mpi4py", "msgspec", "pycuda", "tqdm", "matplotlib", "pandas", "networkx", "dataclasses",
]
"""What `--help` must not import. `dataclasses` is the light one: it takes with it a third of the time of `--help`."""
PROGRAM = f"""
import sys
from hpcsolve.cli import main
sys.argv = ["hpcsolve", *sys.argv[1:]]
try:
    code = main()
except SystemExit as leaving:
    code = leaving.code
print([name for name in {HEAVY} if name in sys.modules], code or 0)
"""


def test_a_run_imports_no_more_than_it_needs(tmp_path):
    """scipy would take as long as all the rest of a short run."""
    job = REPOSITORY / "jobs" / "one-way.toml"
    arguments = ["run", str(job), "--device", "cpu", "--output", str(tmp_path / "r.h5")]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "['numpy', 'h5py', 'msgspec', 'dataclasses'] 0", done.stderr


def test_help_imports_nothing_heavy():
    for arguments in (["--help"], ["run", "--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=30
        )
        assert done.stdout.splitlines()[-1] == "[] 0", done.stdout + done.stderr
        assert "hpcsolve" in done.stdout
