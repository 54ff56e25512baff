"""Chooses an algorithm, its stop criteria and its result file for an instance without a job: `hpcsolve solve`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import msgspec

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.device.base import ONE_CORE
from hpcsolve.device.gpus import list_gpus
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.formats.base import OtherKindError
from hpcsolve.formats.files import write_text
from hpcsolve.job import Job
from hpcsolve.job.convert import JobText
from hpcsolve.job.load import apply_overrides, job_of_table
from hpcsolve.memory import available_memory
from hpcsolve.output.hdf5 import is_hdf5
from hpcsolve.output.progress import duration, size
from hpcsolve.output.toml import LARGEST_JOB, toml_text
from hpcsolve.parallel.environment import announced_local_size, announced_size
from hpcsolve.replacing import require_replaceable
from hpcsolve.runner.kinds import read_instance
from hpcsolve.wording import counted

SECONDS = 60.0
"""Time limit of a search that can be stopped, if none is given."""
STAGNATION = 2000
"""Iterations without a better tour after which ants stop, if no time limit is given."""
RATE = 2e9
"""Min-adds per second that Held-Karp makes on one slow core. Nothing is measured, so that all ranks choose alike."""
READERS = ("held-karp", "ant-colony", "shortest-paths")
"""The algorithms as whose instance a file is read, tried in this order. They differ in kind and precision."""
MOST_AMBIGUOUS_ROWS = 4
"""The most rows of a distance table that could also be a list of edges, since such a list has up to 4 columns."""


@dataclass(frozen=True)
class Chosen:
    """A job made for an instance.

    Attributes
    ----------
    instance
        The instance, if it had to be read to choose the algorithm.
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
            The file exists with another content, and may not be replaced.
        EnvironmentFault
            The file cannot be written.
        """
        table, folder = dict(self.table), os.path.dirname(os.path.abspath(path))
        table["instance"] = _relative(table["instance"], folder)
        text = toml_text({key: value for key, value in table.items() if value != {}}, inline=("instance",))
        require_replaceable(path)
        if os.path.exists(path) and not overwrite and Path(path).read_bytes() != text.encode():
            way_out = "choose another --write-job, or replace it with --overwrite"
            raise InputError(f"the job file exists with another content; {way_out}", path)
        write_text(text, path)


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
    _refuse_job_or_result(path)
    given: dict[str, Any] = {}
    apply_overrides(given, overrides)
    if not isinstance(given.get("instance", {}), dict):
        raise InputError(f"instance: the instance is {path}; leave this key out", "--set")
    name = name or given.get("algorithm") or next((table for table in NAMES if table in given), None)
    reason, instance = "as asked", None
    own: dict[str, Any] = {}
    if name is None:
        name, reason, instance = _chosen(path, given, SECONDS if seconds is None else seconds)
        if name == "held-karp" and instance is not None:
            own, seconds = _held_karp_keys(instance.problem, seconds)
    table = {**_table(name, path, given), **_stop_tables(name, seconds, given)}
    table[name] |= own
    options = {"algorithm": "--algorithm"} | ({} if seconds is None else {"stop.seconds": "--seconds"})
    options |= dict.fromkeys(apply_overrides(table, overrides), "--set")
    table |= {key: value for key, value in replaced.items() if value is not None}
    job = job_of_table(table, JobText(path, "", options), **replaced)
    return Chosen(job, instance, table, f"{name}, {reason}{_ends(job.settings.stop)}")


def _table(name: str, path: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that every job has."""
    file, stem = ("-", "stdin") if path == "-" else (os.path.abspath(path), PurePath(path).name.split(".")[0])
    instance = {"file": file} if "instance" in given else file
    return {"algorithm": name, "instance": instance, "output": f"results/{stem}.h5"}


def _held_karp_keys(tsp: Any, seconds: float | None) -> tuple[dict[str, Any], float | None]:
    """Return keys of Held-Karp's table and its time limit: with precedences none can say how long a proof takes."""
    if tsp.precedences:
        return {"path": "open"}, SECONDS if seconds is None else seconds
    return {}, None  # the lattice cannot be stopped, but likely ends in time


def _ends(stop: StopCriteria) -> str:
    """Return when a search ends, in words, empty if nothing ends it early."""
    texts = {"seconds": "after {:g} s", "target": "at cost {:g}", "iterations": "after {} iterations",
             "stagnation": "after {} iterations without a better answer", "memory": "at {} bytes per rank"}
    ends = [texts[key].format(value) for key, value in msgspec.structs.asdict(stop).items() if value is not None]
    return f"; it stops {' or '.join(ends)}" if ends else ""


