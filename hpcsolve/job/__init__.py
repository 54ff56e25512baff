"""A job as frozen structs, read from a TOML file or a result file with the command line's changes, all keys checked.

The error for a mistake is one line with file, line and key.

convert.py     converts TOML tables to structs, and finds the line of a mistake
examples.py    the example jobs that come with hpcsolve
"""

from __future__ import annotations

import codecs
import hashlib
import inspect
import json
import math
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hpcsolve.algorithms.base import NO_STOP, StopCriteria
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.answers.contents import Contents
from hpcsolve.device.select import check_request
from hpcsolve.errors import InputError
from hpcsolve.job.convert import JobText, convert, keys_of
from hpcsolve.output.hdf5 import is_hdf5
from hpcsolve.output.reader import read_job_text
from hpcsolve.output.toml import DEEPEST, LARGEST_JOB, toml_text, too_deep
from hpcsolve.problems.generate import makers
from hpcsolve.problems.rounding import decimals_of
from hpcsolve.wording import nearest, unreadable

Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Threads = Annotated[int, msgspec.Meta(ge=1, le=65536)]
InstanceKey = str | dict[str, Any]
"""The key `instance`: a path, or a table."""
IN_MEMORY = "(in memory)"
"""Stands in place of a path for an instance that a Python program passed to `solve`."""
NOT_HASHED = ("output", "device", "threads", "share-gpu", "exact")
"""Keys that say where, how and whether a job runs. Neither its answer nor its hash depends on them."""
LONGEST_SHOWN = 120
"""Characters of the longest line of a job file that a message shows mended."""
FILES = ("file", "coordinates", "terminals", "stops", "batch")
"""Keys of the table `instance = { ... }` that may name files."""
TOML_ERRORS = (msgspec.DecodeError, ValueError)
"""What msgspec raises for a text that is not TOML: its own error (no ValueError up to msgspec 0.20), and ValueError for
an integer of thousands of digits."""


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
        be left out. With `speed = 30`, in km/h, costs are travel times in place of distances in metres. With `stops =
        [17, 4, 9]` the problem is a tour: its cities are these vertices of the graph, its costs the shortest distances
        between them. A file of terminals or stops, `stops = "houses.csv"`, has a vertex on each line, or places, which
        stand for the nearest vertices.
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

    def named_files(self) -> dict[str, str]:
        """Return the files that the job's parameters name: attribute -> path."""
        return _named_files(self.settings.algorithm, self.parameters)

    def with_files_from(self, folder: Path) -> Job:
        """Return the job with absolute paths of the files that its parameters name."""
        paths = {key: os.path.abspath(folder / name) for key, name in self.named_files().items()}
        return replace(self, parameters=msgspec.structs.replace(self.parameters, **paths))

    def with_sha256(self, sha256: Mapping[str, str]) -> Job:
        """Return the job with the SHA-256 of the files that its parameters name, by key.

        The answer depends on the content of the files, not on their names.
        """
        own = {f"{key.replace('-', '_')}_sha256": value for key, value in sha256.items()}
        return replace(self, parameters=msgspec.structs.replace(self.parameters, **own))

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


