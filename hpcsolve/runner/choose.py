"""Makes the job for a problem that comes without one: `hpcsolve solve FILE`, and `hpcsolve.solve` without an algorithm.

The kind of problem follows from what is given, the method from `method.py`.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcsolve.algorithms.registry import NAMES
from hpcsolve.errors import InputError
from hpcsolve.formats import InstanceOf, OtherKindError, weight_is_of_cities
from hpcsolve.formats.files import stem_of, write_text
from hpcsolve.job import Job, apply_overrides, job_of_table
from hpcsolve.job.convert import JobText
from hpcsolve.output.hdf5 import is_hdf5
from hpcsolve.output.toml import LARGEST_JOB, toml_text
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp
from hpcsolve.replacing import require_replaceable
from hpcsolve.runner.kinds import STOPS
from hpcsolve.runner.method import (
    MOST_PROVEN,
    Method,
    Resources,
    as_named,
    method_for,
    owner_of,
    resources_here,
    stop_in_words,
)
from hpcsolve.runner.reading import Judge, read_instance
from hpcsolve.wording import counted

MOST_AMBIGUOUS_ROWS = 4
"""The most rows of a distance table that could also be a list of edges, since such a list has up to 4 columns."""

@dataclass(frozen=True)
class Chosen:
    """A job made for an instance.

    Attributes
    ----------
    instance
        The instance, if it had to be read to choose the method.
    table
        The keys of the job that differ from their defaults.
    reason
        The algorithm, why it was chosen and when it stops, in words.
    """

    job: Job
    instance: InstanceOf[Any] | None
    table: Mapping[str, Any]
    reason: str

    def write(self, path: str, overwrite: bool) -> None:
        """Write the job file, where the instance is relative to the file's folder.

        Raises
        ------
        InputError
            The file exists with another content, and may not be replaced; or it is no regular file.
        EnvironmentFault
            The file cannot be written.
        """
        require_replaceable(path)  # before it is opened, since nobody may ever write into a pipe
        table, folder = dict(self.table), os.path.dirname(os.path.abspath(path))
        table["instance"] = _relative(table["instance"], folder)
        text = toml_text({key: value for key, value in table.items() if value != {}}, inline=("instance",))
        if os.path.exists(path) and not overwrite and _content(path) != text.encode():
            way_out = "choose another --write-job, or replace it with --overwrite"
            raise InputError(f"the job file exists with another content; {way_out}", path)
        write_text(text, path)


def _content(path: str) -> bytes | None:
    """Return the content of a file, None if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


