"""A run of the command line with a solver whose answer is wrong."""

import sys

from hpcsolve.output.reader import read_result

PROGRAM = """\
import dataclasses
import sys

from hpcsolve.algorithms import {module} as package

honest = package.ALGORITHM.run


def run(problem, device, comm, *more):
    outcome = honest(problem, device, comm, *more)
    answer = outcome.answer
    if comm.rank == {rank}:
        {lie}
    return outcome


package.ALGORITHM = dataclasses.replace(package.ALGORITHM, run=run)
from hpcsolve.cli import main

sys.exit(main(sys.argv[1:]))
"""


def require_found_out(start, folder, device, module, lie, message, rank="0"):
    """Run `job.toml` with an answer that is changed on one rank, which the check must find.

    The line of Python in `lie` changes it, and `start(*command, cwd=...)` starts the command on one rank or several.
    """
    program = PROGRAM.format(module=module, lie=lie, rank=rank)
    options = ("--device", device, "--set", "share-gpu=true")
    done = start(sys.executable, "-c", program, "run", "job.toml", *options, cwd=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "check:  FAIL" in done.stdout and message in done.stdout, done.stdout
    assert not read_result(folder / "out.h5").attributes["verified"]
