"""Sweeps: one job with lists of values, run for each combination of their values.

The type that a job declares for a key decides whether the key has several values. A value of that type is one value,
even if it is a list: `sources = [1, 5]`, `instance.terminals = [17, 4]`. Any other list holds the values to try, and a
text such as "1..20" stands for the integers from 1 to 20. So every job that `hpcsolve run` accepts means the same to
`hpcsolve sweep`.

The runs are all combinations of the values, in the order of the file, the last key fastest. Order and names depend on
the sweep file (and `--set`) alone, so the number of a run always means the same job.

Those that are missing are executed on this machine, several at a time, each as a process of its own. The standard input
of a run is a pipe from the sweep, on which nothing is ever sent. A run ends when the pipe closes (`cli.main_of_run`).
Ctrl-C closes all pipes, and so does the end of the sweep's process by any signal.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import math
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import msgspec

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.device.select import list_gpus, requested_threads
from hpcsolve.errors import HpcsolveError, InputError, ResourceError
from hpcsolve.job import Job, Settings, absolute_files, job_of_table, read_table
from hpcsolve.job.convert import JobText, keys_of, leaves
from hpcsolve.output.toml import value_text
from hpcsolve.runner.planned import plan_run
from hpcsolve.wording import counted

RANGE = re.compile(r"\s*([+-]?\d{1,18})\s*\.\.\s*([+-]?\d{1,18})\s*")
MOST_VALUES = 100_000
"""Most values of a range."""
MOST_RUNS = 100_000
LONGEST_NAME = 200
"""The most characters of a run's name. File systems take 255 bytes, and a part file has a longer name."""
SECONDS_TO_END = 15.0
"""Time that the runs have to end after Ctrl-C, and to write what they have. After that they are killed."""
SECONDS_BETWEEN_LOOKS = 0.02
TAIL_BYTES = 1 << 16
"""How much of the end of a run's output is searched for the reason of its failure."""
KILLED = 128
"""A shell reports a process that a signal ended with this exit code plus the number of the signal."""
GENERATOR_VALUE = int | bool | float
"""Type of the keys of a table `instance = { generate = ... }`, except `generate` itself."""
INSTANCE_TYPES: Mapping[str, Any] = {
    "generate": str, "file": str, "coordinates": str, "directed": bool, "terminals": str | list[int | float | str],
    "stops": str | list[int | float | str], "weight": str, "speed": int | float,
}
"""Types of the keys of a table `instance = { file = ... }`, and of `generate`."""

Axes = dict[str, list[Any]]
"""Dotted key -> its values, in the order of the file."""


def axes_of(table: Mapping[str, Any], text: JobText) -> Axes:
    """Return the keys of a table that have several values.

    Raises
    ------
    InputError
        A list or a range is empty, or a range is too long.
    """
    axes = {}
    for keys, value in leaves(table):
        key, kind = ".".join(keys), _type_of(keys, table)
        if kind is None or _fits(value, kind):
            continue
        if isinstance(value, str) and ".." in value and not _is_range(value):
            raise text.error(key, f'"{value}" is not a range; give both ends as whole numbers: "1..20"')
        if isinstance(value, list) and not value:
            raise text.error(key, "the list has no values")
        items = value if isinstance(value, list) else [value]
        if any(_is_range(item) or _fits(item, kind) for item in items):
            axes[key] = [one for item in items for one in ([item] if _fits(item, kind) else _range(item, key, text))]
        # Any other list is a mistake in a single value, and the check of the job has a better message for it.
    return axes


def _type_of(keys: tuple[str, ...], table: Mapping[str, Any]) -> Any:
    """Return the type of a key's value in a job, or None if a job has no such key, which `job_of_table` reports."""
    if keys[0] == "instance" and len(keys) > 1:
        generated = "generate" in table["instance"] and keys[1] != "generate"
        return GENERATOR_VALUE if generated else INSTANCE_TYPES.get(keys[1])
    struct: Any = Settings
    if keys[0] in NAMES:
        struct, keys = algorithm(keys[0]).parameters, keys[1:]
    found = None
    for key in keys:
        field = keys_of(struct).get(key) if struct else None
        found = field.type if field else None
        inside = (kind for kind in (found, *get_args(found)) if inspect.isclass(kind))
        struct = next((kind for kind in inside if issubclass(kind, msgspec.Struct)), None)
    return found


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _is_range(value: Any) -> bool:
    return isinstance(value, str) and RANGE.fullmatch(value) is not None


def _range(value: Any, key: str, text: JobText) -> list[Any]:
    """Return the integers of a range, or the value alone if it is not a range."""
    found = RANGE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return [value]
    first, last = int(found[1]), int(found[2])
    if last < first:
        raise text.error(key, f'the range "{value}" is empty; write "{last}..{first}"')
    if last - first >= MOST_VALUES:
        count = last - first + 1
        raise text.error(key, f'the range "{value}" has {count} values; at most {MOST_VALUES} are allowed')
    return list(range(first, last + 1))