class Source(ABC):
    """A problem whose kind is not given. It may be read as an instance of several kinds, and each reading is kept."""

    def __init__(self) -> None:
        self._known: dict[str, InstanceOf[Any]] = {}

    @abstractmethod
    def plain_job(self, algorithm: str) -> Job:
        """Return a job with the algorithm of this name, and no keys of its table, to read the instance with."""

    @abstractmethod
    def read(self, job: Job, precision: Precision | None) -> InstanceOf[Any]:
        """Return the instance of such a job, by the precision of its algorithm or by another one."""

    @abstractmethod
    def nothing_asked(self, graph: Graph) -> InputError:
        """Return the error for a graph without terminals of which nothing is asked."""

    def instance(self, kind: str) -> InstanceOf[Any]:
        """Return the instance as one of a kind. Raises as `read`."""
        if kind == "tsp":
            return self._cities()
        names = {"graph": "shortest-paths", "steiner": "steiner-kmb", "batch": "held-karp"}
        return self._read_once(names[kind], None)

    def _read_once(self, algorithm: str, precision: Precision | None) -> InstanceOf[Any]:
        if algorithm not in self._known:
            self._known[algorithm] = self.read(self.plain_job(algorithm), precision)
        return self._known[algorithm]

    def _cities(self) -> InstanceOf[Any]:
        """Return the instance as cities, with the precision of the algorithm that is taken for so many."""
        few, many = (Judge(self.plain_job(name)).precision() for name in ("held-karp", "edge-assembly"))

        def of(n: int) -> Precision:
            return few if n <= MOST_PROVEN else many

        own = replace(few, algorithm="hpcsolve", fits=lambda tsp: of(tsp.n).fits(tsp),
                      largest_cost=lambda n, arcs: of(n).largest_cost(n, arcs))
        try:
            return self._read_once("held-karp", own)
        except OtherKindError:
            raise
        except InputError as error:
            with suppress(InputError):  # edge assembly may take costs that are farther apart
                return self._read_once("edge-assembly", None)
            raise error from None

    def kind_in_file(self, path: str, options: Mapping[str, Any] | None) -> str:
        """Return the kind of problem that a file holds, which is tried as cities and as a graph.

        Parameters
        ----------
        options
            The keys of the table `instance` beside the file, which only graphs have, or None.

        Raises
        ------
        InputError
            It is a job or a result, or it cannot be read.
        """
        refuse_job_or_result(path)
        faults: dict[str, str] = {}
        found: list[str] = []
        self.plain_job("held-karp" if not options else "shortest-paths")  # raises for mistakes in keys, not in the file
        if options and set(options) == {"weight"} and weight_is_of_cities(path):
            return "tsp"
        if options and (STOPS in options or "speed" in options):
            return "tsp"
        if options:
            return "steiner" if "terminals" in options else "graph"
        for kind in ("tsp", "graph"):
            try:
                problem = self.instance(kind).problem
                found.append(kind)
                if kind == "tsp" and problem.n > MOST_AMBIGUOUS_ROWS:
                    break
            except OtherKindError:
                continue
            except InputError as error:
                faults[kind] = str(error)
        if len(found) == 2:
            raise InputError("may be a table of distances or a list of edges; say which, as in --algorithm held-karp "
                             "or --algorithm shortest-paths", path)
        if found:
            return found[0]
        if len(set(faults.values())) == 1:
            raise InputError(next(iter(faults.values())))
        cities, graph = (_without_file_name(fault, path) for fault in faults.values())
        raise InputError(f"cannot be read: as cities: {cities}; as a graph: {graph}", path)

    def method_and_instance(
        self, kind: str, resources: Resources, keys: Collection[str] = (), stop: Collection[str] = ()
    ) -> tuple[Method, InstanceOf[Any] | None]:
        """Return the method for the problem, and its instance, or None if the method's job must read it anew.

        Parameters
        ----------
        kind
            "tsp", "batch", "steiner", or "graph": that is a Steiner problem too if it has terminals and no key asks
            for anything else.
        resources, keys, stop
            As `method_for` takes them.

        Raises
        ------
        InputError
            The problem cannot be read, or nothing is asked of a graph.
        """
        instance = self.instance(kind)
        if kind == "graph" and has_terminals(instance.problem) and owner_of(keys) is None:
            kind, instance = "steiner", self.instance("steiner")
        problem = instance.problem
        if isinstance(problem, Graph) and not keys and not has_terminals(problem):
            raise self.nothing_asked(problem)
        method = method_for(problem, resources, keys, stop)
        if isinstance(problem, Tsp):
            usual = "held-karp" if problem.n <= MOST_PROVEN else "edge-assembly"
            whole = problem.scale == 1 and problem.rounding is None
            as_the_job_reads_it = whole or (method.algorithm == usual and not keys)
        elif isinstance(problem, Graph):
            as_the_job_reads_it = (kind == "steiner") == (method.algorithm == "steiner-kmb")
        else:  # a batch
            as_the_job_reads_it = not keys or problem.scale == 1
        return method, instance if as_the_job_reads_it else None


def has_terminals(graph: Graph) -> bool:
    """Return whether a graph says what to join."""
    return graph.terminals is not None and len(graph.terminals) > 0


def choose(
    path: str, name: str | None = None, seconds: float | None = None, overrides: Sequence[str] = (),
    **replaced: str | None,
) -> Chosen:
    """Return a job for the instance in a file.

    Parameters
    ----------
    path
        A file; "-" is standard input.
    name
        The algorithm, if the user names one.
    seconds
        The time limit, if the user gives one.
    overrides, replaced
        As `load_job` takes them.

    Raises
    ------
    InputError
        The file is not an instance, or it does not say what to find in it.
    """
    refuse_job_or_result(path)
    given: dict[str, Any] = {}
    apply_overrides(given, overrides)
    if not isinstance(given.get("instance", {}), dict):
        raise InputError(f"instance: the instance is {path}; leave this key out", "--set")
    named = name or given.get("algorithm")
    name = named or next((table for table in NAMES if table in given), None)
    device = str(replaced.get("device") or given.get("device", "auto"))
    resources = resources_here(device, seconds, threads=given.get("threads"))
    instance = None
    if name is None:
        if path == "-":
            raise InputError("standard input: name the algorithm too, as in --algorithm held-karp")
        source = _NamedFile(path, given)
        kind = source.kind_in_file(path, given.get("instance"))
        method, instance = source.method_and_instance(kind, resources, (), given.get("stop", {}))
    else:
        method = as_named(name, resources, given.get("stop", {}), given.get(name, {}), only_by_keys=not named)
    table = {**_table(method.algorithm, path, given), "stop": dict(method.stop), method.algorithm: dict(method.keys)}
    options = {"algorithm": "--algorithm"} | ({} if "seconds" not in method.stop else {"stop.seconds": "--seconds"})
    options |= dict.fromkeys(apply_overrides(table, overrides), "--set")
    table |= {key: value for key, value in replaced.items() if value is not None}
    job = job_of_table(table, JobText(path, "", options), **replaced)
    return Chosen(job, instance, table, in_words(method, job))


