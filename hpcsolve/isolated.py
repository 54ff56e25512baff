"""Starts Python processes that import from where this one does, but never from the working directory.

`python -m` and `python -c` look for modules in the working directory first. There may be anything: instances that
somebody sent, with a numpy.py beside them. So the interpreter is started with `-I`, and given the folders of this
process (`pip install --user`, PYTHONPATH and virtual environments count) except the working directory.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

INHERIT = "import json, sys; sys.path[:], sys.pycache_prefix, sys.dont_write_bytecode = json.loads(sys.argv.pop(1))"
"""What the process does first. `-I` ignores the variables of the environment that set the last two."""


def python_command(program: str, *arguments: str) -> list[str]:
    """Return the command that runs a program's text with these arguments in a new process."""
    inherited = [search_path(), sys.pycache_prefix, sys.dont_write_bytecode]
    return [sys.executable, "-I", "-c", f"{INHERIT}\n{program}", json.dumps(inherited), *arguments]


def search_path() -> list[str]:
    """Return the absolute paths of the folders from which this process imports, without the working directory.

    The working directory is left out unless PYTHONPATH names its absolute path. The folder of this package comes last,
    if it is not among them.
    """
    here, package = os.path.realpath(os.curdir), str(Path(__file__).parent.parent)
    named = [name for name in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(name)]
    folders = [os.path.abspath(name) for name in sys.path if name]
    return list(dict.fromkeys([*(one for one in folders if one in named or os.path.realpath(one) != here), package]))