def require_one_job(
    path: str, overrides: Sequence[str] = (), way_out: str = "`hpcsolve sweep` runs every combination"
) -> None:
    """Raise an `InputError`, with a way out, if a key of a job file has several values. Raises as `load_job` too."""
    table, text = read_table(path, overrides)
    for key in axes_of(table, text):
        raise text.error(key, f"there are several values; {way_out}")


@dataclass(frozen=True)
class Run:
    """A run of a sweep.

    Attributes
    ----------
    index
        Its number in the sweep, from 0.
    name
        Its varied keys with their values, `instance.n=20,seed=3`. Unique in the sweep.
    job
        The job, checked, with the path of its result file.
    arguments
        The arguments of `hpcsolve` that solve the job.
    """

    index: int
    name: str
    job: Job
    arguments: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command line, as one would type it."""
        return shlex.join(["hpcsolve", *self.arguments])

    def is_done(self) -> bool:
        """Return whether the output, if it exists, holds the verified result of this very job."""
        if not os.path.exists(self.job.settings.output):
            return False
        try:
            planned = plan_run(self.job)
        except HpcsolveError:
            return False  # the run itself will find the same error, and report it
        return planned.existing_verdict is not None and planned.existing_verdict.passed is not False


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep file, the folder of their results, and the values of its varied keys."""

    folder: str
    axes: Axes
    runs: tuple[Run, ...]


def expand(path: str, overrides: Sequence[str] = (), output: str | None = None) -> Sweep:
    """Return the runs of a sweep file, after a check of all jobs.

    Parameters
    ----------
    path
        The sweep file.
    overrides
        Texts `key=value` that replace values of the file; a value may be a list or a range.
    output
        Folder of the results, by default the key `output`, or `results/NAME` for a file NAME.toml.

    Raises
    ------
    InputError
        The file or a job in it is not valid. The message names file and line, or the key.
    """
    table, text = read_table(path, overrides)
    given, written = axes_of(table, text), axes_of(read_table(text.file)[0], text)
    # A key whose list `--set` replaces by one value stays part of the names, so that the same results are found.
    kept = {key: given.get(key, [_value_at(table, key)]) for key in written if _value_at(table, key) is not None}
    axes = {**kept, **given}
    if not axes:
        what = "no key has several values, so it is one job"
        raise InputError(f'{what}: solve it with `hpcsolve run`, or give a key values, as in seed = "1..5"', path, 1)
    count = math.prod(len(values) for values in axes.values())
    if count > MOST_RUNS:
        raise InputError(f"{axes_in_words(axes)} make {count} runs; a sweep has at most {MOST_RUNS}", path)
    folder = output or table.get("output", f"results/{Path(path).stem}")
    if not isinstance(folder, str) or not folder or "\0" in folder or folder.endswith(".h5"):
        raise text.error("output", f"{folder!r} is not the name of a folder, which gets a result file per run")
    for key, values in axes.items():
        _require_distinct(key, values, text)
    fixed = [override for override in overrides if override.partition("=")[0].strip() not in axes]
    base = Path(text.file).parent  # that paths among the values of the file are relative to
    runs = []
    for index, point in enumerate(dict(zip(axes, values)) for values in itertools.product(*axes.values())):
        name, former = _name(point), _name(point, whole_paths=True)
        if former != name and os.path.exists(os.path.join(folder, f"{former}.h5")):
            name = former
        file = os.path.join(folder, f"{name}.h5")
        own = {key: absolute_files(key.split("."), value, Path() if key in text.overridden else base)
               for key, value in point.items()}
        job = job_of_table(_with_values(table, own), text, output=file)
        if job.settings.instance == "-":
            raise text.error("instance", "a sweep cannot read it from standard input; name a file")
        settings = [*fixed, *(f"{key}={value_text(value)}" for key, value in own.items())]
        words = [word for setting in settings for word in ("--set", setting)]
        runs.append(Run(index, name, job, ("run", text.file, *words, "--output", file)))
    return Sweep(folder, axes, tuple(runs))


def number_ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as Slurm writes the elements of a job array: `0-3,7`."""
    known = set(numbers)
    starts = [number for number in numbers if number - 1 not in known]
    ends = [number for number in numbers if number + 1 not in known]
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in zip(starts, ends))


def _value_at(table: Any, key: str) -> Any:
    """Return the value of a dotted key, or None if the table lacks it."""
    for part in key.split("."):
        table = table.get(part) if isinstance(table, Mapping) else None
    return table


def _with_values(table: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the table in which dotted keys have these values."""
    changed = dict(table)
    for key, value in values.items():
        first, _, rest = key.partition(".")
        changed[first] = _with_values(changed[first], {rest: value}) if rest else value
    return changed


def axes_in_words(axes: Axes) -> str:
    """Return the numbers of values: `4 values of instance.n x 5 values of seed`."""
    return " x ".join(f"{counted(len(values), 'value')} of {key}" for key, values in axes.items())