def _set_keys(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without keys whose value is None, and without tables that become empty."""
    kept = {key: _set_keys(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in kept.items() if value is not None and value != {}}


def load_job(path: str, overrides: Sequence[str] = (), **replaced: str | None) -> Job:
    """Read a job file, or the job of a result file.

    Parameters
    ----------
    path
        A TOML file or a result file.
    overrides
        Texts `key=value`, where the value is TOML or a plain word: `held-karp.path=open`. Names of files are relative
        to the working directory here, but to the job file's folder in the job file.
    replaced
        New values of `output` and `device`. None keeps the value of the file.

    Raises
    ------
    InputError
        One line with file and line, or the key.
    """
    table, text = read_table(path, overrides)
    return job_of_table(table, text, **replaced)


def job_in(contents: Contents, path: str) -> Job:
    """Return the job of a result that has been read, as `load_job` does with its file."""
    text = str(contents.value("job", "toml", ""))
    return job_of_table(_parse(text, path), JobText(path, text, {}))


def read_table(path: str, overrides: Sequence[str] = ()) -> tuple[dict[str, Any], JobText]:
    """Return the table of a job file or a result file with the command line's changes, and its text.

    Parameters and errors are those of `load_job`, but the keys are not checked yet.
    """
    text = _read_text(path)
    table = _parse(text, path)
    return table, JobText(path, text, dict.fromkeys(apply_overrides(table, overrides), "--set"))


def _read_text(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a job is read several times, a pipe only once
            raise InputError("is a pipe or a device; write the job to a file", path)
        with open(path, "rb") as file:
            content = file.read(LARGEST_JOB + 1).removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise InputError(unreadable(path, error), path) from None
    if is_hdf5(content):
        return read_job_text(path)
    if len(content) > LARGEST_JOB:
        raise InputError(f"is not a job file: larger than {LARGEST_JOB} bytes{_hint(path)}", path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"is not text in UTF-8{_hint(path, '')}", path, line) from None


def _parse(text: str, path: str) -> dict[str, Any]:
    if line := too_deep(text):
        what = f"lists, tables or the parts of a key are nested more than {DEEPEST} deep"
        raise InputError(f"not a valid TOML file: {what}{_hint(path, text)}", path, line)
    try:
        table: dict[str, Any] = msgspec.toml.decode(text)
    except TOML_ERRORS as error:
        message = " ".join(str(error).split())
        message = message.replace("Cannot overwrite a value", "this key is given twice, remove one")
        found = re.match(r"(.*) \(at line (\d+), column (\d+)\)", message)
        long = re.search(r"[\d_]{4000}", text) if "digits" in message else None
        line = text.rstrip().count("\n") + 1
        if found:
            message, line = f"{found[1]} at column {found[3]}", int(found[2])
        elif long:
            message, line = "an integer of thousands of digits", text.count("\n", 0, long.start()) + 1
        cure = _hint(path, text) or _toml_cure(text.split("\n")[line - 1])
        raise InputError(f"not a valid TOML file: {message}{cure}", path, line) from None
    return table


def _toml_cure(line: str) -> str:
    """Return how a line would be TOML, if it is a key with a value that is nearly right, or ""."""
    found = re.fullmatch(r"\s*([\w.\"'-]+)\s*(=|:|\s)\s*([^#]*?)\s*(#.*)?", line[:LONGEST_SHOWN])
    if found is None or not found[3] or len(line) > LONGEST_SHOWN:
        return ""
    key, value = found[1], found[3]
    if value.lower() in ("true", "false"):
        value = value.lower()
    elif re.fullmatch(r"[^\d\[{\"'+-][^\"']*", value):
        value = f'"{value}"'
    elif re.fullmatch(r"\[.*\]", value):
        value = _quoted(value)
    return "" if found[2] == "=" and value == found[3] else f"; write {key} = {value}"


def _hint(path: str, text: str = "SECTION ") -> str:
    """Return a hint if a file is not a job file but may be an instance, which is sometimes given by mistake."""
    instance = re.search(r"(?im)^\s*(DIMENSION\s*:|33D32945\s|SECTION\s|p\s+(sp|tw)\s|%%MatrixMarket)", text)
    return f"; is it an instance? hpcsolve solve {path}" if instance or not path.endswith(".toml") else ""


def apply_overrides(table: dict[str, Any], overrides: Sequence[str]) -> set[str]:
    """Change the table, and return the dotted keys that were changed.

    Raises
    ------
    InputError
        A text is not `key=value`, or its key is in no table.
    """
    changed = set()
    for override in overrides:
        path, equals, value = override.partition("=")
        keys = [key.strip() for key in path.split(".")]
        if not equals or not all(keys):
            raise InputError(f"{override!r} is not KEY=VALUE, for example held-karp.path=open", "--set")
        if len(keys) > DEEPEST:
            raise InputError(f"{path[:20]}...: a key of {len(keys)} parts; no job has such a key", "--set")
        inner = table
        if len(keys) > 1 and keys[0] == "instance" and isinstance(table.get("instance"), str):
            table["instance"] = {"file": table["instance"]}
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise InputError(f"{override}: {key} is not a table in the job", "--set")
        inner[keys[-1]] = absolute_files(keys, parsed_value(value), Path())  # from the working directory
        changed |= {".".join(keys[:length]) for length in range(1, len(keys) + 1)}
    return changed


def parsed_value(text: str) -> Any:
    """Return the TOML value that a text stands for. Text that is not a TOML value is taken as a string.

    Raises
    ------
    InputError
        The text is in brackets, but no list or table of TOML: most often the shell took its quotes.
    """
    if too_deep(text):
        return text.strip()
    try:
        table = msgspec.toml.decode(f"value = {text.strip()}")
    except TOML_ERRORS:
        if re.fullmatch(r"\[.*\]|\{.*\}", text.strip(), re.DOTALL):
            what = "is not TOML: texts need double quotes, which the shell removes without single quotes around all"
            raise InputError(f"{text.strip()} {what}, as in --set 'KEY={_quoted(text.strip())}'", "--set") from None
        return text.strip()
    return table["value"] if len(table) == 1 else text.strip()


def _quoted(value: str) -> str:
    """Return the text of a list or table with double quotes around its bare words."""
    bare = r"(?<![\w\"'.-])(?!(?:true|false)\b)([A-Za-z_][\w.-]*)(?![\w\"'.-]|\s*=)"
    return re.sub(bare, r'"\1"', value)


def job_of_table(table: Mapping[str, Any], text: JobText, **replaced: str | None) -> Job:
    """Return the checked job of a table that `read_table` returned. Parameters and errors are those of `load_job`."""
    options = {key: value for key, value in replaced.items() if value is not None}
    changed = {**text.overridden, **{key: f"--{key}" for key in options}}
    whole = {"output": f"results/{Path(text.file).stem}.h5", **table, **options}
    name = str(whole.get("algorithm"))
    for key in algorithm(name).files if name in NAMES else ():
        if f"{name}.{key}" in changed:  # the command line names another file than that of the result
            whole[name].pop(f"{key}-sha256", None)
    job, folder = job_from_table(whole, replace(text, overridden=changed)), Path(text.file).parent
    return job.with_files_from(folder).with_settings(instance=_instance_in_full(job, folder))


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
    try:
        parameters_type = algorithm(name).parameters
    except InputError as error:
        raise job_text.error("algorithm", str(error)) from None
    own = rest.pop(name, {})
    for other in (other for other in NAMES if other in rest):
        raise job_text.error(other, f'this table has no effect, since algorithm = "{name}"; remove it')
    known = {"": [*keys_of(Settings), name], name: [*keys_of(parameters_type)], "stop": [*keys_of(StopCriteria)]}
    for key in own if isinstance(own, dict) else ():
        if key not in known[name] and (
                having := [other for other in NAMES if key in keys_of(algorithm(other).parameters)]):
            what = f"{name} has no such key: it is a key of {' and '.join(having)}; remove it"
            raise job_text.error(f"{name}.{key}", what)
    settings = convert(rest, Settings, "", job_text, known)
    try:
        check_request(settings.device)
    except InputError as error:
        raise job_text.error("device", str(error).removeprefix("device ")) from None
    if settings.round is not None and decimals_of(settings.round) is None:
        raise job_text.error("round", f"expected a power of ten from 1e-18 to 1, got {settings.round:g}")
    if settings.round is not None and settings.exact:
        raise job_text.error("round", "has no effect with exact = true; remove one of them")
    parameters = convert(own, parameters_type, name, job_text, known)
    for key in algorithm(name).files:
        own_key = key.replace("-", "_")
        if getattr(parameters, f"{own_key}_sha256") is not None and own_key not in _named_files(name, parameters):
            raise job_text.error(f"{name}.{key}-sha256", f"{key} does not name a file; remove this key")
    honoured, forbidding = parameters.stops(), parameters.forbids_stop()
    nothing = f"has no partial answer{forbidding and f' with {forbidding}'}, so it cannot be stopped early"
    for key, value in msgspec.to_builtins(settings.stop).items():
        if value is not None and key not in honoured:
            what = f"has no {key} to stop at" if honoured else nothing
            raise job_text.error(f"stop.{key}", f"{name} {what}; remove it")
        if isinstance(value, float) and not math.isfinite(value):
            raise job_text.error(f"stop.{key}", f"expected a finite number, got {value}")
    return Job(settings, parameters, text)


def _instance_in_full(job: Job, folder: Path) -> str | dict[str, Any]:
    """Return the key `instance` with absolute paths, or with the defaults of its generator filled in.

    Mistakes in it are found later, when the instance is read.
    """
    instance: str | dict[str, Any] = absolute_files(["instance"], job.settings.instance, folder)
    if isinstance(instance, str) or "file" in instance or "batch" in instance:
        return instance
    maker = makers(algorithm(job.settings.algorithm).kind).get(str(instance.get("generate", "")))
    keys = inspect.signature(maker).parameters.values() if inspect.isfunction(maker) else ()
    defaults = {key.name: key.default for key in keys if isinstance(key.default, (int, str))}
    return {**instance, **{key: value for key, value in defaults.items() if key not in instance}}


def _named_files(name: str, parameters: Any) -> dict[str, str]:
    """Return the files that the parameters of an algorithm name: attribute -> path."""
    values, solver = msgspec.structs.asdict(parameters), algorithm(name)
    given = {key: values[key] for key in (key.replace("-", "_") for key in solver.files)}
    return {key: value for key, value in given.items() if isinstance(value, str) and value not in solver.words}


def absolute_files(keys: Sequence[str], value: Any, folder: Path) -> Any:
    """Return a value of a key, given as the parts of its dotted path, with absolute paths of the files that it names.

    Paths are relative to the folder.
    """
    files = [["instance"], *(["instance", key] for key in FILES)]
    if keys[0] in NAMES:
        files += [[keys[0], key] for key in algorithm(keys[0]).files]
    if list(keys) == ["instance", "batch"] and isinstance(value, list):
        return [absolute_files(keys, inner, folder) for inner in value]
    if list(keys) in files and isinstance(value, str):
        words = algorithm(keys[0]).words if keys[0] in NAMES else ("-", IN_MEMORY)
        return value if value in words else os.path.abspath(folder / value)
    if list(keys) == ["instance"] and isinstance(value, dict):
        return {key: absolute_files(["instance", key], inner, folder) for key, inner in value.items()}
    return value
