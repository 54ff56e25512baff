"""The Python interface: `solve`, `load`, `collect`, `join` and their types, loaded on first use."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hpcsolve.analysis.collect import collect
from hpcsolve.analysis.load import Result, load
from hpcsolve.errors import InputError, NotWritten, in_notebooks, path_text
from hpcsolve.formats import InstanceOf
from hpcsolve.formats.order_files import with_windows
from hpcsolve.job import IN_MEMORY, Job, job_from_table
from hpcsolve.output.hdf5 import require_result_name
from hpcsolve.output.log import Log
from hpcsolve.parallel.launch import join, on_rank_0, ranks_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp
from hpcsolve.runner.ahead import build_for
from hpcsolve.runner.choose import Source, in_words
from hpcsolve.runner.kinds import STOPS, is_graph, kind_of
from hpcsolve.runner.method import owner_of, resources_here
from hpcsolve.runner.planned import PlannedRun, read_planned, with_earlier
from hpcsolve.runner.reading import Judge, instance_file, read_instance, reporting_progress, say_source
from hpcsolve.runner.run import NO_CHECKPOINTS, CheckpointOptions, run_job
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm, Mpi4pyComm

ProblemLike = Tsp | Graph | ArrayLike | Mapping[str, Any] | str | os.PathLike[str]

__all__ = ["Interrupted", "Result", "collect", "join", "load", "solve"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended `solve` early, in an algorithm that has an answer before its end.

    Attributes
    ----------
    result
        The best answer so far, checked, with `result.complete` False. It is in the output, too, if there is one.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(f"the best answer so far is in the attribute `result` of this exception: {result!r}")
        self.result = result

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in a notebook: the user's own line and the message."""
        return in_notebooks(self)


