"""Renders the Slurm script of a job. Every value is checked against a pattern or quoted for the shell.

`slurm/requeue.sbatch` is the same script for a user to edit, and `slurm/README.md` says why the options are what they
are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from hpcsolve.errors import InputError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,+@-]{0,99}")
"""A partition, an account, an MPI plugin: what sbatch and srun read as one word without quotes."""
MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/@-]{0,199}")
TIME = re.compile(
    r"(?:(?P<days>\d{1,4})-)?(?P<first>\d{1,6})(?::(?P<second>\d{1,2}))?(?::(?P<third>\d{1,2}))?", re.ASCII
)
SECONDS_BEFORE_THE_END = 300
"""Time before the time limit at which a run is told to stop, at most a quarter of the limit."""

SCRIPT = """\
#!/bin/bash
{directives}
set -u

{setup}export OMP_NUM_THREADS={cpus}
srun {srun} \\
  {command} &
run=$!
trap 'kill -USR1 "$run"' USR1
while kill -0 "$run" 2>/dev/null; do wait "$run"; done  # a signal ends `wait`, not the run
wait "$run"
code=$?
if [ "$code" = 75 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
"""


def script_of(
    nodes: int, ranks_per_node: int, cpus_per_rank: int, gpus_per_node: int, mebibytes_per_node: int, seconds: int,
    command: Sequence[str], job_name: str = "hpcsolve", partition: str = "", account: str = "", mpi: str = "",
    modules: Sequence[str] = (), environment: str = "",
) -> str:
    """Return the text of a Slurm script.

    Parameters
    ----------
    gpus_per_node
        0 for a job on CPU cores.
    mebibytes_per_node
        Host memory of a node that the job takes.
    seconds
        The time limit.
    command
        Program and arguments that are started on every rank. Anything printable.
    job_name, partition, account, mpi
        Names as Slurm has them. Where one is empty, its option is left out.
    modules
        Names of environment modules to load.
    environment
        Folder of the virtual environment to activate, or empty.

    Raises
    ------
    InputError
        A value is not what its place in the script takes.
    """
    warning = min(SECONDS_BEFORE_THE_END, seconds // 4)
    gpus = [f"--gpus-per-node={gpus_per_node}"] if gpus_per_node else []
    site = {"partition": partition, "account": account}
    directives = [
        [f"--nodes={nodes}", f"--ntasks-per-node={ranks_per_node}", *gpus, f"--cpus-per-task={cpus_per_rank}",
         f"--mem={mebibytes_per_node}M"],
        [f"--time={time_text(seconds)}", *(f"--{key}={_name(key, value)}" for key, value in site.items() if value)],
        [f"--job-name={_name('job name', job_name)}", "--output=%x-%j.log", "--open-mode=append", "--requeue",
         f"--signal=B:USR1@{warning}"],
    ]
    setup = [f"module load {_matching(MODULE, 'module', name)}\n" for name in modules]
    setup += [f"source {_quoted(environment + '/bin/activate')}\n"] if environment else []
    srun = [f"--mpi={_name('MPI plugin', mpi)}"] if mpi else []
    srun += [f"--cpus-per-task={cpus_per_rank}", *([] if gpus else ["--cpu-bind=cores"]), "--kill-on-bad-exit=1"]
    return SCRIPT.format(
        directives="\n".join(f"#SBATCH {' '.join(words)}" for words in directives), setup="".join(setup),
        cpus=cpus_per_rank, srun=" ".join(srun), command=" ".join(map(_quoted, command)),
    )


def _name(what: str, value: str) -> str:
    return _matching(NAME, what, value)


def _matching(pattern: re.Pattern[str], what: str, value: str) -> str:
    if not pattern.fullmatch(value):
        raise InputError(f"{what} {value!r}: a name has letters, digits and . _ + @ - (a module also /), no spaces")
    return value


def _quoted(word: str) -> str:
    if not word.isprintable():
        raise InputError(f"{word!r}: a Slurm script has no place for line breaks and other control characters")
    return shlex.quote(word)


def job_name_of(path: str) -> str:
    """Return a job name for a job file: its name without suffix, other characters than Slurm's replaced."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return re.sub(r"[^A-Za-z0-9_.+@-]", "-", stem).lstrip("-.+@")[:100] or "hpcsolve"


def time_text(seconds: int) -> str:
    """Return a time as Slurm writes it: `2-03:00:00`."""
    minutes, left = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{f'{days}-' if days else ''}{hours:02}:{minutes:02}:{left:02}"


def parsed_time(text: str) -> int:
    """Return the seconds of a time as Slurm reads it: `90` minutes, `90:00`, `1:30:00`, `1-12`, `1-12:30`.

    Raises
    ------
    ValueError
        The text is not such a time, or is 0.
    """
    found = TIME.fullmatch(text)
    if not found:
        raise ValueError(text)
    first, second, third = (int(found[name] or 0) for name in ("first", "second", "third"))
    if found["days"]:
        seconds = int(found["days"]) * 86400 + first * 3600 + second * 60 + third
    elif found["third"]:
        seconds = first * 3600 + second * 60 + third
    else:
        seconds = first * 60 + second
    if seconds == 0:
        raise ValueError(text)
    return seconds