def _require_distinct(key: str, values: Sequence[Any], text: JobText) -> None:
    seen: set[str] = set()
    for value in values:
        if _shown(value) in seen:
            raise text.error(key, f"the value {value_text(value)} is there twice; remove one")
        seen.add(_shown(value))


def _name(point: Mapping[str, Any], whole_paths: bool = False) -> str:
    """Return the name of a run. A name that is too long is cut, and ends in a hash of the whole."""
    name = ",".join(f"{key}={_shown(value, whole_paths)}" for key, value in point.items())
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 11]}-{_digest(name)}"


def _shown(value: Any, whole_paths: bool = False) -> str:
    """Return a value as part of a file name. One that is shortened or altered for that is followed by its hash.

    An absolute path is shortened to its last part, unless `whole_paths`, as in names that earlier versions gave.
    """
    text = value if isinstance(value, str) else value_text(value)
    last = os.path.basename(text) if isinstance(value, str) and os.path.isabs(text) and not whole_paths else ""
    plain = re.sub(r"[^\w.+-]+", "-", last or text, flags=re.ASCII).strip("-.")[:60]
    return plain if plain == text else f"{plain}-{_digest(text)}".lstrip("-")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


@dataclass(frozen=True)
class Failure:
    """A run that failed, with its exit code and the reason in one line."""

    run: Run
    exit_code: int
    reason: str


class _Started:
    """The process of a run in a session of its own, so that Ctrl-C on the terminal reaches the sweep alone."""

    def __init__(self, run: Run, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.run, self.printed = run, tempfile.TemporaryFile()  # noqa: SIM115 (`failure` closes it)
        self.process = subprocess.Popen(
            [*command, *run.arguments], stdin=subprocess.PIPE, stdout=self.printed, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )

    def failure(self) -> Failure | None:
        """Return the failure of a run that has ended, or None if it succeeded, and close its files.

        The reason is the line that says why it failed: its last error, a failed check, or the last line.
        """
        code = self.process.returncode
        with self.printed as file, self.process:
            if code == 0:
                return None
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            printed = file.read().decode(errors="replace")
        if code < 0:
            return Failure(self.run, KILLED - code, f"killed by {signal.Signals(-code).name}")
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        told = [line for line in lines if line.startswith(("hpcsolve: ", "check:  FAIL"))]
        reason = (told or lines or ["the run printed nothing"])[-1]
        return Failure(self.run, code, reason.removeprefix("hpcsolve: ").removeprefix("error: "))


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def number_at_once(runs: Iterable[Run]) -> int:
    """Return how many runs fit on the cores at a time, by their threads, or 1 if a run takes all cores or a GPU.

    Raises
    ------
    InputError
        A job or OMP_NUM_THREADS asks for a number of threads that is not possible.
    """
    settings = [run.job.settings for run in runs]
    with suppress(ResourceError):
        if any(one.device.lower() != "cpu" for one in settings) and list_gpus():
            return 1
    threads = [requested_threads(one.threads, os.environ)[0] or cores() for one in settings]
    return max(1, cores() // max(threads, default=1))


def run_all(
    runs: Sequence[Run], at_once: int, command: Sequence[str], report: Callable[[float, str], None]
) -> list[Failure]:
    """Execute runs as processes, and return the failures. A failure does not stop the other runs.

    Parameters
    ----------
    at_once
        Most processes at a time.
    command
        Program and arguments to which the arguments of a run are appended.
    report
        Called with the fraction of the runs that have ended, and a text such as `3 of 20 runs`.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, when all runs have ended.
    """
    share = {"OMP_NUM_THREADS": str(max(1, cores() // at_once))} if at_once > 1 else {}
    environment = {**share, **os.environ}  # the runs share the cores equally unless OMP_NUM_THREADS is set
    waiting = list(reversed(runs))
    active: list[_Started] = []
    failures: list[Failure] = []
    try:
        while waiting or active:
            while waiting and len(active) < at_once:
                active.append(_Started(waiting.pop(), command, environment))
            ended = [one for one in active if one.process.poll() is not None]
            active = [one for one in active if one not in ended]
            failures += [failure for one in ended if (failure := one.failure())]
            count = len(runs) - len(waiting) - len(active)
            report(count / len(runs), f"{count} of {len(runs)} runs")
            if not ended:
                time.sleep(SECONDS_BETWEEN_LOOKS)
    finally:
        _end(active)
    return sorted(failures, key=lambda failure: failure.run.index)


def _end(active: Sequence[_Started]) -> None:
    """End runs as Ctrl-C would, and kill those that do not end in time, or all on a second Ctrl-C."""
    deadline = time.monotonic() + SECONDS_TO_END
    try:
        for one in active:
            if one.process.stdin:
                one.process.stdin.close()
        for one in active:
            one.process.wait(max(0.0, deadline - time.monotonic()))
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        for one in active:
            one.process.kill()
