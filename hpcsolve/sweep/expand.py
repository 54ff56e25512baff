"""Makes the runs of a sweep: every combination of the values, in the order of the file, the last key fastest.

Order and names depend on the sweep file (and `--set`) alone, so the number of a run always means the same job.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.job import Job
from hpcsolve.job.convert import JobText
from hpcsolve.job.load import absolute_files, job_of_table, read_table
from hpcsolve.output.toml import value_text
from hpcsolve.sweep.axes import Axes, axes_of, require_axes
from hpcsolve.wording import counted

MOST_RUNS = 100_000
LONGEST_NAME = 200
"""Most characters of a run's name; file systems take 255 bytes, and a file that is being written has a longer name."""


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
    axes = _all_axes(table, text)
    require_axes(axes, path)
    _require_few(axes, path)
    folder = output or table.get("output", f"results/{Path(path).stem}")
    _require_folder(folder, text)
    for key, values in axes.items():
        _require_distinct(key, values, text)
    fixed = [override for override in overrides if override.partition("=")[0].strip() not in axes]
    points = (dict(zip(axes, values)) for values in itertools.product(*axes.values()))
    runs = (_run(index, point, table, text, fixed, folder) for index, point in enumerate(points))
    return Sweep(folder, axes, tuple(runs))


def number_ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as Slurm writes the elements of a job array: `0-3,7`."""
    known = set(numbers)
    starts = [number for number in numbers if number - 1 not in known]
    ends = [number for number in numbers if number + 1 not in known]
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in zip(starts, ends))


def _run(
    index: int, point: Mapping[str, Any], table: Mapping[str, Any], text: JobText, fixed: Sequence[str], folder: str
) -> Run:
    """Return the run with the values of a point. `fixed` has the overrides that are the same for all runs."""
    name = _name(point)
    output = os.path.join(folder, f"{name}.h5")
    values = {key: absolute_files(key.split("."), value, _base_folder(key, text)) for key, value in point.items()}
    job = job_of_table(_with_values(table, values), text, output=output)
    if job.settings.instance == "-":
        raise text.error("instance", "a sweep cannot read it from standard input; name a file")
    overrides = [*fixed, *(f"{key}={value_text(value)}" for key, value in values.items())]
    words = [word for override in overrides for word in ("--set", override)]
    return Run(index, name, job, ("run", text.file, *words, "--output", output))


def _all_axes(table: Mapping[str, Any], text: JobText) -> Axes:
    """Return the keys that have several values in the file or by `--set`, in the order of the file.

    A key whose list `--set` replaces by one value stays part of the names, so that the same results are found.
    """
    axes = axes_of(table, text)
    written = axes_of(read_table(text.file)[0], text)
    kept = {key: axes.get(key, [_value_at(table, key)]) for key in written if _value_at(table, key) is not None}
    return {**kept, **axes}


def _value_at(table: Any, key: str) -> Any:
    """Return the value of a dotted key, or None if the table lacks it."""
    for part in key.split("."):
        table = table.get(part) if isinstance(table, Mapping) else None
    return table


def _base_folder(key: str, text: JobText) -> Path:
    """Return the folder that paths among the values of a key are relative to."""
    return Path() if key in text.overridden else Path(text.file).parent


def _with_values(table: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the table in which dotted keys have these values."""
    changed = dict(table)
    for key, value in values.items():
        first, _, rest = key.partition(".")
        changed[first] = _with_values(changed[first], {rest: value}) if rest else value
    return changed


def _require_few(axes: Axes, path: str) -> None:
    count = math.prod(len(values) for values in axes.values())
    if count > MOST_RUNS:
        raise InputError(f"{axes_in_words(axes)} make {count} runs; a sweep has at most {MOST_RUNS}", path)


def axes_in_words(axes: Axes) -> str:
    """Return the numbers of values: `4 values of instance.n x 5 values of seed`."""
    return " x ".join(f"{counted(len(values), 'value')} of {key}" for key, values in axes.items())


def _require_folder(folder: Any, text: JobText) -> None:
    if not isinstance(folder, str) or not folder or "\0" in folder or folder.endswith(".h5"):
        raise text.error("output", f"{folder!r} is not the name of a folder, which gets a result file per run")


def _require_distinct(key: str, values: Sequence[Any], text: JobText) -> None:
    seen: set[str] = set()
    for value in values:
        if _shown(value) in seen:
            raise text.error(key, f"the value {value_text(value)} is there twice; remove one")
        seen.add(_shown(value))


def _name(point: Mapping[str, Any]) -> str:
    """Return the name of a run. A name that is too long is cut, and ends in a hash of the whole."""
    name = ",".join(f"{key}={_shown(value)}" for key, value in point.items())
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 11]}-{_digest(name)}"


def _shown(value: Any) -> str:
    """Return a value as part of a file name. A value that is shortened or altered for that is followed by its hash."""
    text = value if isinstance(value, str) else value_text(value)
    plain = re.sub(r"[^\w.+-]+", "-", text, flags=re.ASCII).strip("-.")[:60]
    return plain if plain == text else f"{plain}-{_digest(text)}".lstrip("-")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]

