"""Writes GraphML, GML and node-link JSON by networkx, with coordinates and terminals as attributes of the nodes."""

from __future__ import annotations

import json
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.formats.files import write_text
from hpcsolve.formats.graph.networkx_files import WHOLE, require_networkx
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_convert import to_networkx
from hpcsolve.wording import visible


def write_graphml(graph: Graph, path: str) -> None:
    """Write GraphML.

    Raises
    ------
    InputError
        networkx is not installed, two vertices have the same name, or all names are numbers.
    EnvironmentFault
        The file cannot be written.
    """
    lines = require_networkx("writing GraphML").generate_graphml(_with_attributes(graph, "GraphML"))
    write_text("\n".join(lines) + "\n", path)


def write_gml(graph: Graph, path: str) -> None:
    """Write GML, where names and labels are the `label` of nodes. Raises as `write_graphml`."""
    lines = require_networkx("writing GML").generate_gml(_with_attributes(graph, "GML"))
    write_text("\n".join(lines) + "\n", path)


def write_node_link(graph: Graph, path: str) -> None:
    """Write JSON as `networkx.node_link_data` gives it, its edges as `links`. Raises as `write_graphml`."""
    result = _with_attributes(graph, "node-link JSON")
    content = {
        "directed": graph.directed, "multigraph": False, "graph": {},
        "nodes": [{**data, "id": node} for node, data in result.nodes(data=True)],
        "links": [{**data, "source": tail, "target": head} for tail, head, data in result.edges(data=True)],
    }
    write_text(visible(json.dumps(content, ensure_ascii=False, indent=1)) + "\n", path)


def _with_attributes(graph: Graph, title: str) -> Any:
    """Return the graph as one of networkx. Raises `InputError` as `write_graphml`, with the title of the format."""
    names = graph.vertex_names
    if len(set(names)) < len(names) or (names and all(map(WHOLE.fullmatch, names))):
        what = f"two vertices have the same name, or all names are numbers, which {title} cannot express"
        raise InputError(f"{what}; rename vertices", graph.name)
    result = to_networkx(graph)
    axes = ("lat", "lon") if graph.coordinates_kind == DEGREES else ("x", "y", "z")
    nodes = list(result.nodes)
    for node, place in zip(nodes, () if graph.coordinates is None else graph.coordinates.tolist()):
        result.nodes[node].update(zip(axes, place))
    for position in () if graph.terminals is None else graph.terminals.tolist():
        result.nodes[nodes[position]]["terminal"] = True
    return result