def solve(
    problem: ProblemLike,
    algorithm: str | None = None,
    comm: Comm | Mpi4pyComm | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    share_gpu: bool = False,
    output: str | os.PathLike[str] | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    seed: int = 1,
    exact: bool = False,
    round: float | None = None,
    stop: Mapping[str, float] | None = None,
    terminals: Iterable[Any] | str | os.PathLike[str] | None = None,
    stops: Iterable[Any] | str | os.PathLike[str] | None = None,
    weight: str | None = "",
    directed: bool | None = None,
    windows: Any = None,
    speed: float | None = None,
    **parameters: object,
) -> Result:
    """Solve a problem and return its result.

    Parameters
    ----------
    problem
        For tours, costs from row to column, `inf` where there is no arc, or places: a matrix, points of shape (n, 2)
        in a plane, a DataFrame (`lat` and `lon`, `x` and `y`, or costs whose index equals the columns), or a dict as a
        JSON file has it (GeoJSON points, answers of routing services). For graphs, a sparse matrix of scipy or a graph
        of networkx. For both, the path of a file, or a `Tsp` or `Graph` of hpcsolve. For a batch of travelling
        salesman problems an array of shape (instances, n, n).
    comm
        By default this process solves alone. Under mpiexec every rank calls `solve`, with what `hpcsolve.join()` gives
        or a communicator of mpi4py, which may have only some of the ranks, after an earlier run has compiled the
        kernels (docs/python.md). All its ranks must give the same arguments.
    algorithm
        By default it follows from the problem: for cities held-karp if it may prove so many, else edge-assembly; for
        graphs steiner-kmb if there are terminals, else shortest-paths; or the one whose keys are given. If neither
        algorithm nor keys nor `stop` are given, a search that can be stopped ends after 60 s with its best answer.
    device, threads, share_gpu, seed, exact, round, stop
        As in a job file: `stop={"seconds": 60.0}`.
    output, checkpoints
        A result file to write, which replaces an existing file, and a folder in which checkpoints are kept until the
        job is solved, from which the same call goes on. By default nothing is written.
    quiet
        Whether to print nothing.
    terminals
        The terminals of a Steiner problem, in place of those of `problem`: rows of a matrix, nodes, names or labels, or
        a file of them or of places, as of the key `sources` of shortest-paths.
    stops
        The vertices of a graph that a tour visits: nodes, names or labels, or a file of them or of places, which stand
        for the nearest vertices. Costs are the distances between them.
    weight
        The edges' attribute (networkx, GraphML), column (CSV) or property (GeoJSON) with the weights, such as "length"
        in OSMnx; of a routing service's answer "durations" or "distances". None, for graphs of networkx alone: all
        edges weigh 1. By default it is "weight", and in GeoJSON the lines' length in metres.
    directed
        Whether entries, lines or edges are arcs; False takes the lighter one of two directions. By default what
        `problem` says. Where it does not say (CSV, GeoJSON; a sparse matrix given to steiner-kmb) they are edges, and
        refused if two directions differ.
    windows
        Time windows of cities: a CSV file, a DataFrame with the columns `city`, `earliest`, `latest` and perhaps
        `service`, a mapping from cities to (earliest, latest), or these for all cities in their order.
    speed
        In kilometres an hour: the costs are travel times in whole seconds in place of metres, and a table of places may
        have columns of time windows.
    parameters
        The keys of the algorithm's own table in a job file: `path="open"`.

    Returns
    -------
    Result
        The same on every rank.

    Raises
    ------
    InputError, ResourceError, EnvironmentFault
        Where the command line ends with exit code 2, 3 or 4.
    NotWritten
        An `EnvironmentFault`: there is an answer, its attribute `result`, but it could not be written to `output`.
    Interrupted
        After Ctrl-C, where there is an answer so far; else a plain `KeyboardInterrupt`.

    Examples
    --------
    >>> import hpcsolve
    >>> hpcsolve.solve([[0, 1, 9], [9, 0, 1], [1, 9, 0]], device="cpu").cost
    3
    """
    if stops is not None and terminals is not None:
        raise InputError("stops= asks for a tour, terminals= for a tree; remove one of them")
    if terminals is not None:
        _require_tree(algorithm, parameters)
    options = _vertices_option("terminals", terminals) | _vertices_option(STOPS, stops)
    options |= {} if weight == "" else {"weight": weight}
    options |= {} if directed is None else {"directed": directed}
    options |= {} if speed is None else {"speed": speed}
    settings = {"output": path_text(output or "", "output"), "device": device, "threads": threads, "seed": seed,
                "share-gpu": share_gpu, "exact": exact, "round": round, "stop": _stop_table(stop)}
    if isinstance(windows, (str, os.PathLike)):
        parameters, windows = {**parameters, "windows": windows}, None
    given, instance = _Given(problem, options, parameters, settings, windows), None
    with ranks_of(comm) as ranks:
        log = _Silent() if quiet else Log(ranks.rank)
        if algorithm is None:
            job, instance = _chosen(given, ranks, log)
        else:
            job = given.job(algorithm, parameters, _stop_table(stop))
        return _solve_job(job, ranks, lambda: _plan(job, given, instance, output is not None, log), log, checkpoints)


