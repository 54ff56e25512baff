"""Turns an answer into a DataFrame, a graph of networkx or a sparse matrix. pandas and networkx are optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpcsolve.answers.base import Edges, coordinates_of, names_of
from hpcsolve.answers.contents import Contents
from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.output.schema import require_whole

if TYPE_CHECKING:
    import networkx
    import pandas
    from scipy.sparse import csr_array


def to_pandas(contents: Contents) -> pandas.DataFrame:
    """Return the answer as a table. Raises as `hpcsolve.Result.to_pandas`."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise EnvironmentFault("pandas is not installed: pip install pandas") from None
    blocks = [pandas.DataFrame(dict(block)) for block in require_whole(contents).rows(contents)]
    return blocks[0] if len(blocks) == 1 else pandas.concat(blocks, ignore_index=True)


def to_networkx(contents: Contents, number: int | None) -> networkx.Graph[Any]:
    """Return the answer as a graph. Raises as `hpcsolve.Result.to_networkx`."""
    try:
        import networkx
    except ModuleNotFoundError:
        raise EnvironmentFault("networkx is not installed: pip install networkx") from None
    found, names = edges_of(contents, number), names_of(contents).tolist()
    graph = networkx.DiGraph() if found.directed else networkx.Graph()
    graph.add_nodes_from(names[vertex] for vertex in found.vertices.tolist())
    ends = zip([names[vertex] for vertex in found.tails.tolist()], [names[vertex] for vertex in found.heads.tolist()])
    if found.weights is None:
        graph.add_edges_from(ends)
    else:
        graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in zip(ends, found.weights.tolist()))
    places = coordinates_of(contents)
    for vertex in found.vertices.tolist() if places else ():
        graph.nodes[names[vertex]].update({axis: float(values[vertex]) for axis, values in places.items()})
    for vertex in contents.value("instance", "terminal", ()):
        graph.nodes[names[vertex]]["terminal"] = True
    return graph


def to_csr(contents: Contents, number: int | None) -> csr_array[Any]:
    """Return the answer as a sparse matrix. Raises as `hpcsolve.Result.to_csr`."""
    from scipy.sparse import csr_array

    found = edges_of(contents, number)
    if found.weights is None:
        raise InputError("the result does not have the weights of these edges; to_networkx() gives the edges alone")
    n = len(contents.value("instance", "label"))
    return csr_array((found.weights, (found.tails, found.heads)), shape=(n, n))


def edges_of(contents: Contents, number: int | None) -> Edges:
    """Return the edges of the answer. Raises `InputError` if it has none, or `number` is missing or wrong."""
    return require_whole(contents).edges(contents, number)
