"""A job as frozen structs, with all its keys checked. The error for a mistake is one line with file, line and key.

load.py        reads a job from a TOML file or a result file
convert.py     converts TOML tables to structs, and finds the line of a mistake
docstrings.py  reads the meanings of keys from docstrings
examples.py    the example jobs that come with hpcsolve
generators.py  the generators of instances, by name
reference.py   generates docs/jobs.md from the docstrings of the structs
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import msgspec

from hpcsolve.algorithms.base import NO_STOP, StopCriteria
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.device.select import check_request
from hpcsolve.errors import InputError
from hpcsolve.job.convert import JobText, convert, keys_of
from hpcsolve.output.toml import toml_text
from hpcsolve.problems.rounding import decimals_of
from hpcsolve.wording import nearest

Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Threads = Annotated[int, msgspec.Meta(ge=1, le=65536)]
InstanceKey = str | dict[str, Any]
"""The key `instance`: a path, or a table."""
IN_MEMORY = "(in memory)"
"""Stands in place of a path for an instance that a Python program passed to `solve`."""
NOT_HASHED = ("output", "device", "threads", "share-gpu", "exact")
"""Keys that say where, how and whether a job runs. Neither its answer nor its hash depends on them."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """The keys above the first table of a job file.

    Attributes
    ----------
    algorithm
        The method. Its own table, below, has its name.
    instance
        A file (relative to the job file's folder, with --set to the working directory; "-" is standard input), or a
        table: for a generator `{ generate = "uniform-tsp", n = 24, seed = 1 }`, for a graph `{ file = "city.gr",
        coordinates = "city.co", directed = false, weight = "length", terminals = [17, 4] }`, where all but the file may
        be left out. Files of terminals have one on each line: `terminals = "houses.txt"`.
    output
        The result file, relative to the working directory; for a job file `NAME.toml` by default as shown.
    device
        "cpu", "cuda", "cuda:1" (the GPU as nvidia-smi counts), a GPU's UUID, or "auto": GPUs if every rank sees one.
    seed
        Seed of the random numbers.
    exact
        Whether to refuse costs that would have to be rounded. By default decimals that do not fit the algorithm are
        rounded to the finest power of ten that is safe for it; the log and the result say so.
    round
        Round costs to this unit, a power of ten from 1e-18 to 1, even if they would fit: `round = 0.001`.
    share_gpu
        Whether several ranks may use one GPU.
    threads
        CPU threads of each rank, beside a GPU too; by default OMP_NUM_THREADS, else a fair share of the cores.
    stop
        When to end early, a table; see below.
    """

    algorithm: str
    instance: InstanceKey
    output: str
    device: str = "auto"
    seed: Seed = 1
    exact: bool = False
    round: float | None = None
    share_gpu: bool = False
    threads: Threads | None = None
    stop: StopCriteria = NO_STOP


@dataclass(frozen=True)
class Job:
    """A checked job.

    Attributes
    ----------
    settings
        The keys above the tables, with an absolute path of the instance.
    parameters
        The algorithm's own table.
    source
        The text that the job was read from, for messages; None for a job that a program made.
    """

    settings: Settings
    parameters: Any
    source: JobText | None = field(default=None, compare=False, repr=False)

    def tables(self) -> dict[str, Any]:
        """Return all keys with their values, defaults included. Keys without a value are left out."""
        content = _set_keys(msgspec.to_builtins(self.settings))
        return {**content, self.settings.algorithm: _set_keys(msgspec.to_builtins(self.parameters))}

    def text(self) -> str:
        """Return the effective job as TOML."""
        return toml_text(self.tables(), inline=("instance",))

    def hash(self, instance_sha256: str) -> str:
        """Return the SHA-256 of all that the answer depends on: the instance, and all keys except `NOT_HASHED`."""
        return hash_of(self.tables(), instance_sha256)

    def with_settings(self, **changes: Any) -> Job:
        """Return the same job with other settings."""
        return replace(self, settings=msgspec.structs.replace(self.settings, **changes))

    def error(self, key: str, message: str) -> InputError:
        """Return the error for a mistake in `key`, a dotted path. It names file and line if the job has a file."""
        return self.source.error(key, message) if self.source else InputError(f"{key}: {message}")


def hash_of(tables: Mapping[str, Any], instance_sha256: str) -> str:
    """Return `Job.hash`, given the tables of an effective job."""
    content = {key: value for key, value in tables.items() if key not in (*NOT_HASHED, "instance")}
    content["instance-sha256"] = instance_sha256
    own = tables[tables["algorithm"]]  # the content of a file counts, not its name
    content[tables["algorithm"]] = {key: value for key, value in own.items() if f"{key}-sha256" not in own}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def job_from_table(table: Mapping[str, Any], text: JobText | None = None) -> Job:
    """Return the job of a table, with its keys checked and the defaults filled in.

    Raises
    ------
    InputError
        A key is unknown, missing, has a wrong type or value, or belongs to another algorithm.
    """
    job_text = text or JobText("job", "", {})
    rest = dict(table)
    name = rest.get("algorithm")
    if name is None:
        for key in (key for key in rest if "algorithm" in nearest(key, keys_of(Settings))):
            raise job_text.error(key, "unknown key; did you mean algorithm?")
        raise job_text.missing("algorithm", ', for example algorithm = "held-karp"')
    if not isinstance(name, str):
        raise job_text.error("algorithm", "expected a text")
    parameters_type = _parameters_type(name, job_text)
    own = rest.pop(name, {})
    _refuse_other_tables(rest, name, job_text)
    known = {"": [*keys_of(Settings), name], name: [*keys_of(parameters_type)], "stop": [*keys_of(StopCriteria)]}
    _refuse_keys_of_others(own, name, known[name], job_text)
    settings = convert(rest, Settings, "", job_text, known)
    _refuse_device(settings.device, job_text)
    _refuse_rounding(settings, job_text)
    parameters = convert(own, parameters_type, name, job_text, known)
    _refuse_stop(settings, parameters, job_text)
    return Job(settings, parameters, text)


def _parameters_type(name: str, job_text: JobText) -> type[msgspec.Struct]:
    try:
        return algorithm(name).parameters
    except InputError as error:
        raise job_text.error("algorithm", str(error)) from None


def _refuse_other_tables(table: Mapping[str, Any], name: str, job_text: JobText) -> None:
    for other in NAMES:
        if other in table:
            raise job_text.error(other, f'this table has no effect, since algorithm = "{name}"; remove it')


def _refuse_keys_of_others(own: Any, name: str, known: list[str], job_text: JobText) -> None:
    for key in own if isinstance(own, dict) else ():
        having = [other for other in NAMES if key in keys_of(algorithm(other).parameters)]
        if key not in known and having:
            what = f"{name} has no such key: it is a key of {' and '.join(having)}; remove it"
            raise job_text.error(f"{name}.{key}", what)


def _refuse_device(device: str, job_text: JobText) -> None:
    try:
        check_request(device)
    except InputError as error:
        raise job_text.error("device", str(error).removeprefix("device ")) from None


def _refuse_rounding(settings: Settings, job_text: JobText) -> None:
    if settings.round is not None and decimals_of(settings.round) is None:
        raise job_text.error("round", f"expected a power of ten from 1e-18 to 1, got {settings.round:g}")
    if settings.round is not None and settings.exact:
        raise job_text.error("round", "has no effect with exact = true; remove one of them")


def _refuse_stop(settings: Settings, parameters: Any, job_text: JobText) -> None:
    """Refuse the keys of `[stop]` that the algorithm does not honour."""
    solver = algorithm(settings.algorithm)
    honoured = solver.stop_keys(parameters)
    nothing = f"has no partial answer{' with these parameters' if solver.stops else ''}, so it cannot be stopped early"
    for key, value in msgspec.to_builtins(settings.stop).items():
        if value is not None and key not in honoured:
            what = f"has no {key} to stop at" if honoured else nothing
            raise job_text.error(f"stop.{key}", f"{settings.algorithm} {what}; remove it")
        if isinstance(value, float) and not math.isfinite(value):
            raise job_text.error(f"stop.{key}", f"expected a finite number, got {value}")


def _set_keys(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without keys whose value is None, and without tables that become empty."""
    kept = {key: _set_keys(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in kept.items() if value is not None and value != {}}