class _Given(Source):
    """What a call of `solve` gives: the problem, its options, the keys of the algorithm's table and those above it."""

    def __init__(self, problem: ProblemLike, options: Mapping[str, Any], parameters: Mapping[str, object],
                 settings: Mapping[str, Any], windows: Any = None) -> None:
        super().__init__()
        self.problem, self.options, self.parameters, self.settings = problem, options, parameters, settings
        self.windows = windows
        self.file = os.fspath(problem) if isinstance(problem, (str, os.PathLike)) else None

    def job(self, algorithm: str, parameters: Mapping[str, object], stop: Mapping[str, Any]) -> Job:
        """Return the job with an algorithm, the keys of its table, and the table `[stop]`."""
        table = {key: _plain(value) for key, value in {**self.settings, "algorithm": algorithm, "stop": stop}.items()}
        key = _instance_key(self.problem, self.options) if self.windows is None else IN_MEMORY
        named = {"instance": key, algorithm: _keys(parameters)}
        return job_from_table({**table, **named}).with_files_from(Path.cwd())

    def plain_job(self, algorithm: str) -> Job:
        """Return the job with an algorithm, to read the problem with."""
        return self.job(algorithm, {}, {})

    def read(self, job: Job, precision: Precision | None) -> InstanceOf[Any]:
        """Return the problem as the instance of a job."""
        if self.file is not None and self.windows is None:
            return read_instance(job, precision=precision)
        kind, judged = kind_of(job), precision or Judge(job).precision()
        # Beside windows costs stay exact at first, so that both are judged together.
        first = judged if self.windows is None else replace(judged, fits=lambda _: True, decimals=None)
        problem = kind.given(self.problem, self.options, first) if self.file is None else \
            kind.read(self.file, self.options, first).problem
        if self.windows is not None:
            if not isinstance(problem, Tsp):
                raise InputError("windows: only cities have time windows; remove windows")
            unit = self.parameters.get("time_unit")
            problem = with_windows(self.windows, problem, str(unit) if unit else None).fitted(judged)
        return InstanceOf(problem, IN_MEMORY, kind.content_hash(problem), "memory")

    def nothing_asked(self, graph: Graph) -> InputError:
        """Return the error that says which arguments ask for something."""
        names = list(graph.vertex_names) or graph.labels.tolist()
        first, last = names[0], names[-1]
        return InputError(
            f"{graph.name} is a graph of {counted(graph.n, 'vertex')} without terminals; say what to find: distances "
            f"from a vertex, sources=[{first!r}], a path, queries=[[{first!r}, {last!r}]], a tree that joins some, "
            f"terminals=[{first!r}, {last!r}], or a tour, stops=[{first!r}, {last!r}]")

    def kind(self, keys: Mapping[str, object]) -> str:
        """Return the kind of the problem, which follows from its type, from its options and from the keys."""
        named = owner_of(keys)
        if "terminals" in self.options:
            return "steiner"
        if STOPS in self.options or "speed" in self.options:
            return "tsp"
        if self.file is not None:
            return self.kind_in_file(self.file, self.options)
        if isinstance(self.problem, np.ndarray) and self.problem.ndim == 3:
            return "batch"
        if named is not None and named[0] in ("shortest-paths", "steiner-kmb"):
            return "graph"
        if isinstance(self.problem, Mapping):
            return "tsp"
        return "graph" if is_graph(self.problem) or self.options else "tsp"


def _chosen(given: _Given, comm: Comm, log: Log) -> tuple[Job, InstanceOf[Any] | None]:
    """Return the job with the method for a problem, the same on all ranks, and on rank 0 its instance if it was read.

    Collective.
    """
    read: list[InstanceOf[Any] | None] = []

    def choose() -> Job:
        keys, stop = _keys(given.parameters), dict(given.settings["stop"])
        seconds = stop.get("seconds")
        if isinstance(seconds, (int, float, np.number)) and not isinstance(seconds, bool) and seconds > 0:
            seconds = float(stop.pop("seconds"))
        else:
            seconds = None  # the job says what is wrong, if it is given
        resources = resources_here(given.settings["device"], seconds, comm.size, given.settings["threads"])
        method, instance = given.method_and_instance(given.kind(keys), resources, keys, stop)
        read.append(instance)
        job = given.job(method.algorithm, {**method.keys, **given.parameters}, {**method.stop, **stop})
        log.say(f"choice: {in_words(method, job)}")
        return job

    job = on_rank_0(comm, choose)
    return job, read[0] if read else None


