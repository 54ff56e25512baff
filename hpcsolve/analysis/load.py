"""`hpcsolve.load` and `hpcsolve.Result`: a result as a Python object, with arrays for numpy and tables for pandas.

The properties that depend on the kind of answer are in `hpcsolve.answers`, in classes that `Result` inherits from.
pandas and networkx are optional.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis import require_installed
from hpcsolve.analysis.export import frame_of
from hpcsolve.answers import answer_in, paths, reductions, tree
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.edges import AnswerEdges
from hpcsolve.answers.rounding import Worth, downward
from hpcsolve.answers.tour import TourMixin
from hpcsolve.errors import InputError, path_text
from hpcsolve.output.hdf5 import require_result_name, write_result
from hpcsolve.output.large_tables import Chunks, write_with_tables
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import FORMAT_VERSION, contradictions_refused, require_whole
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.edge_texts import GEOMETRY, line_in
from hpcsolve.replacing import make_folder, require_new
from hpcsolve.wording import visible

if TYPE_CHECKING:
    import networkx
    import pandas
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

PHASES = ("read", "build", "run", "check", "write")
"""The phases of a run, in order, as in `/ranks`."""


@dataclass(frozen=True)
class Result(TourMixin, paths.PathsMixin, reductions.ReductionsMixin, tree.TreeMixin):
    """A result, as `hpcsolve.solve` returns it and `hpcsolve.load` reads it.

    Attributes
    ----------
    contents
        The whole content of the result file.
    """

    contents: Contents

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return str(self.contents.attributes["algorithm"])

    @property
    def cost(self) -> float:
        """Cost of the answer in the instance's own unit, an int if all costs are. NaN if the answer has no cost."""
        return self.contents.cost

    @property
    def exact_cost(self) -> Decimal | None:
        """Cost in the numbers before any rounding, or None if the answer has no cost."""
        return Worth(self.contents).cost()

    @property
    def rounding_error(self) -> float:
        """The most by which the optimum before rounding may be below what the rounded numbers prove.

        The same holds for each distance. 0 if nothing was rounded, NaN if nothing is known.
        """
        return Worth(self.contents).error()

    @property
    def optimal(self) -> bool:
        """Whether the answer is proven to be optimal, for the costs as they were rounded (`rounding_error`)."""
        return Worth(self.contents).is_optimal()

    @property
    def lower_bound(self) -> float:
        """The lower bound on the cost of all answers before rounding, or NaN if the result has none.

        Of a tour that is proven optimal it is NaN, unless costs were rounded.
        """
        if self.contents.value("solution", "lower_bound") is None and not Worth(self.contents).rounded_to():
            return math.nan
        bound = Worth(self.contents).bound()
        return math.nan if bound is None else downward(bound)

    @property
    def verified(self) -> bool:
        """Whether the answer passed the independent check."""
        return bool(self.contents.attributes["verified"])

    @property
    def complete(self) -> bool:
        """Whether the run came to its end, by itself or by a stop criterion, and was not interrupted."""
        return bool(self.contents.attributes["complete"])

    @property
    def job(self) -> str:
        """The effective job, as TOML."""
        return str(self.contents.value("job", "toml"))

    @property
    def notes(self) -> tuple[str, ...]:
        """How the instance's input was taken, and what in it may be a mistake: lines of the run's log."""
        return tuple(str(self.contents.value("instance", "notes", "")).splitlines())

    @property
    def n(self) -> int:
        """Number of cities or vertices of the instance."""
        return len(self.contents.value("instance", "label"))

    @property
    def seconds(self) -> float:
        """Seconds of the run on rank 0, from reading the instance to writing the result."""
        phases = (self.contents.value("ranks", f"seconds_{phase}") for phase in PHASES)
        return float(sum(seconds[0] for seconds in phases if seconds is not None))

    @property
    def history(self) -> dict[str, NDArray[Any]]:
        """The best cost over time, as `table("history")`, or an empty dict if the algorithm keeps no history."""
        return self.table("history") if "history" in self.contents.groups else {}

    @property
    def improvements(self) -> dict[str, NDArray[Any]]:
        """The better tours of each colony over time, as `table("improvements")`, or an empty dict without colonies."""
        return self.table("improvements") if "improvements" in self.contents.groups else {}

    @property
    def coordinates(self) -> NDArray[np.float64] | None:
        """Coordinates of the cities or vertices, shape (n, 2 or 3), or None if the instance has none."""
        axes = [self.contents.value("instance", axis) for axis in "xyz"]
        known = [values for values in axes if values is not None]
        return np.stack(known, axis=1) if known else None

    def table(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a group such as `layers` or `ranks`, ready for `pandas.DataFrame`.

        Costs and weights are in the instance's own unit.

        Raises
        ------
        InputError
            The result has no group of that name, or the group has no columns.
        """
        columns = self.contents.groups.get(name, {})
        rows = {key: np.asarray(self.contents.own(name, key)) for key, column in columns.items()
                if len(column.dataset.dimensions) == 1}
        if not rows:
            known = ", ".join(group for group, members in self.contents.groups.items()
                              if any(len(column.dataset.dimensions) == 1 for column in members.values()))
            raise InputError(f"the result has no table {name!r}; it has {known}")
        return rows

    def to_pandas(self, number: int | None = None) -> pandas.DataFrame:
        """Return the answer as a `pandas.DataFrame`, in the instance's own unit and with names.

        A tour has a row for each city, in order, with the leg that follows it and the total up to its end. A tree has a
        row for each edge, distances one for each search and vertex, paths one for each query, a batch one for each
        instance.

        Parameters
        ----------
        number
            Of a batch the instance, from 0, whose tour is returned, or of several tours which one.

        Raises
        ------
        InputError
            There is no such instance or tour.
        EnvironmentFault
            pandas is not installed.
        """
        with contradictions_refused("the result"):
            return frame_of(self.contents, number)

    def to_networkx(self, number: int | None = None) -> networkx.Graph[Any]:
        """Return the answer as a graph of networkx, whose nodes are names, or numbers where names are not unique.

        A tour is a cycle (or a path) of the legs, directed if the instance is asymmetric. A tree is undirected.
        Shortest paths are trees of arcs that lead away from the source. Nodes have the attributes `x` and `y`, and if
        these are degrees `lat` and `lon` too, edges the attribute `weight`, where the result has them.

        If the instance came from networkx, GraphML, GML or GeoJSON, the edges of a path or a Steiner tree have their
        keys and attributes, `geometry` as a line of shapely if that is installed, and else as well-known text. If an
        edge has another `weight` of its own, that is kept, and `search_weight` of all edges is that of the search. If
        the input has arcs, a tree has them in the input's direction.

        Parameters
        ----------
        number
            Which search or query, from 0, if the result has several.

        Raises
        ------
        InputError
            The result has several searches or queries and `number` is missing, or has distances without predecessors.
        EnvironmentFault
            networkx is not installed.
        """
        require_installed("networkx")
        import networkx

        with contradictions_refused("the result"):
            return self._network(networkx, number)

    def _network(self, networkx: Any, number: int | None) -> Any:
        """Return the answer as a graph of networkx."""
        found, names = require_whole(self.contents).edges(self.contents, number), self.contents.unique_names().tolist()
        known = AnswerEdges(self.contents)
        kinds = ((networkx.Graph, networkx.DiGraph), (networkx.MultiGraph, networkx.MultiDiGraph))
        graph: Any = kinds[known.keyed][found.directed or known.directed]()
        graph.add_nodes_from(names[vertex] for vertex in found.vertices.tolist())
        weights = [None] * len(found.tails) if found.weights is None else found.weights.tolist()
        ends = list(zip(found.tails.tolist(), found.heads.tolist()))
        given = [known.attributes(*pair) if known.has_attributes else {} for pair in ends]
        name = _name_of_weights(given, weights)
        for (tail, head), about, weight in zip(ends, given, weights):
            if GEOMETRY in about:
                about[GEOMETRY] = _line(about[GEOMETRY])
            about |= {} if weight is None else {name: weight}
            key = (known.key(tail, head),) if known.keyed else ()
            if not found.directed and known.is_reversed(tail, head):
                tail, head = head, tail
            graph.add_edges_from([(names[tail], names[head], *key, about)])
        places = self.contents.coordinates()
        if "lon" in places:
            places = {"x": places["lon"], "y": places["lat"], **places}
            graph.graph["crs"] = "epsg:4326"
        for vertex in found.vertices.tolist() if places else ():
            graph.nodes[names[vertex]].update({axis: float(values[vertex]) for axis, values in places.items()})
        for vertex in self.contents.value("instance", "terminal", ()):
            graph.nodes[names[vertex]]["terminal"] = True
        return graph

    def to_csr(self, number: int | None = None) -> csr_array[Any]:
        """Return the answer as a sparse matrix of scipy, shape (n, n), whose entries are weights of arcs.

        Rows and columns are positions. Each edge is one entry, as in scipy's minimum_spanning_tree: of a tour from a
        city to the next, of a tree from the smaller position to the larger, of shortest paths from predecessors to
        vertices. Weights of 0 are stored.

        Parameters
        ----------
        number
            As in `to_networkx`.

        Raises
        ------
        InputError
            As in `to_networkx`, or the result does not have the weights.
        """
        from scipy.sparse import csr_array

        with contradictions_refused("the result"):
            found = require_whole(self.contents).edges(self.contents, number)
        if found.weights is None:
            raise InputError("the result does not have the weights of these edges; to_networkx() gives the edges alone")
        return csr_array((found.weights, (found.tails, found.heads)), shape=(self.n, self.n))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the result file, in the present format version. With several ranks, one of them should call it.

        Raises
        ------
        InputError
            The file exists, and `overwrite` is false.
        EnvironmentFault
            The file cannot be written.
        """
        name = path_text(path, "save")
        require_result_name(name)
        require_new(name, overwrite)
        make_folder(Path(name))
        contents = self.contents
        tables = {key: replace(table, values=contents.value("solution", key), first=0, row_ranges=((0, table.total),))
                  for key, table in contents.tables.items()}
        solution = {key: column for key, column in contents.groups["solution"].items() if key not in tables}
        written = replace(contents, attributes={**contents.attributes, "format_version": FORMAT_VERSION},
                          groups={**contents.groups, "solution": solution})
        comm, threads = SerialComm(), len(os.sched_getaffinity(0))
        if tables:
            arriving = {key: (table, Chunks(table).receive(comm, threads)) for key, table in tables.items()}
            write_with_tables(Path(name), arriving, lambda: written)
        else:
            write_result(name, written)

    def _repr_html_(self) -> str:
        """Return a short table for notebooks."""
        names = {"instance": self.contents.value("instance", "name"), "answer": self._summary()}
        names["check"] = "passed" if self.verified else "not passed"
        names["time"] = f"{self.seconds:.3g} s"
        rows = "".join(f"<tr><th>{key}</th><td>{escape(visible(str(value)))}</td></tr>" for key, value in names.items())
        return f"<table><caption>{escape(self.algorithm)}</caption>{rows}</table>"

    def plot(self, axes: Axes | None = None, **options: Any) -> Axes:
        """Draw the answer with matplotlib and return the axes, as `hpcsolve.analysis.plot.plot` does."""
        from hpcsolve.analysis.plot import plot

        return plot(self, axes, **options)

    def __repr__(self) -> str:
        """Return one line with algorithm and answer."""
        return f"<{self.algorithm}: {self._summary()}>"

    def _summary(self) -> str:
        """Return the answer in a few words."""
        answer = answer_in(self.contents)
        return answer.summary(self.contents) if answer else "no answer"


def _name_of_weights(given: list[dict[str, Any]], weights: Sequence[Any]) -> str:
    """Return the attribute for the weights of a search: `weight`, unless edges have another one of their own."""
    def another(own: Any, weight: Any) -> bool:
        try:
            return bool(float(own) != weight)  # GraphML has texts
        except (TypeError, ValueError):
            return True

    several = any("weight" in about and another(about["weight"], weight) for about, weight in zip(given, weights))
    return "search_weight" if several else "weight"


def _line(text: Any) -> Any:
    """Return a line in well-known text as one of shapely if that is installed, and anything else unchanged."""
    if line_in(text) is None or importlib.util.find_spec("shapely") is None:
        return text
    return importlib.import_module("shapely").from_wkt(text)


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file.

    Raises
    ------
    InputError
        The file is not a result of hpcsolve.
    DamagedFileError
        The file is damaged.
    """
    name = path_text(path, "load")
    contents = read_result(name)
    with contradictions_refused(name):
        require_whole(contents, name).summary(contents)
    return Result(contents)
