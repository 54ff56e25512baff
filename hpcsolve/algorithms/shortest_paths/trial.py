"""Estimates how long a job takes from some of its own searches, on the graph itself."""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import NO_STOP, StopCriteria
from hpcsolve.algorithms.shortest_paths.engines.known import NEAR_FAR, PHAST, chosen_engine
from hpcsolve.algorithms.shortest_paths.engines.phast.choice import workers
from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal
from hpcsolve.algorithms.shortest_paths.engines.phast.kept import cached_contraction
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import shape_for
from hpcsolve.algorithms.shortest_paths.keys import first_keys
from hpcsolve.algorithms.shortest_paths.prepare import kept_here, way_of
from hpcsolve.algorithms.shortest_paths.question import Parameters, question
from hpcsolve.algorithms.shortest_paths.solve import run, searches
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion
from hpcsolve.wording import counted

ARCS = 1 << 24
"""A block makes searches one after the other until their arcs are so many, at least one: some tenths of a second."""


def trial(graph: Graph, parameters: Parameters, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
    """Make some of the job's searches, evenly spaced among all."""
    asked = question(graph, parameters)
    total = searches(asked)
    busiest = -(-total // ranks)  # searches of the rank that has most
    parameters = _with_engine(graph, parameters, asked, ranks, device.info)
    at_once = _at_once(graph, parameters, busiest, device.info)
    count = min(busiest, at_once * -(-ARCS // max(1, graph.arcs)))
    some = _some(graph, parameters, asked, np.linspace(0, total, count, endpoint=False).astype(np.int64))
    watch = Stopwatch()
    outcome = run(graph, device, SerialComm(), some, watch, NO_STOP, seed)
    ratio = busiest / count
    measured_on = f"{count} of {counted(total, 'search')}"
    return Trial(graph, some, outcome, watch.setup, (watch.seconds() - watch.setup) * ratio, measured_on, ratio)


def _with_engine(graph: Graph, parameters: Parameters, asked: PathQuestion, ranks: int, info: DeviceInfo
                 ) -> Parameters:
    """Return the parameters with the engine that all searches of the job will be made with, whatever their number."""
    way = way_of(graph, parameters, asked, ranks * workers(info), partial(kept_here, graph, info))
    if way.attempt is None:
        return msgspec.structs.replace(parameters, engine=way.engine)
    refused = isinstance(cached_contraction(graph, first_keys(graph), way.attempt.worth), Refusal)
    return msgspec.structs.replace(parameters, engine=NEAR_FAR if refused else way.engine)


def _at_once(graph: Graph, parameters: Parameters, searches: int, info: DeviceInfo) -> int:
    """Return how many searches a device works on at the same time."""
    if parameters.engine == PHAST:
        shape = shape_for(graph.n, searches, info, first_keys(graph), parameters.predecessors)
        return shape.width * shape.groups
    return chosen_engine(parameters.engine, graph, searches, info).at_once(searches, info)


def _some(graph: Graph, parameters: Parameters, asked: PathQuestion, numbers: NDArray[np.int64]) -> Parameters:
    """Return the parameters that ask only for the searches with these numbers."""
    if asked.pairs is not None:
        pairs = asked.pairs[np.isin(asked.pairs[:, 0], np.unique(asked.pairs[:, 0])[numbers])]
        queries = [(int(source), int(target)) for source, target in graph.labels[pairs]]
        return msgspec.structs.replace(parameters, queries=queries, queries_sha256=None)
    sources = asked.sources if parameters.voronoi else asked.sources[numbers]
    return msgspec.structs.replace(parameters, sources=graph.labels[sources].tolist())