def _solve_job(
    job: Job, comm: Comm, plan: Callable[[], PlannedRun], log: Log, checkpoints: str | os.PathLike[str] | None
) -> Result:
    """Return the result of a job, or raise `Interrupted` if it is not complete. Collective."""
    checkpointing = NO_CHECKPOINTS
    if checkpoints is not None:
        checkpointing = CheckpointOptions(path_text(checkpoints, "checkpoints"), deadline=math.inf)
    if comm.size == 1:
        build_for(job, log.say)
    say_source(job, log.say)
    try:
        contents = comm.bcast(run_job(comm, plan, log, keep=True, checkpointing=checkpointing).contents)
    except NotWritten as fault:
        fault.result = Result(comm.bcast(fault.result))
        raise
    if contents is None:
        next_time = "give checkpoints=FOLDER to go on from where a call was stopped" if checkpoints is None else \
            "the same call goes on from the checkpoint"
        raise KeyboardInterrupt(f"there is no answer yet; {next_time}")
    result = Result(contents)
    if not result.complete:
        raise Interrupted(result)
    return result


def _require_tree(algorithm: str | None, parameters: Mapping[str, object]) -> None:
    """Raise an `InputError` if terminals are given, and what is asked is not a tree, nor paths between terminals."""
    asked = [key for key in ("sources", "queries", "targets") if parameters.get(key) is not None]
    between = any(isinstance(parameters[key], str) and parameters[key] == "terminals" for key in asked)
    if (asked or algorithm == "shortest-paths") and not between:
        other = f"{asked[0]}=" if asked else 'algorithm="shortest-paths"'
        raise InputError(f"terminals= asks for a tree, {other} for distances or paths; remove one of them")


def _stop_table(stop: object) -> dict[str, Any]:
    if stop is not None and not isinstance(stop, Mapping):
        example = stop if type(stop) in (int, float) else 60
        what = f"stop={stop!r} does not say what to stop at"
        raise InputError(f'{what}; write for example stop={{"seconds": {example!r}}}')
    return dict(stop or {})


def _vertices_option(key: str, given: Iterable[Any] | str | os.PathLike[str] | None) -> dict[str, Any]:
    """Return the option `terminals` or `stops`: a list of vertices, or the path of a file of them or of places."""
    if isinstance(given, (str, os.PathLike)) and os.path.exists(given):
        return {key: os.path.abspath(given)}
    if isinstance(given, (str, os.PathLike)) or not isinstance(given, Iterable | None):
        raise InputError(f"{key}={given!r}: give a list, as in {key}=[{given!r}], or a file that exists")
    return {} if given is None else {key: list(given)}


class _Silent(Log):
    """A log that prints nothing, not even the answer."""

    def __init__(self) -> None:
        super().__init__(rank=-1)


def _plan(job: Job, given: _Given, instance: InstanceOf[Any] | None, write: bool, log: Log) -> PlannedRun:
    if write:
        require_result_name(job.settings.output)

    def read(judge: Judge) -> InstanceOf[Any]:
        if instance is not None:
            return instance
        with nullcontext() if given.file is None else reporting_progress(instance_file(job), log.say):
            return given.read(job, judge.precision())

    return with_earlier(read_planned(job, job.settings.output if write else None, read))


def _instance_key(problem: ProblemLike, options: Mapping[str, Any]) -> str | dict[str, Any]:
    """Return the value of the job's key `instance`."""
    if not isinstance(problem, (str, os.PathLike)):
        return {"batch": IN_MEMORY} if isinstance(problem, np.ndarray) and problem.ndim == 3 else IN_MEMORY
    if options.get("weight", "") is None:
        raise InputError("weight=None (all edges weigh 1) is only for graphs of networkx; for a file leave weight out, "
                         "or name the attribute, column or property that has the weights")
    path = os.path.abspath(problem)
    return {"file": path, **{key: _plain(value) for key, value in options.items()}} if options else path


def _keys(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return keyword arguments as keys and values of a job file. A key whose value is None is left out."""
    return {name.replace("_", "-"): _plain(value) for name, value in parameters.items() if value is not None}


def _plain(value: object) -> object:
    """Return what numpy and pandas have, sets, ranges and paths as values that TOML has, in tables and lists too."""
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple, set, range)) else value