def in_words(method: Method, job: Job) -> str:
    """Return the algorithm, why it was chosen, and when it stops."""
    return f"{method.algorithm}, {method.reason}{stop_in_words(job.settings.stop)}"


class _NamedFile(Source):
    """The file that the command line names, with the keys that --set gives."""

    def __init__(self, path: str, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.path, self.given = path, given

    def plain_job(self, algorithm: str) -> Job:
        """Return a job to read the file with: top-level keys such as `round` count."""
        plain = {key: value for key, value in self.given.items() if not isinstance(value, dict)}
        table = {**_table(algorithm, self.path, self.given), **plain}
        if "instance" in self.given:
            table["instance"] = {**self.given["instance"], **table["instance"]}
        return job_of_table(table, JobText(self.path, "", dict.fromkeys(plain, "--set")))

    def read(self, job: Job, precision: Precision | None) -> InstanceOf[Any]:
        """Return the instance in the file."""
        return read_instance(job, precision=precision)

    def nothing_asked(self, graph: Graph) -> InputError:
        """Return the error that says which keys ask for something."""
        names = graph.vertex_names or graph.labels.tolist()
        first, last = (json.dumps(name, ensure_ascii=False) for name in (names[0], names[-1]))
        directed = " --set instance.directed=false" if graph.directed else ""
        no_cities = self._no_cities() if graph.edges <= MOST_AMBIGUOUS_ROWS else ""
        return InputError(
            f"is a graph of {counted(graph.n, 'vertex')} without terminals{no_cities}; say what to find: distances "
            f"from a vertex, --set shortest-paths.sources='[{first}]', a path, --set "
            f"shortest-paths.queries='[[{first}, {last}]]', a tree that joins some, --set "
            f"instance.terminals='[{first}, {last}]'{directed}, or a tour, --set instance.stops='[{first}, {last}]'",
            self.path)

    def _no_cities(self) -> str:
        """Return why the file cannot be read as costs of cities, in parentheses, or "" if its format is for graphs."""
        try:
            self.instance("tsp")
        except OtherKindError:
            return ""
        except InputError as error:
            return f" (as costs of cities: {_without_file_name(str(error), self.path)})"
        return ""


def _without_file_name(message: str, path: str) -> str:
    """Return the message about a file without the name of the file, but with the number of its line."""
    place = rf"^{re.escape(os.path.abspath(path))}:(?:(\d+):)? "
    return re.sub(place, lambda found: f"line {found[1]}: " if found[1] else "", message)


def refuse_job_or_result(path: str) -> None:
    """Raise `InputError` if a file is a job or a result."""
    if not os.path.isfile(path):
        return  # the reader says what is wrong with it
    head = b""
    with suppress(OSError), open(path, "rb") as file:
        head = file.read(LARGEST_JOB)
    if re.search(rb"(?m)^\s*algorithm\s*=", head):
        raise InputError(f"is a job, not an instance; did you mean hpcsolve run {path}?", path)
    if is_hdf5(head):
        what = f"hpcsolve verify {path} checks its answer, hpcsolve run {path} --output FILE runs its job again"
        raise InputError(f"is a result, not an instance; {what}", path)


def _relative(instance: Any, folder: str) -> Any:
    """Return the value of the key `instance` with its file relative to a folder."""
    if isinstance(instance, dict):
        return {key: _relative(value, folder) if key == "file" else value for key, value in instance.items()}
    return instance if instance == "-" else os.path.relpath(instance, folder)


def _table(name: str, path: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that every job has."""
    file, stem = ("-", "stdin") if path == "-" else (os.path.abspath(path), stem_of(path))
    instance = {"file": file} if "instance" in given else file
    return {"algorithm": name, "instance": instance, "output": f"results/{stem}.h5"}