def _stop_tables(name: str, seconds: float | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table `[stop]`, and the algorithm's own table with the keys that follow from it."""
    if seconds is not None:
        stop: dict[str, Any] = {"seconds": seconds}
    elif name == "ant-colony" and "stop" not in given:
        stop = {"seconds": SECONDS, "stagnation": STAGNATION}
    else:
        stop = {}
    own: dict[str, Any] = {}
    if name == "steiner-kmb":
        own = {"mode": "best"} if stop or "stop" in given else {"exchange": True}
    elif name == "ant-colony" and (ranks := announced_size(os.environ)) > 1:
        own = {"colonies": ranks}
    return {"stop": stop, name: own}


def _refuse_job_or_result(path: str) -> None:
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


def _chosen(path: str, given: Mapping[str, Any], seconds: float) -> tuple[str, str, InstanceOf[Any] | None]:
    """Return the algorithm for the instance in a file, why, and the instance if it was read for this algorithm."""
    if path == "-":
        raise InputError("standard input: name the algorithm too, as in --algorithm held-karp")
    name, instance = _read_by_first(path, given)
    problem = instance.problem
    if name == "ant-colony":
        return name, "since held-karp cannot take these costs", instance
    if name == "held-karp":
        name, reason = _for_cities(problem, given, seconds)
        return name, reason, instance if name == "held-karp" else None
    if problem.terminals is not None and len(problem.terminals):
        return "steiner-kmb", f"since the graph has {counted(len(problem.terminals), 'terminal')}", None
    names = problem.vertex_names or problem.labels.tolist()
    first, last = (json.dumps(name, ensure_ascii=False) for name in (names[0], names[-1]))
    directed = " --set instance.directed=false" * problem.directed
    raise InputError(
        f"is a graph of {counted(problem.n, 'vertex')} without terminals; say what to find: distances from a vertex, "
        f"--set shortest-paths.sources='[{first}]', a path, --set shortest-paths.queries='[[{first}, {last}]]', or a "
        f"tree that joins some, --set instance.terminals='[{first}, {last}]'{directed}",
        path,
    )


def _read_by_first(path: str, given: Mapping[str, Any]) -> tuple[str, InstanceOf[Any]]:
    """Return the first algorithm of `READERS` for which a file can be read, and the instance in it."""
    found: dict[str, InstanceOf[Any]] = {}
    faults: dict[str, str] = {}
    others: set[str] = set()
    for name in READERS[-1:] if "instance" in given else READERS:  # only graphs have keys beside `file`
        kind = algorithm(name).kind
        if kind in others:
            continue
        job = _plain_job(name, path, given)  # a mistake in it is none of the file
        try:
            found[name] = read_instance(job)
            others.add(kind)
        except OtherKindError:
            others.add(kind)
        except InputError as error:
            faults.setdefault(kind, str(error))
        if kind == "tsp" and name in found and found[name].problem.n > MOST_AMBIGUOUS_ROWS:
            break
    if len(found) == 2:
        raise InputError("may be a table of distances or a list of edges; say which, as in --algorithm held-karp or "
                         "--algorithm shortest-paths", path)
    if found:
        return found.popitem()
    if len(set(faults.values())) == 1:
        raise InputError(next(iter(faults.values())))
    place = rf"^{re.escape(os.path.abspath(path))}:(?:(\d+):)? "
    cities, graph = (re.sub(place, _line_prefix, fault) for fault in faults.values())
    raise InputError(f"cannot be read: as cities: {cities}; as a graph: {graph}", path)


def _plain_job(name: str, path: str, given: Mapping[str, Any]) -> Job:
    """Return a job to read a file with: the keys above the tables count, such as `round`."""
    plain = {key: value for key, value in given.items() if not isinstance(value, dict)}
    table = {**_table(name, path, given), **plain}
    if "instance" in given:
        table["instance"] = {**given["instance"], **table["instance"]}
    return job_of_table(table, JobText(path, "", dict.fromkeys(plain, "--set")))


def _line_prefix(place: re.Match[str]) -> str:
    """Return `line 3: ` in place of the file and the line, or "" in place of the file alone."""
    return f"line {place[1]}: " if place[1] else ""


def _for_cities(tsp: Any, given: Mapping[str, Any], seconds: float) -> tuple[str, str]:
    """Return the algorithm for cities, Held-Karp if memory and time allow a proof, and the reason."""
    if tsp.precedences:
        return "held-karp", f"since the file says which of {counted(tsp.n, 'city')} come before others"
    solver, ranks = algorithm("held-karp"), announced_size(os.environ)
    local = announced_local_size(os.environ) or ranks
    try:
        estimate = solver.estimate(tsp, solver.parameters(method="lattice"), ranks, ONE_CORE)
    except HpcsolveError:
        return "ant-colony", f"since {tsp.n} cities are too many for a proof that surely ends{_hint(tsp)}"
    need = max(estimate.needed)
    free = _free_memory(str(given.get("device", "auto"))) // local
    likely = estimate.operations / (RATE * ranks * max(1, len(os.sched_getaffinity(0)) // local))
    if need > free:
        return "ant-colony", f"since a proof for {tsp.n} cities would take {size(need)} of memory"
    if likely > seconds:
        return "ant-colony", f"since a proof for {tsp.n} cities would take up to {duration(likely)}"
    are = "is" if tsp.n == 1 else "are"
    return "held-karp", f"since {counted(tsp.n, 'city')} {are} few enough for a proof of the optimum"


def _hint(tsp: Any) -> str:
    """Return how to try a proof by bounds, for which nobody knows how long it takes, or "" if it cannot be tried."""
    solver = algorithm("held-karp")
    try:
        solver.estimate(tsp, solver.parameters(method="bounded"), 1, ONE_CORE)
    except HpcsolveError:
        return ""
    return " (--algorithm held-karp tries one)"


def _free_memory(device: str) -> int:
    """Return the bytes that are free on this host, or fewer if the device may be a GPU with less memory."""
    host = available_memory()
    if device == "cpu":
        return host
    try:
        return min(host, *(gpu.memory for gpu in list_gpus()))
    except HpcsolveError:
        return host


def _relative(instance: Any, folder: str) -> Any:
    """Return the value of the key `instance` with its file relative to a folder."""
    if isinstance(instance, dict):
        return {key: _relative(value, folder) if key == "file" else value for key, value in instance.items()}
    return instance if instance == "-" else os.path.relpath(instance, folder)
