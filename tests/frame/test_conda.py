"""The conda recipe needs what setup.cfg needs."""

import configparser
import re

import hpcsolve
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
